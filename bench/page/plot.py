"""A section as an SVG: a group of bars for each row, a bar for each column but facts, and a line on it from the least to the most.

The section's "plot" names the file, and where a line goes across, "line".
"""

from html import escape

import figures

WIDTH, HEIGHT = 900, 400
LEFT, RIGHT, TOP, BOTTOM = 50, 10, 30, 70  # margins of the field
LETTER = 7  # the width of one, about
COLOURS = ['#0050c0', '#60a0f0', '#d03020', '#208040', '#806000', '#707070', '#8030a0', '#00909a']


def step_of(most):
    """The distance of the lines behind the bars: 1, 2 or 5 of a decimal, and at most eight of them."""
    return next(step * 10 ** power for power in range(-3, 12) for step in (1, 2, 5) if most / (step * 10 ** power) <= 8)


def text(x, y, words, anchor='middle'):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def line(x1, y1, x2, y2, colour):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


class Field:
    """Where values and rows lie in the picture."""

    def __init__(self, rows, bars):
        cells = [cell for row in rows for cell in row]
        self.most = max(max(cell) if isinstance(cell, list) else cell for cell in cells if figures.median(cell) is not None)
        self.group = (WIDTH - LEFT - RIGHT) / len(rows)
        self.bar = self.group * 0.85 / bars

    def y(self, value):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / self.most

    def x(self, row, bar):
        return LEFT + self.group * (row + 0.075) + self.bar * bar

    def scale(self):
        step, value = step_of(self.most), 0
        while value <= self.most:
            yield line(LEFT, self.y(value), WIDTH - RIGHT, self.y(value), '#dddddd')
            yield text(LEFT - 6, self.y(value) + 4, f'{value:g}', 'end')
            value += step

    def bar_of(self, cell, row, bar):
        x, y = self.x(row, bar), self.y(figures.median(cell))
        yield (f'<rect x="{x:.1f}" y="{y:.1f}" width="{self.bar * 0.92:.1f}" height="{self.y(0) - y:.1f}" '
               f'fill="{COLOURS[bar % len(COLOURS)]}"/>')
        if isinstance(cell, list):
            yield line(x + self.bar * 0.46, self.y(cell[1]), x + self.bar * 0.46, self.y(cell[2]), 'black')


def legend(names):
    x = LEFT
    for i, name in enumerate(names):
        yield f'<rect x="{x:.1f}" y="{HEIGHT - 24}" width="12" height="12" fill="{COLOURS[i % len(COLOURS)]}"/>'
        yield text(x + 17, HEIGHT - 14, name, 'start')
        x += 35 + LETTER * len(name)


def svg(section):
    columns = [i for i, column in enumerate(figures.kept(section)) if column['is'] != 'fact']
    rows = [[row['cells'][i] for i in columns] for row in section['rows']]
    field = Field(rows, len(columns))
    parts = [text(WIDTH / 2, 18, f'{section["title"]}, {section["where"]["device"]}, {section["where"]["date"]}'), *field.scale()]
    for i, (row, cells) in enumerate(zip(section['rows'], rows)):
        parts.append(text(field.x(i, len(columns) / 2), HEIGHT - BOTTOM + 18, row['name']))
        for bar, cell in enumerate(cells):
            if figures.median(cell) is not None:
                parts += field.bar_of(cell, i, bar)
    if 'line' in section['plot']:
        y = field.y(section['plot']['line'])
        parts.append(line(LEFT, y, WIDTH - RIGHT, y, 'black'))
    parts += legend([figures.kept(section)[i]['name'] for i in columns])
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'font-family="sans-serif" font-size="12">\n<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n' +
            '\n'.join(parts) + '\n</svg>\n')
