"""What ablations.py counts and complains about. Nothing is built."""

import unittest
from unittest import mock

import ablations
import edits

FILE = '''// How it works.

enum { FIRST = 1 };

// Why it is,
// and when.
static int once(int a) {
    return a;
}

int twice(int a) {
    return 2 * a;
}

int twice(int a, int b) {
    return a + b;
}
'''


def entry(lines=None, number=1, name='NoPart'):
    made = edits.Entry(number, name, 'no part of it')
    if lines is not None:
        made.facts['lines'] = lines
    return made


def text_of(file):
    if file != 'src/library/heap/a.c':
        raise FileNotFoundError(file)
    return FILE


class Figures(ablations.Figures):
    def __init__(self, many, events, errors=0):
        self.pairs, self.times, self.events, self.errors = {'many': many}, {'ms many': [90.0, 40.0]}, events, errors


class Lines(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.object(ablations.mutants, 'text_of', text_of)
        patch.start()
        self.addCleanup(patch.stop)

    def test_a_file_counts_whole_and_a_function_with_the_comment_above_it(self):
        self.assertEqual(ablations.lines_of(entry('heap/a.c')), 17)
        self.assertEqual(ablations.lines_of(entry('heap/a.c: once')), 5)
        self.assertEqual(ablations.lines_of(entry('heap/a.c; heap/a.c: once')), 22)

    def test_what_is_gone_or_there_twice_is_a_complaint(self):
        for lines in 'heap/b.c', 'heap/a.c: never', 'heap/a.c: once, never', 'heap/a.c: twice', '', None:
            self.assertEqual(len(ablations.complaints_about_lines([entry(lines)])), 1, lines)
        self.assertEqual(ablations.complaints_about_lines([entry('heap/a.c: once')]), [])


class Page(unittest.TestCase):
    def complaints(self, entries, rows):
        lines = [ablations.HEAD] + [ablations.row(name, what, 1, ['1']) for name, what in rows]
        with mock.patch.object(ablations.mutants, 'text_of', lambda _: 'Text.\n' + '\n'.join(lines) + '\n'):
            return ablations.complaints_about_page(entries)

    def test_the_page_has_a_row_for_each_entry_and_no_other(self):
        base, one = ('nothing', 'the library as it is'), ('1 NoPart', 'no part of it')
        two = ('2 NoOther', 'no part of it')
        entries = [entry(), entry(number=2, name='NoOther')]
        self.assertEqual(self.complaints(entries, [base, one, two]), [])
        for rows in [one, two], [base, one], [base, one, two, ('3 NoThird', 'what')], [base, two, one], [base, one, two, two]:
            self.assertEqual(len(self.complaints(entries, rows)), 1, rows)

    def test_a_cell_is_empty_where_the_figure_is_the_bases(self):
        base = Figures([1.07, 1.08], 900)
        self.assertEqual(base.cells(), ['1.070 1.080', '90.0 40.0', '900'])
        self.assertEqual(Figures([1.07, 1.08], 900).cells(base), ['', '', ''])
        self.assertEqual(Figures([1.07, 1.075], 1900, 2).cells(base), ['1.070 1.075', '', '1,900 (2 allocations fail)'])


if __name__ == '__main__':
    unittest.main()
