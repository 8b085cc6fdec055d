"""What a run counts as caught: the mutant fails a test that the library passes without a mistake."""

import contextlib
import io
import sys
import unittest
from unittest import mock

import edits
import mutants

with mock.patch.dict(sys.modules, {'clang': mock.Mock(), 'clang.cindex': mock.Mock()}):  # it makes the mutants alone
    import generate


class Tests(mutants.Run):
    """Tests that fail with a mistake, those of `broken` without one as well. Nothing is built."""

    def __init__(self, broken=()):
        self.broken, self.good, self.met, self.sets, self.output = broken, set(), [], {'random_one': None}, ''
        self.build = ''
        self.mistaken = False

    @contextlib.contextmanager
    def changed(self, entry):
        self.mistaken = True
        yield
        self.mistaken = False

    def unit_tests(self):
        return ['copy_calls', 'heap_block', 'copy_file', 'copying']

    def one(self, name):
        self.met.append((name, self.mistaken))
        return f'{name}: failed' if name in self.broken or (self.mistaken and name == 'conformance') else None

    def put(self, file, content):
        self.mistaken = not self.mistaken

    def command(self, command, environment=(), timeout=None):
        return command[0] == 'cmake' or not (self.broken or self.mistaken)


def entry(file='src/library/heap/block.c', caught_by='unit_a: row'):
    made = edits.Entry(1, 'name', 'what')
    made.facts['caught by'] = caught_by
    made.edits.append(edits.Edit(file, 'function'))
    return made


class Run(unittest.TestCase):
    def test_a_test_meets_the_library_without_a_mistake_once_and_first(self):
        tests = Tests()
        self.assertEqual([tests.mutant(entry()), tests.mutant(entry())], ['conformance: failed'] * 2)
        names = ['unit_a', 'random_one', 'conformance']
        self.assertEqual(tests.met, [(name, mistaken) for name in names for mistaken in (False, True)] +
                         [(name, True) for name in names])

    def test_a_library_that_fails_without_a_mistake_ends_the_run(self):
        for broken in 'unit_a', 'random_one', 'conformance':
            with contextlib.redirect_stderr(io.StringIO()) as errors, self.assertRaises(SystemExit) as ended:
                Tests([broken]).mutant(entry())
            self.assertEqual(ended.exception.code, 2)
            self.assertIn(f'the library fails without a mistake: {broken}', errors.getvalue())

    def test_a_mutant_meets_the_tests_of_its_folder(self):
        files = {'src/library/heap/block.c': ['unit_a', 'random_one', 'conformance'],
                 'src/copy/crew.c': ['unit_a', 'copy_calls', 'copy_file', 'conformance'],
                 'src/devheap/host.c': ['unit_a', 'conformance']}
        for file, tests in files.items():
            self.assertEqual(Tests().tests_of(entry(file)), tests)
        self.assertEqual(Tests().tests_of(entry('src/copy/file.h', 'copy_file: row')), ['copy_file', 'copy_calls', 'conformance'])

    def test_generated_mutants_meet_tests_that_pass(self):
        mutant = generate.Mutant('src/library/base/lock.c', 0, 1, '', 'left out')
        self.assertFalse(generate.survives(Tests(), mutant, ['base_lock']))
        with self.assertRaisesRegex(SystemExit, 'the library fails without a mistake: base_lock'):
            generate.survives(Tests(['base_lock']), mutant, ['base_lock'])


if __name__ == '__main__':
    unittest.main()
