"""Whether README.md's figures are those of docs/benchmarks/figures.json.

A claim is a row of a table, or a sentence, that links to a section of docs/benchmarks.md. A row that begins with a word and a
colon links where the text has that word as a link: so rows can be short. Where one row of a table links, all do.

  A row shows one row of the section. Under a heading that is a column there, each number is that column's; under another one it is
  a number of that row or of the names in the section (of rows, columns, the section itself).
  A sentence's numbers are any figures or names of the section.
  A number may have fewer digits than the figure, and a unit behind it must be the figure's.
  The section is there, and was measured where README says: README's first sentence with a date names the device and date of all
  claims that bear none; a claim of another date bears it.

What stands in code, in the address of a link or in a date isn't looked at, and "H200" is no number.
"""

import re

import figures

LINK = re.compile(r'\]\(docs/benchmarks\.md#([\w-]+)\)')
WORD_LINK = re.compile(r'\[(\w+)\]\(docs/benchmarks\.md#([\w-]+)\)')
NUMBER = re.compile(r'(?<![\w.,])(\d[\d,]*(?:\.\d+)?)(?!\w)\**(?: (B|[KMG]iB|[nµm]s)\b)?')
DATE = re.compile(r'\b\d{4}-\d\d-\d\d\b')
UNITS = ['B', 'KiB', 'MiB', 'GiB', 'ns', 'µs', 'ms']
OTHER_HEADINGS = ['where-others-are-ahead']  # of the page


class Claim:
    def __init__(self, text, sections, cells=None, heads=None):
        self.text = text
        self.cells = cells or [text]
        self.heads = heads or ['']
        self.sections = sections

    def numbers(self):
        """Each with the heading that it stands under, and its unit."""
        return [(head, text, unit) for head, cell in zip(self.heads, self.cells) for text, unit in NUMBER.findall(plain(cell))]


def plain(text):
    """Without code, addresses of links, and dates."""
    text = re.sub(r'`[^`]*`', ' ', text)
    return DATE.sub(' ', re.sub(r'\]\([^)]*\)', ' ', text))


def cells_of(row):
    return [cell.strip() for cell in row.strip().strip('|').split('|')]


def units(text):
    """Tables as lists of lines, and each paragraph or item of a list as one text."""
    text = re.sub(r'^```.*?^```$', '', text, flags=re.M | re.S)
    for part in re.split(r'\n\s*\n|\n(?=[-*] )|(?<=[^|\s])\n(?=\|)', text):
        lines = part.strip().split('\n')
        yield lines if lines[0].startswith('|') else ' '.join(map(str.strip, lines))


def sentences(text):
    return re.split(r'(?<=[.:!?]) (?=[A-Z*\[])', text)


def sections_of_row(row, by_word):
    word = cells_of(row)[0].partition(':')[0]
    return LINK.findall(row) or ([by_word[word]] if word in by_word else [])


def claims(text):
    by_word = dict(WORD_LINK.findall(text))
    for unit in units(text):
        if isinstance(unit, str):
            found = [Claim(sentence, LINK.findall(sentence)) for sentence in sentences(unit)]
        else:
            heads = cells_of(unit[0])
            found = [Claim(row, sections_of_row(row, by_word), cells_of(row), heads) for row in unit[2:]]
        if isinstance(unit, str) or not any(claim.sections for claim in found):
            found = [claim for claim in found if claim.sections]
        yield from found


def default_where(text):
    """The sentence that tells the device and date of all claims that bear no date. Empty: there is none."""
    for unit in units(text):
        for sentence in sentences(unit) if isinstance(unit, str) else []:
            if DATE.search(sentence):
                return sentence
    return ''


# ---------------------------------------------------------------------------------------------------------------- numbers

def value_of(text):
    return float(text.replace(',', ''))


def unit_of(section, row):
    """Of a row's figures: the section's, or what the row's name ends with. Empty: it isn't told."""
    return section.get('unit') or row[0].rpartition(', ')[2]


def is_figure(text, cell, decimals):
    """Whether the number is the cell's median, with as many digits as the page shows or fewer."""
    figure = figures.median(cell)
    if figure is None:
        return any(value_of(text) == value_of(one) for one, _ in NUMBER.findall(cell or ''))
    half = 0.5 * 10 ** -len(text.partition('.')[2])
    return abs(figures.rounded(figure, decimals) - value_of(text)) < half * 1.001


def is_name(text, unit, names):
    return any(value_of(text) == value_of(one) and unit in ('', ones) for name in names for one, ones in NUMBER.findall(name))


def fits(section, row, head, text, unit):
    """Whether a number under this heading is one of the row."""
    name, cells = row
    under = [i for i, column in enumerate(section['columns']) if column['name'] == head.strip('*')]
    digits = [figures.decimals(section, column) for column in section['columns']]
    if unit in ('', unit_of(section, row)) or unit_of(section, row) not in UNITS:
        if any(is_figure(text, cells[i], digits[i]) for i in under or range(len(cells))):
            return True
    names = [name, section['title']] + [one['name'] for one in section['columns']]
    return not under and is_name(text, unit, names)


def misfits(section, claim):
    """The numbers of a claim that don't belong there: of the row that has most of them, or of all rows."""
    rows = list(figures.table(section))
    if len(claim.cells) == 1:
        return [one[1] for one in claim.numbers() if not any(fits(section, row, *one) for row in rows)]
    return min(([one[1] for one in claim.numbers() if not fits(section, row, *one)] for row in rows), key=len)


# ------------------------------------------------------------------------------------------------------------- complaints

def where_complaints(section, claim, default):
    """What the claim says of where the section was measured, or README's first date for what bears none."""
    where, dates = section['where'], DATE.findall(claim.text)
    if len(dates) < len(claim.sections):
        dates += DATE.findall(default)
    if where['date'] not in dates:
        yield f'says {", ".join(dates) or "no date"}, and #{section["id"]} is of {where["date"]}'
    elif where['device'] not in claim.text + default:
        yield f'doesn\'t say that #{section["id"]} is of {where["device"]}'


def complaints_of(claim, sections, default):
    if not claim.sections:
        yield 'has a row that leads to no section, beside rows that do'
    for name in claim.sections:
        if name in OTHER_HEADINGS:
            continue
        if name not in sections:
            yield f'leads to #{name}, which is no section'
            continue
        if claim.numbers():
            yield from where_complaints(sections[name], claim, default)
    there = [sections[name] for name in claim.sections if name in sections]
    if there:
        wrong, section = min(((misfits(section, claim), section) for section in there), key=lambda one: len(one[0]))
        if wrong:
            yield f'has {", ".join(wrong)}, which #{section["id"]} hasn\'t there'


def complaints(text, page):
    sections = {section['id']: section for section in page['sections']}
    default = default_where(text)
    return [f'README.md {complaint}: {claim.text[:100]}' for claim in claims(text)
            for complaint in complaints_of(claim, sections, default)]
