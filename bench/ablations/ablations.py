#!/usr/bin/env python3
"""What each mechanism of the library buys: takes one out after another, and replays eight traces on the simulated driver.

  ablations.py check COMPILER...         each ablation's texts are there once, and what it changes compiles; so are the lines
                                         that it counts; docs/notes/mechanisms.md has a row for each, and no other
  ablations.py run BUILD [NAME...]       prints the rows of the library as it is, and without each of these (or of all)
  ablations.py page BUILD                writes docs/notes/mechanisms.md: all of them, in a quarter of an hour or more; prints the rows

The ablations are the entries of ablations.txt, in the form of tests/mutants/edits.py. BUILD is a folder for a copy of the
sources, its build, and what replay wrote. The page says what the figures are.
"""

import argparse
import glob
import json
import math
import os
import pathlib
import sys
import time

sys.path.insert(0, f'{os.path.dirname(os.path.abspath(__file__))}/../../tests/mutants')
import edits  # noqa: E402
import mutants  # noqa: E402

MANY = ['infer_streams', 'torch_threads', 'cupy_streams', 'video_pipeline', 'serve_chat']
ONE = ['gnn_random', 'gpt2_train', 'resnet_multires']
ALLOCATORS = ['pool', 'promised']
PASSES = 6
OPTIONS = ['-DCMAKE_BUILD_TYPE=Release', '-DSTREAMPOOL_BENCH=OFF', '-DSTREAMPOOL_INSTALL=OFF', '-DSTREAMPOOL_TESTS=OFF']
PAGE = 'docs/notes/mechanisms.md'


def all_entries():
    return edits.read(f'{os.path.dirname(os.path.abspath(__file__))}/ablations.txt')


# --------------------------------------------------------------------------------------------------------------- lines

def lines_of_functions(text, names):
    """How many lines the functions have, each with the comment right above it. None where one isn't there once."""
    spans = [span for span in edits.functions(text) if span[0] in names]
    if sorted(name for name, _, _ in spans) != sorted(names):
        return None
    lines = 0
    for _, begin, end in spans:
        lines += text.count('\n', begin, end)
        above = text[:begin].split('\n')[:-1]
        while above and above.pop().startswith('//'):
            lines += 1
    return lines


def lines_of(entry):
    """How many lines the mechanism has, by the entry's fact "lines"."""
    lines = 0
    for part in entry.facts.get('lines', '').split('; '):
        file, _, names = part.partition(': ')
        try:
            text = mutants.text_of(f'src/library/{file}')
        except OSError as error:
            raise edits.Wrong(f'{entry.number} {entry.name}: its lines: no file src/library/{file}') from error
        count = lines_of_functions(text, names.split(', ')) if names else text.count('\n')
        if count is None:
            raise edits.Wrong(f'{entry.number} {entry.name}: its lines: {file} has not each of these once: {names}')
        lines += count
    return lines


def lines_of_all():
    files = glob.glob('src/library/*/*.[ch]', root_dir=mutants.CHECKOUT)
    return sum(mutants.text_of(file).count('\n') for file in files)


# ------------------------------------------------------------------------------------------------------------- figures

class Figures:
    """What replay measured of one library, rounded as it is shown."""

    def __init__(self, path):
        rows = json.loads(pathlib.Path(path).read_text('utf-8'))
        self.rows = {(row['trace'], row['allocator'], row['pass']): row for row in rows}
        self.pairs = {f'{name}{promised}': [round(self.ratio(traces, allocator, number), 3) for number in (1, PASSES)]
                      for name, traces in (('many', MANY), ('one', ONE))
                      for promised, allocator in zip(('', ' promised'), ALLOCATORS)}
        self.times = {name: [round(self.milliseconds(traces, number), 1) for number in (1, PASSES)]
                      for name, traces in (('ms many', MANY), ('ms one', ONE))}
        self.events = sum(sorted(start['statistics']['EventsRecorded'] for start in self.rows[trace, 'pool', 1]['starts'])[2]
                          for trace in MANY + ONE)
        self.errors = sum(row['errors'] for row in rows)

    def ratio(self, traces, allocator, number):
        ratios = [self.rows[trace, allocator, number]['ratio']['median'] for trace in traces]
        return math.exp(sum(map(math.log, ratios)) / len(ratios))

    def milliseconds(self, traces, number):
        return sum(self.rows[trace, 'pool', number]['driver_calls_modelled_ns']['median'] for trace in traces) / 1e6

    def cells(self, base=None):
        """The figures as text. One that is as the base's is left empty."""
        texts = ([f'{first:.3f} {last:.3f}' for first, last in self.pairs.values()] +
                 [f'{first:.1f} {last:.1f}' for first, last in self.times.values()] + [f'{self.events:,}'])
        if base:
            texts = ['' if text == other else text for text, other in zip(texts, base.cells())]
        if self.errors:
            texts[-1] += f' ({self.errors} allocations fail)'
        return texts


HEAD = ('| ablation | what holds then | lines | many | many promised | one | one promised | ms many | ms one | events |\n'
        '| --- | --- | ---: | --- | --- | --- | --- | --- | --- | ---: |')


def row(name, what, lines, cells):
    return f'| {name} | {what} | {lines:,} | {" | ".join(cells)} |'


def title(entry):
    return f'{entry.number} {entry.name}'


def figures_of(copy, name):
    copy.make('streampool_cli')
    path = f'{copy.build}/{name}.json'
    traces = [f'{mutants.CHECKOUT}/bench/traces/{trace}.csv.gz' for trace in MANY + ONE]
    copy.need(f'{name}: the replay fails', [f'{copy.build}/bin/streampool', 'replay', '-d', 'sim', '-a', ','.join(ALLOCATORS),
                                            '-n', str(PASSES), '--perturb=5', f'--json={path}', *traces])
    return Figures(path)


def rows_of(build, entries):
    """The base row, and one for each of the entries."""
    copy = mutants.Copy(build, OPTIONS)
    base = figures_of(copy, 'nothing')
    yield row('nothing', 'the library as it is', lines_of_all(), base.cells())
    for entry in entries:
        if 'shown by' in entry.facts:
            cells = [f'`streampool-bench {entry.facts["shown by"]}`'] + [''] * (len(base.cells()) - 1)
        else:
            with copy.changed(entry):
                cells = figures_of(copy, entry.name).cells(base)
        yield row(title(entry), entry.what, lines_of(entry), cells)


def run(build, names):
    entries = {entry.name: entry for entry in all_entries()}
    unknown = set(names) - set(entries)
    if unknown:
        sys.exit(f'no ablation is called {min(unknown)}')
    print(HEAD)
    for text in rows_of(build, [entries[name] for name in names or entries]):
        print(text, flush=True)
    return 0


# ---------------------------------------------------------------------------------------------------------------- page

TEXT = '''# What each mechanism buys

One mechanism after another is taken out of the library by a small edit, or another choice is put in its place. Then the
library replays eight [recorded programs](../../bench/traces/README.md) on the simulated driver, with one thread, no
work pending, and room on the device. Time is modelled. `python3 bench/ablations/ablations.py page build/ablations`
wrote this page on DATE; `bench/ablations/ablations.txt` has the edits.

| column | what it is |
| --- | --- |
| lines | of the mechanism's functions and files; mechanisms may share some |
| many | reserved ÷ live bytes of five programs with many streams, geometric mean: first pass, sixth pass; default attributes |
| many promised | the same of a pool to which all is promised |
| one, one promised | the same of three programs with one stream |
| ms many, ms one | milliseconds of the calls to the driver: first pass, sixth pass; default attributes |
| events | recorded in the first passes of all eight; default attributes |

A pass is one run of the program's calls, and a figure the median of five starts that differ in one block. An empty cell
has the figure of the first row. What only threads or a GPU show has the case of `streampool-bench` that shows it.

'''


def page(build):
    rows = []
    for text in rows_of(build, all_entries()):
        print(text, flush=True)
        rows.append(text)
    text = TEXT.replace('DATE', time.strftime('%Y-%m-%d')) + HEAD + '\n' + '\n'.join(rows) + '\n'
    pathlib.Path(f'{mutants.CHECKOUT}/{PAGE}').write_text(text, 'utf-8')
    return 0


def complaints_about_page(entries):
    """The page is to have a row for the library as it is, and one for each entry, in their order."""
    try:
        lines = mutants.text_of(PAGE).partition(HEAD + '\n')[2].splitlines()
    except OSError:
        return [f'{PAGE} is gone']
    there = [line.split(' | ')[:2] for line in lines]
    wanted = [['| nothing', 'the library as it is']] + [[f'| {title(entry)}', entry.what] for entry in entries]
    found = [f'{PAGE} has no row of {wish[0][2:]}: {wish[1]}' for wish in wanted if wish not in there]
    found += [f'{PAGE} has a row of no ablation: {" | ".join(row)}' for row in there if row not in wanted]
    if not found and there != wanted:
        found.append(f'{PAGE} has a row twice, or its rows in another order')
    return found


def complaints_about_lines(entries):
    found = []
    for entry in entries:
        try:
            lines_of(entry)
        except edits.Wrong as wrong:
            found.append(str(wrong))
    return found


def check(compiler):
    entries = all_entries()
    found = mutants.complaints(entries, compiler) + complaints_about_lines(entries) + complaints_about_page(entries)
    found += [f'bench/traces/{trace}.csv.gz is gone' for trace in MANY + ONE
              if not os.path.exists(f'{mutants.CHECKOUT}/bench/traces/{trace}.csv.gz')]
    print('\n'.join(found) or f'{len(entries)} ablations apply and compile, and {PAGE} has a row for each')
    return bool(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest='verb', required=True)
    verbs.add_parser('check').add_argument('compiler', nargs='+')
    runs = verbs.add_parser('run')
    runs.add_argument('build')
    runs.add_argument('names', nargs='*')
    verbs.add_parser('page').add_argument('build')
    given = parser.parse_args()
    if given.verb == 'check':
        return check(given.compiler)
    build = os.path.abspath(given.build)
    return page(build) if given.verb == 'page' else run(build, given.names)


if __name__ == '__main__':
    try:
        sys.exit(int(main()))
    except edits.Wrong as wrong:
        sys.exit(str(wrong))
