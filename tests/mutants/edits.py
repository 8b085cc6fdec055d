"""Edits of the sources that stand in text files, and survive a move: mutants in planted/, ablations in bench/ablations.

A file holds entries with blank lines between them, and lines of comment that begin with #:

    8 NoFence: a joined block keeps the fences of its first part only
    caught by: order_fence: a_row_of_that_test
    in src/library/heap/block.c: join_fences
    -    return unite(a, b);
    +    return a;

An entry has a number, a name and what it does; facts about it, each a word or two, a colon and a text; and edits. An
edit names a file of the checkout and a function in it, or no function where the text stands outside all functions. Its
old text (-) occurs there once, and the new text (+) takes its place. Spaces and line ends don't count where old text is
looked for, so code that is only moved or indented anew is found. A place may have several edits, one below the other, where
none but the last only takes away; each is about the file as it was.
"""

import pathlib
import re


class Wrong(Exception):
    """An entry that can't be read, or whose old text isn't there once."""


class Edit:
    def __init__(self, file, function):
        self.file, self.function, self.old, self.new = file, function, [], []


class Entry:
    def __init__(self, number, name, what):
        self.number, self.name, self.what, self.facts, self.edits = number, name, what, {}, []

    def files(self):
        return sorted({edit.file for edit in self.edits})


def read(path):
    """The entries of a file, in its order."""
    entries = []
    entry = None
    for at, line in enumerate(pathlib.Path(path).read_text('utf-8').split('\n'), 1):
        try:
            if not line:
                entry = None
            elif line[0] in '-+':
                _add_line(entry, line)
            elif line[0] == '#':
                continue
            elif entry is None:
                number, name, what = re.fullmatch(r'(\d+) (\w+): (.+)', line).groups()
                entry = Entry(int(number), name, what)
                entries.append(entry)
            elif line.startswith('in '):
                entry.edits.append(Edit(*re.fullmatch(r'in ([^:]+)(?:: (\w+))?', line).groups()))
            else:
                name, text = re.fullmatch(r'([a-z ]+): (.+)', line).groups()
                entry.facts[name] = text
        except (AttributeError, TypeError, IndexError) as error:
            raise Wrong(f'{path}:{at}: not an entry\'s line: {line}') from error
    for entry in entries:
        if not entry.edits or any(not edit.old for edit in entry.edits):
            raise Wrong(f'{path}: {entry.number} {entry.name} has an edit without old text')
    return entries


def _add_line(entry, line):
    last = entry.edits[-1]
    if line[0] == '-' and last.new:
        last = Edit(last.file, last.function)
        entry.edits.append(last)
    (last.old if line[0] == '-' else last.new).append(line[1:])


def write(entries):
    """The text that read() reads as these entries."""
    texts = []
    for entry in entries:
        lines = [f'{entry.number} {entry.name}: {entry.what}']
        lines += [f'{name}: {text}' for name, text in entry.facts.items()]
        last = None
        for edit in entry.edits:
            if not last or not last.new or (last.file, last.function) != (edit.file, edit.function):
                lines.append(f'in {edit.file}' + (f': {edit.function}' if edit.function else ''))
            last = edit
            lines += ['-' + line for line in edit.old] + ['+' + line for line in edit.new]
        texts.append('\n'.join(lines) + '\n')
    return '\n'.join(texts)


def functions(text):
    """Each function's name and where its definition begins and ends, as clang-format lays it out."""
    head, begin, at = None, 0, 0
    for line in text.splitlines(keepends=True):
        if head is None and re.match(r'[A-Za-z_]', line):
            head, begin = '', at
        at += len(line)
        if head is None:
            continue
        head += line
        is_closed = head.count('{') == head.count('}') and re.search(r'[;}] *(//.*)?$|^$', line.rstrip('\n'))
        if line.startswith('}') or is_closed:
            name = re.match(r'[^{;]*?\b([a-z]\w*)\([^;]*\{', head)
            if name:
                yield name[1], begin, at
            head = None


def _places(text, edit):
    """Where the old text stands: beginnings and ends."""
    tokens = re.findall(r'\w+|[^\w\s]', '\n'.join(edit.old))
    pattern = re.compile(r'(?<!\w)' * (tokens[0][0].isalnum()) + r'\s*'.join(map(re.escape, tokens)) + r'(?!\w)' * tokens[-1][-1].isalnum())
    ranges = [(0, len(text))]
    if edit.function:
        ranges = [(begin, end) for name, begin, end in functions(text) if name == edit.function]
    return [found.span() for begin, end in ranges for found in pattern.finditer(text, begin, end)]


def apply(entry, text_of):
    """The changed files, {name: text}. `text_of` gives a file's text as it is, or raises OSError."""
    texts, spans = {}, {}
    for edit in entry.edits:
        where = f'{entry.number} {entry.name}: {edit.file}' + (f', {edit.function}' if edit.function else '')
        try:
            text = texts.setdefault(edit.file, text_of(edit.file))
        except OSError as error:
            raise Wrong(f'{where}: no such file') from error
        places = _places(text, edit)
        if len(places) != 1:
            raise Wrong(f'{where}: the old text is there {len(places)} times and not once: {edit.old[0].strip()}')
        spans.setdefault(edit.file, []).append((*places[0], '\n'.join(edit.new).lstrip()))
    for file, edited in spans.items():
        behind = len(texts[file])
        for begin, end, new in sorted(edited, reverse=True):
            if end > behind:
                raise Wrong(f'{entry.number} {entry.name}: {file}: two edits of one text: {new}')
            texts[file] = texts[file][:begin] + new + texts[file][end:]
            behind = begin
    return texts
