#!/usr/bin/env python3
"""Makes mutants by rule, and prints those that the tests of their module let live.

  generate.py BUILD [--count=N] [--seed=S] [FILE...]

A rule changes one place of a file: a statement is left out, the condition of an `if` is turned round, or a comparison
is off by one. Of all that can be made in the files (src/library/*/*.c where none is named) N are drawn (200) by the
seed S (1). A mutant meets the tests that bear its module's name, and those that tests/unit/covered.txt names for it; one
that doesn't compile is none. What survives is a hint to a missing test, or a statement that buys nothing. BUILD is as
in mutants.py. Needs the module clang.cindex (Debian: python3-clang-14).
"""

import argparse
import glob
import os
import random
import pathlib
import re
import sys

from clang.cindex import CursorKind, Index, TranslationUnitLoadError

import mutants

FLAGS = ['-std=c11', '-D_GNU_SOURCE', *(f'-I{mutants.CHECKOUT}/{root}' for root in ('src/library', 'src', 'include'))]
TURNED = {'<': '<=', '<=': '<', '>': '>=', '>=': '>'}
STATEMENTS = (CursorKind.CALL_EXPR, CursorKind.BINARY_OPERATOR, CursorKind.UNARY_OPERATOR,
              CursorKind.COMPOUND_ASSIGNMENT_OPERATOR)


class Mutant:
    def __init__(self, file, begin, end, new, what):
        self.file, self.begin, self.end, self.new, self.what = file, begin, end, new, what


def nodes(cursor, path):
    """The nodes below, of the file itself and not of what a macro brings."""
    for child in cursor.get_children():
        start = child.extent.start
        if start.file and start.file.name == path:
            yield child
            yield from nodes(child, path)


def is_macro_text(text, node):
    """A node inside a macro's arguments or body has the whole use as its place."""
    begin, end = node.extent.start.offset, node.extent.end.offset
    return not 0 <= begin < end or re.match(r'[A-Z][A-Z0-9_]+\(', text[begin:end])


def left_out(file, text, statements):
    return [Mutant(file, node.extent.start.offset, node.extent.end.offset, '(void)0', 'left out')
            for node in statements if node.kind in STATEMENTS and not is_macro_text(text, node)]


def mutants_of(file):
    """All mutants of a file."""
    path = f'{mutants.CHECKOUT}/{file}'
    raw = pathlib.Path(path).read_text('utf-8')
    text = raw.encode().decode('latin-1')  # libclang counts bytes
    try:
        unit = Index.create().parse(path, FLAGS)
    except TranslationUnitLoadError as error:
        sys.exit(f'{file} can\'t be read: {error}')
    made = []
    for node in nodes(unit.cursor, path):
        if node.kind == CursorKind.COMPOUND_STMT:
            made += left_out(file, text, node.get_children())
        elif node.kind == CursorKind.IF_STMT:
            condition, *branches = node.get_children()
            made += left_out(file, text, branches)
            begin, end = condition.extent.start.offset, condition.extent.end.offset
            if not is_macro_text(text, condition):
                made.append(Mutant(file, begin, end, f'!({text[begin:end]})', 'turned round'))
        elif node.kind == CursorKind.BINARY_OPERATOR and not is_macro_text(text, node):
            left, right = node.get_children()
            between = left.extent.end.offset, right.extent.start.offset
            sign = text[slice(*between)].strip()
            if sign in TURNED:
                made.append(Mutant(file, *between, f' {TURNED[sign]} ', 'off by one'))
    return made


def tests_of(file, all_tests):
    folder, module = file.split('/')[-2:]
    module = module.rsplit('.', 1)[0]
    named = [test for test in all_tests if re.match(f'{folder}_{module}(_|$)', test)]
    for line in pathlib.Path(f'{mutants.CHECKOUT}/tests/unit/covered.txt').read_text('utf-8').splitlines():
        place, _, rest = line.partition(': ')
        if place == f'{folder}/{module}':
            named += [test for test in re.findall(r'\w+', rest) if test in all_tests]
    return named


def passes(copy, tests):
    """True when the tests pass, false when one fails, and null where they can't be built."""
    targets = sorted({mutants.program_of(test) for test in tests})
    if not copy.command(['cmake', '--build', copy.build, '--target', *targets, 'streampool_simcuda']):
        return None
    return copy.command(['ctest', '--test-dir', copy.build, '--timeout', str(mutants.SECONDS), '--stop-on-failure',
                         '-R', f'^({"|".join(tests)})$'])


def need_good(copy, tests):
    """The library has to pass them without a mistake, before they meet their first mutant."""
    if not set(tests) <= copy.good and not passes(copy, tests):
        sys.exit(f'{copy.output[-2000:]}\nthe library fails without a mistake: {" ".join(tests)}')
    copy.good.update(tests)


def survives(copy, mutant, tests):
    """What passes() says of the mutant."""
    need_good(copy, tests)
    content = pathlib.Path(f'{mutants.CHECKOUT}/{mutant.file}').read_bytes()
    copy.put(mutant.file, content[:mutant.begin] + mutant.new.encode('latin-1') + content[mutant.end:])
    try:
        return passes(copy, tests)
    finally:
        copy.put(mutant.file, content)


def line_of(mutant):
    content = pathlib.Path(f'{mutants.CHECKOUT}/{mutant.file}').read_bytes()
    return content.count(b'\n', 0, mutant.begin) + 1, content[mutant.begin:mutant.end].decode()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('files', nargs='*')
    parser.add_argument('--count', type=int, default=200)
    parser.add_argument('--seed', type=int, default=1)
    given = parser.parse_intermixed_args()
    files = given.files or sorted(glob.glob('src/library/*/*.c', root_dir=mutants.CHECKOUT))
    copy = mutants.Run(os.path.abspath(given.build))
    all_tests = copy.unit_tests()
    made = [mutant for file in files if tests_of(file, all_tests) for mutant in mutants_of(file)]
    drawn = random.Random(given.seed).sample(made, min(given.count, len(made)))
    counts = {True: 0, False: 0, None: 0}
    for mutant in sorted(drawn, key=lambda mutant: (mutant.file, mutant.begin)):
        lives = survives(copy, mutant, tests_of(mutant.file, all_tests))
        counts[lives] += 1
        if lives:
            line, text = line_of(mutant)
            print(f'{mutant.file}:{line}: {mutant.what}: {" ".join(text.split())}', flush=True)
    print(f'{len(drawn)} of {len(made)} mutants: {counts[False]} caught, {counts[True]} survived, {counts[None]} do not compile')


if __name__ == '__main__':
    main()
