"""The figures of docs/benchmarks/figures.json: sections with columns and rows, read, checked, rounded and written.

A cell is a median, or [median, least, most], or a text, or null where nothing was measured. A whole number is a count, and shown
whole. A column is of one of these kinds:

  ours      the library as it comes
  option    the library with an attribute set
  other     what it is compared with
  apart     another that isn't compared, since it has an advantage that the section's text names
  floor     what can't be avoided, with no pool around it
  fact      what tells of the row

A section whose "where" is empty, but for "others", has no figures yet: it isn't on the page, and results fill all of it.

A column with "divide" has no cells: it is one column divided by another. "means" are rows that are made, too: geometric means of
other rows, "over" a column if it is named. A row's "of" says which results fill it (results.py); "{}" in it stands for the
column's "fill".
"""

import datetime
import json
import math
import re

KINDS = ['ours', 'option', 'other', 'apart', 'floor', 'fact']
WHERE = ['device', 'driver', 'cuda', 'date', 'runs', 'others']
KEYS = ['id', 'title', 'text', 'where', 'heading', 'columns', 'rows', 'means', 'best', 'decimals', 'unit', 'plot', 'note']
REQUIRED = ['id', 'title', 'text', 'where', 'heading', 'columns', 'rows']
AHEAD = 1.05  # so many times better is ahead


class Wrong(Exception):
    """What is wrong with a file that somebody wrote."""


# ---------------------------------------------------------------------------------------------------------------- numbers

def rounded(value, decimals=None):
    """As many digits as are shown: those decimals, or three digits in all, but no digit before the point is lost."""
    if decimals is None:
        size = abs(value)
        decimals = 0 if size >= 99.95 or size == 0 else 1 if size >= 9.995 else 2 if size >= 0.0995 else 3
    return round(value, decimals) if decimals else round(value)


def number(value, decimals=None):
    """As text."""
    value = rounded(value, decimals)
    if isinstance(value, int):
        return f'{value:,}'
    if decimals is None:
        decimals = 1 if abs(value) >= 9.995 else 2 if abs(value) >= 0.0995 else 3
    return f'{value:,.{decimals}f}'


def median(cell):
    """None: the cell has no figure."""
    value = cell[0] if isinstance(cell, list) else cell
    return value if isinstance(value, (int, float)) else None


def shown(cell, decimals=None):
    if cell is None:
        return '–'
    if isinstance(cell, str):
        return cell
    text = number(median(cell), decimals)
    if not isinstance(cell, list) or cell[1:] == [cell[0]] * 2:
        return text
    return f'{text} [{number(cell[1], decimals)}–{number(cell[2], decimals)}]'


def anchor(title):
    """The address of a heading, as GitHub and tests/source/links.sh make it."""
    return re.sub(r'[^\w -]', '', title.lower()).replace(' ', '-')


# --------------------------------------------------------------------------------------------------------------- sections

def is_measured(section):
    return bool(set(section['where']) - {'others'})


def measured(page):
    """The page without the sections that have no figures yet."""
    return {**page, 'sections': [section for section in page['sections'] if is_measured(section)]}


def kept(section):
    """The columns that have cells."""
    return [column for column in section['columns'] if 'divide' not in column]


def quotient(section, cells, names):
    by_name = dict(zip([column['name'] for column in kept(section)], map(median, cells)))
    above, below = (by_name[name] for name in names)
    return None if above is None or not below else above / below


def geometric(section, mean, column):
    """Of a column's figures in the rows that the mean names. None where one is missing."""
    names = [column['name'] for column in kept(section)]
    rows = {row['name']: list(map(median, row['cells'])) for row in section['rows']}
    values = []
    for name in mean['of']:
        cells = rows[name]
        base = cells[names.index(mean['over'])] if 'over' in mean else 1
        if cells[column] is None or not base:
            return None
        values.append(cells[column] / base)
    return math.exp(sum(map(math.log, values)) / len(values))


def table(section):
    """The rows as they are shown: a name and a cell for each column, with what is made of other cells."""
    rows = [(row['name'], row['cells']) for row in section['rows']]
    for mean in section.get('means', []):
        cells = [None if column['is'] == 'fact' else geometric(section, mean, i) for i, column in enumerate(kept(section))]
        rows.append((mean['name'], cells))
    for name, cells in rows:
        there = iter(cells)
        yield name, [quotient(section, cells, column['divide']) if 'divide' in column else next(there)
                     for column in section['columns']]


def decimals(section, column):
    return column.get('decimals', None if 'divide' in column else section.get('decimals'))


def better(section, one, other):
    """How many times the one figure is better than the other one; 1 where that can't be said."""
    if not one or not other:
        return math.inf if section['best'] == 'least' and one == 0 and other else 1
    return other / one if section['best'] == 'least' else one / other


def ahead(section):
    """The rows in which others are ahead: the row, what it has of ours, and each that is ahead with its figure, the best first."""
    columns = kept(section)
    ours = [i for i, column in enumerate(columns) if column['is'] == 'ours']
    if not section.get('best') or len(ours) != 1:
        return
    for row in section['rows']:
        cells = list(map(median, row['cells']))
        found = [(better(section, cells[i], cells[ours[0]]), column, cells[i]) for i, column in enumerate(columns)
                 if column['is'] == 'other' and cells[i] is not None and cells[ours[0]] is not None]
        found = sorted((one for one in found if one[0] >= AHEAD), key=lambda one: -one[0])
        if found:
            digits = section.get('decimals')
            yield row['name'], number(cells[ours[0]], digits), [(column['name'], number(value, digits)) for _, column, value in found]


# ----------------------------------------------------------------------------------------------------------------- checks

def complaints_about_where(where):
    for key in where:
        if key not in WHERE:
            yield f'"where" has no place for "{key}"'
    for key in WHERE[:4]:
        if not where.get(key):
            yield f'"where" lacks its {key}'
    try:
        datetime.date.fromisoformat(where.get('date', ''))
    except ValueError:
        yield f'{where.get("date")} is no date'


def twice(names):
    return sorted({name for name in names if names.count(name) > 1})


def complaints_about_columns(section):
    names = [column['name'] for column in section['columns']]
    yield from (f'the column {name} is there twice' for name in twice(names))
    for column in section['columns']:
        if 'divide' in column:
            yield from (f'the column {column["name"]} divides by or into {name}, which is no column'
                        for name in column['divide'] if name not in names)
        elif column.get('is') not in KINDS:
            yield f'the column {column["name"]} is of no kind: {column.get("is")}'


def complaints_about_rows(section):
    names, columns = [row['name'] for row in section['rows']], kept(section)
    yield from (f'the row {name} is there twice' for name in twice(names))
    for row in section['rows']:
        if len(row['cells']) != len(columns):
            yield f'the row {row["name"]} has {len(row["cells"])} cells for {len(columns)} columns'
        for cell in row['cells']:
            if isinstance(cell, list) and (len(cell) != 3 or not cell[1] <= cell[0] <= cell[2]):
                yield f'the row {row["name"]} has a cell that is no [median, least, most]: {cell}'
    for mean in section.get('means', []):
        yield from (f'the mean {mean["name"]} is of {name}, which is no row' for name in mean['of'] if name not in names)


def complaints(section):
    missing = [key for key in REQUIRED if key not in section]
    if missing:
        return [f'lacks "{missing[0]}"']
    found = [f'has no place for "{key}"' for key in section if key not in KEYS]
    if anchor(section['title']) != section['id']:
        found.append(f'its title leads to #{anchor(section["title"])}')
    if section.get('best') not in (None, 'least', 'most'):
        found.append(f'"best" is "least" or "most", and not "{section["best"]}"')
    about_where = complaints_about_where(section['where']) if is_measured(section) else []
    for some in about_where, complaints_about_columns(section), complaints_about_rows(section):
        found += some
    return found


def check(figures):
    """Raises Wrong for the first thing that is."""
    for section in figures['sections']:
        for complaint in complaints(section):
            raise Wrong(f'the section {section.get("id")}: {complaint}')
    for name in twice([section['id'] for section in figures['sections']]):
        raise Wrong(f'the section {name} is there twice')


# ------------------------------------------------------------------------------------------------------------------ files

def read(path):
    try:
        with open(path, encoding='utf-8') as file:
            figures = json.load(file)
    except (OSError, ValueError) as error:
        raise Wrong(f'{path}: {error}') from error
    check(figures)
    return figures


def lines(value, indent=''):
    """JSON with a line for each row of a table, so that a change of a figure is a change of a line."""
    if isinstance(value, dict) and any(isinstance(part, (dict, list)) for part in value.values()) and 'cells' not in value:
        inner = [f'{indent}  {json.dumps(key)}: {lines(part, indent + "  ")}' for key, part in value.items()]
        return '{\n' + ',\n'.join(inner) + f'\n{indent}}}'
    if isinstance(value, list) and any(isinstance(part, dict) for part in value):
        return '[\n' + ',\n'.join(f'{indent}  {lines(part, indent + "  ")}' for part in value) + f'\n{indent}]'
    return json.dumps(value, ensure_ascii=False)


def write(path, figures):
    check(figures)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(lines(figures) + '\n')
