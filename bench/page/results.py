"""Results of measurements, as `streampool-bench --json` and `streampool replay --json` write them, for rows of figures.json.

Each result has a key, which a row's "of" names:

  pair: 1 KiB, ns                            of streampool-bench: case, setting, unit
  ahead: time, ms #2                         the second of that name in its file
  replay gnn_random: GiB, pass 2             the most that was held, and *in use*
  replay gnn_random: held ÷ in use, pass 2
  replay gnn_random: ms, pass 2              of all calls
  replay gnn_random, busy: ms, pass 2        with --work

A file is of one run, so a section is filled from one file, but for columns whose "run" is "another". It is filled as a whole or
not at all, since it has one date. Cells that the results lack are allowed on request.
"""

import copy
import json
import os
import statistics

import figures
from figures import Wrong

GIB = 1 << 30


class Results:
    """What a file has: by key and subject a cell, and what says where it was measured."""

    def __init__(self, path):
        self.path, self.cells, self.samples = path, {}, {}
        try:
            with open(path, encoding='utf-8') as file:
                results = json.load(file)
            self.where = self.where_of(results[0])
            self.simulated = results[0].get('simulated', results[0].get('driver_version') == 'simulated')
            for result in results:
                (self.add_bench if 'case' in result else self.add_replay)(result)
        except OSError as error:
            raise Wrong(f'{path}: {error.strerror}') from error
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise Wrong(f'{path} has no results of streampool-bench or of `streampool replay`') from error

    @staticmethod
    def where_of(result):
        names = {'device': 'device', 'driver_version': 'driver', 'cuda_version': 'cuda', 'date': 'date'}
        return {name: result[key] for key, name in names.items() if key in result}

    def add(self, key, subject, cell, runs):
        keys = (key if count == 1 else f'{key} #{count}' for count in range(1, 100))
        key = next(one for one in keys if subject not in self.cells.get(one, {}))
        self.cells.setdefault(key, {})[subject] = cell
        self.samples[key] = runs

    def add_bench(self, result):
        self.add(f'{result["case"]}: {result["setting"]}, {result["unit"]}', result['subject'],
                 [result['median'], result['least'], result['most']], f'{result["samples"]} sample{"s" * (result["samples"] != 1)}')

    def add_replay(self, result):
        if 'turn' in result:
            return
        starts, subject = result.get('starts', [result]), result['allocator']
        trace = f'replay {result["trace"]}' + (', busy' if 'work_ns' in starts[0] else '')
        figures_of = {'GiB': [start['reserved_peak_bytes'] / GIB for start in starts],
                      'held ÷ in use': [start['reserved_peak_bytes'] / start['live_peak_bytes'] for start in starts],
                      'ms': [start['total_ns'] / 1e6 for start in starts]}
        for name, values in figures_of.items():
            self.add(f'{trace}: {name}, pass {result["pass"]}', subject, self.spread(values), f'{len(starts)} starts')
        self.cells[f'{trace}: GiB, pass {result["pass"]}']['in use'] = self.spread([start['live_peak_bytes'] / GIB for start in starts])[0]

    @staticmethod
    def spread(values):
        return [statistics.median(values), min(values), max(values)]


# ---------------------------------------------------------------------------------------------------------- into sections

def key_of(row, column):
    return row.get('of', '').replace('{}', column.get('fill', ''))


def is_filled(column):
    return column['is'] != 'fact' or 'subject' in column


def found_in(section, run):
    """How many cells of the section a run has."""
    return sum(column.get('subject') in run.cells.get(key_of(row, column), {})
               for row in section['rows'] for column in figures.kept(section))


def cell_of(row, column, first, runs):
    """From the run that fills the section, or another one where the column is of another. None: not there."""
    for run in runs if column.get('run') == 'another' else [first]:
        cell = run.cells.get(key_of(row, column), {}).get(column.get('subject'))
        if cell is not None:
            return cell
    return None


def rounded(cell, decimals):
    return [figures.rounded(value, decimals) for value in cell] if isinstance(cell, list) else figures.rounded(cell, decimals)


def fill(section, first, runs):
    """Puts the runs' cells in, and returns what the runs lack."""
    lacks = []
    for row in section['rows']:
        for i, column in enumerate(figures.kept(section)):
            if not is_filled(column):
                continue
            cell = cell_of(row, column, first, runs)
            if cell is None and (row['cells'][i] is not None or not figures.is_measured(section)):
                lacks.append(f'{row["name"]}: {column["name"]}')
            row['cells'][i] = None if cell is None else rounded(cell, figures.decimals(section, column))
    return lacks


def samples_of(section, run):
    return next(run.samples[key_of(row, column)] for row in section['rows'] for column in figures.kept(section)
                if key_of(row, column) in run.samples)


def check_subjects(section, run, unshown):
    """Each subject of a row has a column, or is one that the page never shows."""
    known = {column.get('subject') for column in figures.kept(section)} | set(unshown)
    for row in section['rows']:
        strange = set(run.cells.get(row.get('of', ''), {})) - known
        if strange:
            raise Wrong(f'{run.path}: the section {section["id"]} has no column for {min(strange)}')


def check_cases(page, run):
    """Each case and trace has a section, or is one that the page never shows."""
    known = {row.get('of', '').split(':')[0] for section in page['sections'] for row in section['rows']} | set(page['unshown'])
    strange = {key.split(':')[0] for key in run.cells} - known
    if strange:
        raise Wrong(f'{run.path}: no section has rows of {min(strange)}')


def where_of(section, run, runs, given):
    """Where this was measured: as given, or as the run says it, or another one of the same command."""
    told = {key: value for other in runs for key, value in other.where.items()}
    where = {**dict.fromkeys(figures.WHERE[:4]), **told, **run.where, **given, 'runs': samples_of(section, run)}
    if 'others' not in section['where']:
        where.pop('others', None)
    elif 'others' not in given:
        raise Wrong(f'the section {section["id"]} compares with others: name their versions (--others)')
    lacking = [key for key, value in where.items() if not value]
    if lacking:
        raise Wrong(f'{run.path} doesn\'t say its {lacking[0]}: give it (--{lacking[0]}), or a result of replay too')
    return where


def is_of(section, run):
    """Whether both are of the simulated driver, or neither."""
    return run.simulated == (section['where'].get('driver') == 'simulated')


def check_used(page, runs):
    for run in runs:
        if run.cells and not any(is_of(section, run) and found_in(section, run) for section in page['sections']):
            raise Wrong(f'{run.path}: no section has results of {run.where["device"]}')


def take_into(section, runs, unshown, given, gaps):
    """The section with what the runs have of it, and a line about that. None: they have nothing."""
    runs = [run for run in runs if is_of(section, run)]
    first = max(runs, key=lambda run: found_in(section, run), default=None)
    if not first or not found_in(section, first):
        return section, None
    check_subjects(section, first, unshown)
    new = copy.deepcopy(section)
    lacks, file = fill(new, first, runs), os.path.basename(first.path)
    if lacks and not gaps:
        return section, f'{section["id"]}: left as it is, since {file} lacks {len(lacks)} of its cells: {lacks[0]}'
    new['where'] = where_of(section, first, runs, given)
    return new, f'{section["id"]}: of {new["where"]["date"]}, from {file}' + (f', with {len(lacks)} gaps' if lacks else '')


def take(page, runs, given, gaps):
    """A copy of the page's figures with these results in it, and a line about each section that they touch."""
    page = copy.deepcopy(page)
    for run in runs:
        check_cases(page, run)
    check_used(page, runs)
    made = [take_into(section, runs, page['unshown'], given, gaps) for section in page['sections']]
    page['sections'] = [section for section, _ in made]
    return page, [told for _, told in made if told]
