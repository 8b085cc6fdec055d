"""Edits are found where their text was moved to, and nowhere else."""

import os
import random
import pathlib
import re
import tempfile
import unittest

import edits
import mutants

TEXT = '''#include "a.h"

enum { FIRST = 1 }; // not a function

static int twice(int a) {
    if (a > 1)
        return a + a;
    return 2 * a;
}

int thrice(int a) {
    return twice(a) + a;
}
'''


def entry_of(text):
    with tempfile.NamedTemporaryFile('w', suffix='.txt') as file:
        file.write(text)
        file.flush()
        return edits.read(file.name)


def applied(lines, text=TEXT):
    return edits.apply(entry_of('1 Name: what\n' + lines)[0], lambda file: text)['a.c']


def tokens(text):
    return re.findall(r'\w+|[^\w\s]', text)


class Edits(unittest.TestCase):
    def test_the_old_text_makes_way_for_the_new_one(self):
        self.assertEqual(applied('in a.c: twice\n-return a + a;\n+return a;\n'), TEXT.replace('return a + a;', 'return a;'))

    def test_a_text_of_no_function_is_looked_for_in_the_whole_file(self):
        self.assertEqual(applied('in a.c\n-FIRST = 1\n+FIRST = 2\n'), TEXT.replace('FIRST = 1', 'FIRST = 2'))

    def test_a_place_can_have_several_edits(self):
        self.assertEqual(applied('in a.c: twice\n-a > 1\n+a > 2\n-2 * a\n+a * 2\n'),
                         TEXT.replace('a > 1', 'a > 2').replace('2 * a', 'a * 2'))

    def test_line_ends_and_indents_do_not_count(self):
        self.assertEqual(tokens(applied('in a.c: twice\n-if(a>1) return a\n-   + a;\n+return 0;\n')),
                         tokens(TEXT.replace('if (a > 1)\n        return a + a;', 'return 0;')))

    def test_a_part_of_a_word_is_not_found(self):
        with self.assertRaisesRegex(edits.Wrong, 'there 0 times'):
            applied('in a.c: thrice\n-wice(a)\n+a\n')

    def test_what_is_there_twice_or_not_at_all_is_refused(self):
        for lines, times in ('in a.c: twice\n-return\n+\n', 2), ('in a.c: thrice\n-2 * a\n+a\n', 0), ('in a.c: four\n-a\n+b\n', 0):
            with self.assertRaisesRegex(edits.Wrong, f'there {times} times'):
                applied(lines)

    def test_edits_of_one_text_are_refused(self):
        with self.assertRaisesRegex(edits.Wrong, 'two edits of one text'):
            applied('in a.c: twice\n-return a + a\n+return 1\n-a + a;\n+2;\n')

    def test_a_file_that_is_gone_is_named(self):
        with self.assertRaisesRegex(edits.Wrong, 'gone.c: no such file'):
            edits.apply(entry_of('1 Name: what\nin gone.c\n-a\n+b\n')[0], mutants.text_of)

    def test_what_cannot_be_read_is_told_with_its_line(self):
        for text, line in (('Name: what\n', 1), ('1 Name: what\nin a.c\nx\n', 3), ('-a\n', 1), ('1 Name: what\n-a\n', 2)):
            with self.assertRaisesRegex(edits.Wrong, f':{line}: not an entry'):
                entry_of(text)
        for text in '1 Name: what\n', '1 Name: what\nin a.c\n+a\n':
            with self.assertRaisesRegex(edits.Wrong, 'without old text'):
                entry_of(text)


def moved(text, draw):
    """The file with its functions in another order, a line more before each, and all lines indented anew within them."""
    parts, at = [], 0
    for _, begin, end in edits.functions(text):
        parts.append(text[at:begin])
        parts.append(re.sub(r'\n(?=[^\n}])', '\n' + ' ' * draw.randrange(6), text[begin:end]))
        at = end
    bodies = parts[1::2]
    draw.shuffle(bodies)
    return ''.join(between + '// moved\n' + body for between, body in zip(parts[0::2], bodies)) + text[at:]


class Mutants(unittest.TestCase):
    def test_a_mutant_applies_after_its_function_has_moved(self):
        draw = random.Random(1)
        for entry in mutants.all_entries():
            texts = {file: moved(mutants.text_of(file), draw) for file in entry.files()}
            if all(edit.function for edit in entry.edits):
                edits.apply(entry, texts.__getitem__)

    def test_a_renamed_file_needs_its_new_name_alone(self):
        entries = mutants.all_entries()
        most = max({file for entry in entries for file in entry.files()},
                   key=lambda file: sum(file in entry.files() for entry in entries))
        text = edits.write(entries).replace(f'in {most}', 'in src/library/new/name.c')
        of_file = [entry for entry in entry_of(text) if 'src/library/new/name.c' in entry.files()]
        self.assertGreaterEqual(len(of_file), 10)
        for entry in of_file:
            edits.apply(entry, lambda file: mutants.text_of(most if file == 'src/library/new/name.c' else file))

    def test_what_is_written_is_read(self):
        for entries in mutants.files_of_entries().values():
            self.assertEqual(edits.write(entry_of(edits.write(entries))), edits.write(entries))

    def test_each_function_of_the_library_is_found(self):
        for folder, _, names in os.walk(f'{mutants.CHECKOUT}/src'):
            for name in names:
                if name.endswith(('.c', '.h')):
                    text = pathlib.Path(f'{folder}/{name}').read_text('utf-8')
                    self.assertEqual(len(list(edits.functions(text))), len(re.findall(r'^\}$', text, re.M)), name)


if __name__ == '__main__':
    unittest.main()
