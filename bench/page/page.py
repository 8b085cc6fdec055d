#!/usr/bin/env python3
"""docs/benchmarks.md and its plots, made of docs/benchmarks/figures.json.

  page.py [--program FILE] page                           writes the page
  page.py [--program FILE] check                          the page is what the figures make, and README.md's figures are among
                                                          them (claims.py)
  page.py [--program FILE] take [OPTION...] RESULTS...    puts results of measurements into the figures, and writes the page

Plots are drawn by FILE, a built `streampool` (build/release/bin/streampool). Without it they are left alone.

RESULTS are what `streampool-bench --json` and `streampool replay --perturb N --json` write, so the results of bench/run.sh or of
bench/peers/run.sh. What they cover is replaced, section by section; a section of whose cells some are lacking is left as it is,
unless --gaps. A section without figures is on the page once results have filled it. What no result says is given: --driver, --cuda and --date, where no replay is among them, and the versions of the
others (--others "librmm 26.10, PyTorch 2.11"). Results that no section has a place for are an error, and nothing is changed.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import claims  # noqa: E402
import figures  # noqa: E402
import results  # noqa: E402

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
FIGURES = 'docs/benchmarks/figures.json'
PAGE = 'docs/benchmarks.md'
README = 'README.md'
USUAL = ['device', 'driver', 'cuda', 'date', 'others']  # what the lead says once


def wrapped(text):
    """Paragraphs, and tables as they are."""
    return '\n\n'.join(part if part.startswith('|') else textwrap.fill(part, 120, break_on_hyphens=False, break_long_words=False)
                       for part in text.split('\n\n'))


def line(cells):
    return f'| {" | ".join(cells)} |'


def usual(page):
    """What holds of most sections, of those that tell it."""
    told = {key: [section['where'][key] for section in page['sections'] if section['where'].get(key)] for key in USUAL}
    return {key: max(values, key=values.count) if values else '' for key, values in told.items()}


def lead_text(page):
    where = usual(page)
    others = f', with {where["others"]}' if where['others'] else ''
    return wrapped(page['lead'].replace('WHERE', f'one {where["device"]} (driver {where["driver"]}, CUDA {where["cuda"]}) on '
                                                 f'{where["date"]}{others}'))


def where_text(where, usually):
    """In italics above a table: how often it was measured, and what isn't as usual."""
    texts = []
    if where['device'] != usually['device']:
        texts.append(where['device'])
    elif (where['driver'], where['cuda']) != (usually['driver'], usually['cuda']):
        texts.append(f'driver {where["driver"]}, CUDA {where["cuda"]}')
    if where['date'] != usually['date']:
        texts.append(where['date'])
    if where.get('others', usually['others']) != usually['others']:
        texts.append(where['others'])
    texts += [where['runs']] if where.get('runs') else []
    return f'*{", ".join(texts)}.*' if texts else ''


def best_of(section, cells):
    """The places of the best cells of a row, of those that are compared."""
    values = {i: figures.median(cell) for i, (column, cell) in enumerate(zip(section['columns'], cells))
              if column.get('is') in ('ours', 'other') and figures.median(cell) is not None}
    if not section.get('best') or len(values) < 2:
        return []
    best = (min if section['best'] == 'least' else max)(values.values())
    return [i for i, value in values.items() if value == best]


def row_text(section, name, cells):
    best = best_of(section, cells)
    texts = [figures.shown(cell, figures.decimals(section, column)) for column, cell in zip(section['columns'], cells)]
    for i in best:
        head, space, rest = texts[i].partition(' ')
        texts[i] = f'**{head}**{space}{rest}'
    return line([name] + texts)


def section_text(section, usually):
    heads = [section['heading']] + [column['name'] for column in section['columns']]
    rows = [line(heads), line(['---'] * len(heads))] + [row_text(section, *row) for row in figures.table(section)]
    picture = f'![{section["title"]}]({section["plot"]["file"]})' if 'plot' in section else ''
    parts = [f'## {section["title"]}', wrapped(section['text']), where_text(section['where'], usually), picture, '\n'.join(rows),
             wrapped(section.get('note', ''))]
    return '\n\n'.join(filter(None, parts))


def ahead_text(page):
    rows = [line(['section', 'row', 'streampool', 'who is ahead']), line(['---'] * 4)]
    for section in page['sections']:
        for name, ours, others in figures.ahead(section):
            rows.append(line([f'[{section["title"]}](#{section["id"]})', name, ours, ', '.join(map(' '.join, others))]))
    return '\n\n'.join(['## Where others are ahead', wrapped(page['ahead']), '\n'.join(rows)])


def page_text(page):
    usually = usual(page)
    parts = [f'# {page["title"]}', lead_text(page)]
    parts += [section_text(section, usually) for section in page['sections']]
    return '\n\n'.join(parts + [ahead_text(page)]) + '\n'


# ------------------------------------------------------------------------------------------------------------------ verbs

def text_of(file):
    """Nothing, where there is no such file."""
    path = CHECKOUT / file
    return path.read_text('utf-8') if path.exists() else ''


def results_of(section):
    """The figures as results of replays, which `streampool plot` draws."""
    device = f'{section["where"]["device"]}, {section["where"]["date"]}'
    columns = [(i, column['name']) for i, column in enumerate(figures.kept(section)) if column['is'] != 'fact']
    for row in section['rows']:
        for i, name in columns:
            cell = row['cells'][i]
            if figures.median(cell) is not None:
                median, least, most = cell if isinstance(cell, list) else [cell] * 3
                yield {'device': device, 'trace': row['name'], 'allocator': name, 'pass': 1,
                       'ratio': {'median': median, 'least': least, 'most': most}}


def plot_of(section, program):
    with tempfile.TemporaryDirectory() as folder:
        results_file = pathlib.Path(folder, 'results.json')
        results_file.write_text(json.dumps(list(results_of(section))), 'utf-8')
        subprocess.run([program, 'plot', '--output', folder, results_file], check=True, stdout=subprocess.DEVNULL)
        return pathlib.Path(folder, 'memory.svg').read_text('utf-8')


def files_of(page, program):
    """What is made of the figures: the text of each file."""
    page = figures.measured(page)
    sections = [section for section in page['sections'] if 'plot' in section and os.path.exists(program)]
    return {PAGE: page_text(page), **{f'docs/{section["plot"]["file"]}': plot_of(section, program) for section in sections}}


def write_page(page, program):
    for file, text in files_of(page, program).items():
        (CHECKOUT / file).write_text(text, 'utf-8')


def check(program):
    page = figures.read(CHECKOUT / FIGURES)
    found = claims.complaints(text_of(README), figures.measured(page))
    found += [f'{file} is not what {FIGURES} makes: python3 bench/page/page.py page'
              for file, text in files_of(page, program).items() if text_of(file) != text]
    print('\n'.join(found) or f'{PAGE} is what {FIGURES} makes, and the figures of {README} are among them')
    return bool(found)


def take(given):
    named = {key: getattr(given, key) for key in ('driver', 'cuda', 'date', 'others') if getattr(given, key)}
    page, told = results.take(figures.read(CHECKOUT / FIGURES), [results.Results(path) for path in given.results], named, given.gaps)
    figures.write(CHECKOUT / FIGURES, page)
    write_page(page, given.program)
    print('\n'.join(told) or 'no section has anything of these results')
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--program', default=CHECKOUT / 'build/release/bin/streampool')
    verbs = parser.add_subparsers(dest='verb', required=True)
    verbs.add_parser('page')
    verbs.add_parser('check')
    takes = verbs.add_parser('take')
    for option in 'driver', 'cuda', 'date', 'others':
        takes.add_argument(f'--{option}')
    takes.add_argument('--gaps', action='store_true')
    takes.add_argument('results', nargs='+')
    given = parser.parse_args()
    if given.verb == 'take':
        return take(given)
    if given.verb == 'check':
        return check(given.program)
    return write_page(figures.read(CHECKOUT / FIGURES), given.program)


if __name__ == '__main__':
    try:
        sys.exit(int(main() or 0))
    except figures.Wrong as wrong:
        sys.exit(str(wrong))
