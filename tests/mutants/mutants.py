#!/usr/bin/env python3
"""Mutants: the sources with one mistake in them, to show that a test sees it.

  mutants.py check COMPILER...                   each mutant's texts are there once, and what it changes compiles
  mutants.py diff NUMBER                         what a mutant changes
  mutants.py run [--update] BUILD [NUMBER...]    builds one mutant after another, and runs the tests until one fails
  mutants.py table                               tests/mutants/RESULTS.md

The mutants are the entries (edits.py) of planted/, one file for each folder of sources. The fact
"caught by" says which test caught it at the last run, how many operations of random programs that took, and how it
showed. `run` meets that test first, then others, the conformance program last, and prints rows of the table; with
--update it writes down what it saw. A mutant of src/library meets all sets of random programs (tests/random/programs.txt),
and one of another folder the tests that bear the folder's name. Without numbers it takes all mutants, for hours. Before a
test meets its first mutant, the library has to pass it without a mistake. BUILD is a folder for a copy of the sources,
which is the one that is changed, and its builds.

Status 1: a mutant was not caught, or is wrong. Status 2: something can't be built, or fails without a mistake.
SEEDS is how many seeds of each set a mutant is given before it counts as not caught (40).
"""

import argparse
import concurrent.futures
import contextlib
import difflib
import glob
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import edits

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKOUT = os.path.dirname(os.path.dirname(HERE))
SOURCES = ('CMakeLists.txt', 'include', 'src', 'tests', 'bench', 'docs')
APIS = ('13000', '10020')
SECONDS = 120  # a test that goes on for longer hangs


def text_of(file):
    return pathlib.Path(CHECKOUT, file).read_text('utf-8')


def files_of_entries():
    """Each file's entries, {path: entries}."""
    return {path: edits.read(path) for path in sorted(glob.glob(f'{HERE}/planted/*.txt'))}


def all_entries():
    return sorted((entry for entries in files_of_entries().values() for entry in entries), key=lambda entry: entry.number)


# --------------------------------------------------------------------------------------------------------------- check

def folder_of(file):
    """The folder of src/ whose product it belongs to."""
    if file.startswith('src/'):
        return file.split('/')[1]
    return 'devheap' if file.startswith('include/streampool/heap') else 'library'


def compiled_with(file):
    """A header is compiled with the files of its product that include it by name, or, where none does, with all of them."""
    if file.endswith('.c'):
        return [file]
    sources = glob.glob(f'src/{folder_of(file)}/**/*.c', root_dir=CHECKOUT, recursive=True)
    name = '"' + file.removeprefix('src/').removeprefix('library/') + '"'
    return [source for source in sources if name in text_of(source)] or sources


def complaints_about(entry, compiler):
    """A mistake may leave a function or a parameter without a use."""
    try:
        changed = edits.apply(entry, text_of)
    except edits.Wrong as wrong:
        return str(wrong)
    with tempfile.TemporaryDirectory() as folder:
        for file, text in changed.items():
            os.makedirs(f'{folder}/{os.path.dirname(file)}', exist_ok=True)
            pathlib.Path(f'{folder}/{file}').write_text(text, 'utf-8')
        roots = [f'-I{root}/{part}' for root in (folder, CHECKOUT) for part in ('src/library', 'src', 'include')]
        sources = {f'{folder}/{file}' if file in changed else f'{CHECKOUT}/{file}'
                   for header in changed for file in compiled_with(header)}
        done = subprocess.run([*compiler, '-std=c11', '-D_GNU_SOURCE', *roots, '-fsyntax-only', '-Wall', '-Wextra', '-Werror',
                               '-Wno-unused-function', '-Wno-unused-parameter', *sorted(sources)],
                              capture_output=True, text=True)
    return f'{entry.number} {entry.name} does not compile:\n{done.stderr}' if done.returncode else ''


def complaints(entries, compiler):
    """What is wrong with the entries: mutants, or ablations (bench/ablations)."""
    numbers = [entry.number for entry in entries]
    found = [f'{number} is the number of several entries' for number in sorted(set(numbers)) if numbers.count(number) > 1]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        return found + [text for text in workers.map(lambda entry: complaints_about(entry, compiler), entries) if text]


def check(compiler):
    entries = all_entries()
    found = complaints(entries, compiler)
    if text_of('tests/mutants/RESULTS.md') != table():
        found.append('tests/mutants/RESULTS.md is not what `mutants.py table` prints')
    print('\n'.join(found) or f'{len(entries)} mutants apply and compile')
    return bool(found)


# --------------------------------------------------------------------------------------------------------------- table

def row(entry):
    test, operations, how = re.fullmatch(r'(\w+)(?: (\w+))?(?:: (.*))?', entry.facts.get('caught by', 'nothing')).groups('')
    return f'| {entry.number} {entry.name} | {entry.what} | {test} | {operations} | {how} |'


HEAD = '| mutant | what is wrong | caught by | operations | how it shows |\n| --- | --- | --- | ---: | --- |'


def table():
    return ('# Mutants\n\n'
            'Mistakes planted in the sources one by one, and the test that saw each: see [testing.md](../../docs/testing.md#mutants).\n'
            'The page is made by `python3 tests/mutants/mutants.py table`. The operations are those of all programs of the set that\n'
            'found the mutant, until one of them failed; *hangs* stands in their place where the program went on for minutes.\n\n' + HEAD + '\n' + '\n'.join(map(row, all_entries())) + '\n')


# ----------------------------------------------------------------------------------------------------------------- run

class Copy:
    """A copy of the sources and its build."""

    def __init__(self, build, options):
        self.build, self.source, self.output = f'{build}/build', f'{build}/source', ''
        self.copy()
        shutil.rmtree(f'{self.build}/CMakeFiles', ignore_errors=True)
        self.need('it can\'t be configured', ['cmake', '-B', self.build, '-S', self.source, '-G', 'Ninja', *options])

    def copy(self):
        """A file that is the same stays untouched, so that only what has changed is built again."""
        for root in SOURCES:
            files = [root] if os.path.isfile(f'{CHECKOUT}/{root}') else [
                os.path.relpath(f'{folder}/{name}', CHECKOUT)
                for folder, _, names in os.walk(f'{CHECKOUT}/{root}') for name in names]
            for file in files:
                self.put(file, pathlib.Path(f'{CHECKOUT}/{file}').read_bytes())

    def put(self, file, content):
        path = f'{self.source}/{file}'
        if not os.path.isfile(path) or pathlib.Path(path).read_bytes() != content:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            pathlib.Path(path).write_bytes(content)

    def command(self, command, environment=(), timeout=None):
        """True when it succeeds in time. Else all processes that it has started are ended."""
        running = subprocess.Popen(command, env={**os.environ, **dict(pair.split('=', 1) for pair in environment)},
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            output = running.communicate(timeout=timeout)[0]
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            output = running.communicate()[0]
        self.output = output.decode(errors='replace')
        return running.returncode == 0

    def need(self, what, command):
        if not self.command(command):
            print(self.output, what, sep='\n', file=sys.stderr)
            sys.exit(2)

    def make(self, target):
        self.need(f'{target} does not build', ['cmake', '--build', self.build, '--target', target, 'streampool_simcuda'])

    @contextlib.contextmanager
    def changed(self, entry):
        """The copy with an entry's edits in it."""
        texts = edits.apply(entry, text_of)
        for file, text in texts.items():
            self.put(file, text.encode())
        try:
            yield
        finally:
            for file in texts:
                self.put(file, text_of(file).encode())


def program_of(test):
    """The target of a test in ctest."""
    for name in 'random', 'room', 'conformance':
        if re.match(f'{name}(_|$)', test):
            return f'streampool-{name}'
    return re.sub(r'_\d{5}$', '', test) + '_test'


class Run(Copy):
    """The tests that a mutant meets, and what the last one printed."""

    def __init__(self, build):
        self.good = set()  # those that the library passes without a mistake
        super().__init__(build, ['-DCMAKE_BUILD_TYPE=Debug', '-DSTREAMPOOL_BENCH=OFF', '-DSTREAMPOOL_INSTALL=OFF',
                                 '-DSTREAMPOOL_TESTS=ON', '-DSTREAMPOOL_TESTS_CXX=OFF'])
        self.seeds = os.environ.get('SEEDS', '40')
        self.sets = {}
        for line in pathlib.Path(f'{CHECKOUT}/tests/random/programs.txt').read_text('utf-8').splitlines():
            if line.strip() and not line.startswith('#'):
                name, environment, options = line.split('|')
                self.sets[name] = environment.split(), options.split()

    def found(self, pattern, otherwise):
        match = re.search(pattern, self.output, re.M)
        return next(filter(None, match.groups())) if match else otherwise

    # Each of these returns how a test failed, as the fact says it, or null.

    def unit_test(self, name):
        self.make(program_of(name))
        passed = self.command(['ctest', '--test-dir', self.build, '--timeout', str(SECONDS), '-R', f'^{name}$',
                               '--no-tests=error', '--verbose'])
        if 'No tests were found' in self.output:
            print(f'no test is called {name}', file=sys.stderr)
            sys.exit(2)
        otherwise = 'it hangs' if '***Timeout' in self.output else 'the program did not end'
        row = self.found(r'\[  (?:FAILED|ERROR )  \] ([a-z_0-9]+)(?:, \w+)?$| FAIL [^ ]*: ([^:\n]*)', otherwise)
        return None if passed else f'{name}: {row}'

    def random_set(self, name):
        """A program that goes on for minutes is caught too: it hangs."""
        self.make('streampool-random')
        environment, options = self.sets[name]
        if self.command([f'{self.build}/bin/streampool-random', '--driver', 'sim', *options, '--seeds', self.seeds],
                        environment, 300):
            return None
        operations = self.found(r'^\d+ programs, (\d+) operations$', 'hangs')
        how = self.found(r' FAIL .*\): ([a-z-]*): | FAIL .*ended by (SIG[A-Z]*)| FAIL .*: (.*)', 'it did not end')
        return f'{name} {operations}: {how[:60].replace("|", "/")}'

    def conformance(self):
        self.make('streampool-conformance')
        for api in APIS:
            for group in 'common', 'simulated':
                if not self.command([f'{self.build}/bin/streampool-conformance', '--driver=sim', f'--group={group}'],
                                    [f'STREAMPOOL_DRIVER_API={api}'], 600):
                    return f'conformance: {self.found("^([a-z_0-9]*) FAIL ", "the program did not end")}'
        return None

    def unit_tests(self):
        """The tests that ctest knows and that have a program of their own."""
        self.command(['ctest', '--test-dir', self.build, '--show-only'])
        tests = re.findall(r'Test +#\d+: (\w+)', self.output)
        self.command(['ninja', '-C', self.build, '-t', 'targets', 'all'])
        programs = set(re.findall(r'^([\w-]+): phony', self.output, re.M))
        return [test for test in tests if program_of(test) in programs]

    def tests_of(self, entry):
        """Those that a mutant meets: the one that caught it last before the others."""
        first = [test_of(entry)] if test_of(entry) else []
        folders = {folder_of(file) for file in entry.files()}
        named = [test for test in self.unit_tests() if test.split('_')[0] in folders - {'library'}]
        return list(dict.fromkeys([*first, *named, *(self.sets if 'library' in folders else []), 'conformance']))

    def one(self, name):
        return self.random_set(name) if name in self.sets else self.conformance() if name == 'conformance' else self.unit_test(name)

    def need_good(self, name):
        failed = None if name in self.good else self.one(name)
        if failed:
            print(self.output[-2000:], f'the library fails without a mistake: {failed}', sep='\n', file=sys.stderr)
            sys.exit(2)
        self.good.add(name)

    def mutant(self, entry):
        """How a test failed, or null."""
        for name in self.tests_of(entry):
            self.need_good(name)
            with self.changed(entry):
                caught = self.one(name)
            if caught:
                return caught
        return None


def test_of(entry):
    return re.match(r'\w*', entry.facts.get('caught by', ''))[0]


def run(build, update, numbers):
    entries = [entry for entry in all_entries() if not numbers or entry.number in numbers]
    missing = set(numbers) - {entry.number for entry in entries}
    if missing:
        sys.exit(f'no mutant has the number {min(missing)}')
    copy = Run(build)
    print(HEAD)
    all_caught = True
    for entry in entries:
        caught = copy.mutant(entry)
        entry.facts['caught by'] = caught or 'nothing'
        all_caught = all_caught and bool(caught)
        print(row(entry), flush=True)
        if update:
            note(entry)
    return not all_caught


def note(entry):
    for path, entries in files_of_entries().items():
        for other in entries:
            if other.number == entry.number:
                other.facts = entry.facts
                pathlib.Path(path).write_text(edits.write(entries), 'utf-8')


def diff(number):
    for entry in all_entries():
        if entry.number == number:
            for file, text in edits.apply(entry, text_of).items():
                sys.stdout.writelines(difflib.unified_diff(text_of(file).splitlines(keepends=True), text.splitlines(keepends=True),
                                                           f'a/{file}', f'b/{file}'))
            return 0
    sys.exit(f'no mutant has the number {number}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest='verb', required=True)
    verbs.add_parser('check').add_argument('compiler', nargs='+')
    verbs.add_parser('diff').add_argument('number', type=int)
    runs = verbs.add_parser('run')
    runs.add_argument('build')
    runs.add_argument('numbers', nargs='*', type=int)
    runs.add_argument('--update', action='store_true')
    verbs.add_parser('table')
    given = parser.parse_args()
    if given.verb == 'check':
        return check(given.compiler)
    if given.verb == 'diff':
        return diff(given.number)
    if given.verb == 'run':
        return run(os.path.abspath(given.build), given.update, given.numbers)
    sys.stdout.write(table())
    return 0


if __name__ == '__main__':
    try:
        sys.exit(int(main()))
    except edits.Wrong as wrong:
        sys.exit(str(wrong))
