#!/usr/bin/env python3
"""What each mechanism of the library buys: takes one out after another, and replays eight traces on the simulated driver.

  ablations.py check COMPILER...         each ablation's texts are there once, and what it changes compiles
  ablations.py run BUILD [NAME...]       prints the figures of the library as it is, and without each of these (or of all)

The ablations are the entries of ablations.txt, in the form of tests/mutants/edits.py. BUILD is a folder for a copy of the
sources, its build, and what replay wrote. Figures are geometric means over five traces of many streams and three of one
stream, in the default pool and in a promised one: reserved / live in the first and the sixth pass; the driver's time as
the simulated driver models it; and the events recorded in the first pass. The traces have one thread and no pending
work: an ablation says nothing about threads, nor about what is out of reach.
"""

import argparse
import glob
import json
import math
import os
import pathlib
import sys

sys.path.insert(0, f'{os.path.dirname(os.path.abspath(__file__))}/../../tests/mutants')
import edits  # noqa: E402
import mutants  # noqa: E402

MANY = ['infer_streams', 'torch_threads', 'cupy_streams', 'video_pipeline', 'serve_chat']
ONE = ['gnn_random', 'gpt2_train', 'resnet_multires']
ALLOCATORS = ['pool', 'promised']
PASSES = 6
OPTIONS = ['-DCMAKE_BUILD_TYPE=Release', '-DSTREAMPOOL_BENCH=OFF', '-DSTREAMPOOL_INSTALL=OFF', '-DSTREAMPOOL_TESTS=OFF']


def all_entries():
    return edits.read(f'{os.path.dirname(os.path.abspath(__file__))}/ablations.txt')


class Figures:
    def __init__(self, path):
        rows = json.loads(pathlib.Path(path).read_text('utf-8'))
        self.rows = {(row['trace'], row['allocator'], row['pass']): row for row in rows}

    def ratio(self, traces, allocator, number):
        ratios = [self.rows[trace, allocator, number]['ratio']['median'] for trace in traces]
        return math.exp(sum(map(math.log, ratios)) / len(ratios))

    def milliseconds(self, traces, number):
        return sum(self.rows[trace, 'pool', number]['driver_calls_modelled_ns']['median'] for trace in traces) / 1e6

    def events(self, traces):
        return sum(sorted(start['statistics']['EventsRecorded'] for start in self.rows[trace, 'pool', 1]['starts'])[2]
                   for trace in traces)

    def line(self, name):
        cells = [f'{self.ratio(traces, allocator, 1):.3f} {self.ratio(traces, allocator, PASSES):.3f}'
                 for traces in (MANY, ONE) for allocator in ALLOCATORS]
        cells += [f'{self.milliseconds(traces, 1):.1f} {self.milliseconds(traces, PASSES):.1f}' for traces in (MANY, ONE)]
        cells += [str(self.events(MANY + ONE)), str(sum(row['errors'] for row in self.rows.values()))]
        return f'| {name} | {" | ".join(cells)} |'


HEAD = ('| without | many: pool | promised | one: pool | promised | ms, many | ms, one | events | errors |\n'
        '| --- | --- | --- | --- | --- | --- | --- | ---: | ---: |')


def figures_of(copy, name):
    copy.make('streampool_cli')
    path = f'{copy.build}/{name}.json'
    traces = [f'{mutants.CHECKOUT}/bench/traces/{trace}.csv.gz' for trace in MANY + ONE]
    copy.need(f'{name}: the replay fails', [f'{copy.build}/bin/streampool', 'replay', '-d', 'sim', '-a', ','.join(ALLOCATORS),
                                            '-n', str(PASSES), '--perturb=5', f'--json={path}', *traces])
    return Figures(path)


def run(build, names):
    entries = {entry.name: entry for entry in all_entries()}
    unknown = set(names) - set(entries)
    if unknown:
        sys.exit(f'no ablation is called {min(unknown)}')
    copy = mutants.Copy(build, OPTIONS)
    print(HEAD)
    print(figures_of(copy, 'nothing').line('nothing'), flush=True)
    for name in names or entries:
        with copy.changed(entries[name]):
            print(figures_of(copy, name).line(name), flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest='verb', required=True)
    verbs.add_parser('check').add_argument('compiler', nargs='+')
    runs = verbs.add_parser('run')
    runs.add_argument('build')
    runs.add_argument('names', nargs='*')
    given = parser.parse_args()
    if given.verb == 'run':
        return run(os.path.abspath(given.build), given.names)
    complaints = mutants.complaints(all_entries(), given.compiler)
    complaints += [f'bench/traces/{trace}.csv.gz is gone' for trace in MANY + ONE
                   if not glob.glob(f'{mutants.CHECKOUT}/bench/traces/{trace}.csv.gz')]
    print('\n'.join(complaints) or f'{len(all_entries())} ablations apply and compile')
    return bool(complaints)


if __name__ == '__main__':
    try:
        sys.exit(int(main()))
    except edits.Wrong as wrong:
        sys.exit(str(wrong))
