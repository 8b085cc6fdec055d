"""What the tests have run, from what gcov counted: called by coverage.sh.

coverage.py BUILD SOURCE FOLDER...

Prints lines and branches by folder of SOURCE/src, and for the folders that are named each file's lines that no test has
run, and its lines with a branch that no test has taken. A line that several objects have counts once; so does a branch.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict


def counted(build):
    for folder, _, names in os.walk(build):
        for name in names:
            if name.endswith(".gcda"):
                yield os.path.join(folder, name)


def reports(paths):
    """gcov's reports, a JSON text to a line."""
    paths = list(paths)
    for first in range(0, len(paths), 200):
        command = ["gcov", "--json-format", "--stdout", "--branch-probabilities"] + paths[first : first + 200]
        output = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        for line in output.splitlines():
            if line:
                yield json.loads(line)


class File:
    def __init__(self):
        self.lines = defaultdict(int)  # number: how often it ran
        self.branches = defaultdict(int)  # (number, how many the line has, which): how often it was taken

    def add(self, line):
        number = line["line_number"]
        self.lines[number] += line["count"]
        branches = line["branches"]
        for i, branch in enumerate(branches):
            self.branches[number, len(branches), i] += branch["count"]

    def missed_lines(self):
        return sorted(number for number, count in self.lines.items() if count == 0)

    def missed_branches(self):
        """Lines that ran and have a branch that wasn't taken."""
        return sorted({key[0] for key, count in self.branches.items() if count == 0 and self.lines[key[0]] > 0})


def read(build, source):
    files = defaultdict(File)
    root = os.path.join(os.path.realpath(source), "src") + os.sep
    for report in reports(counted(build)):
        for file in report["files"]:
            path = os.path.realpath(os.path.join(report["current_working_directory"], file["file"]))
            if path.startswith(root):
                for line in file["lines"]:
                    files[path[len(root) :].removeprefix("library" + os.sep)].add(line)
    return files


def ranges(numbers):
    text, last = [], None
    for number in numbers:
        if last is not None and number == last + 1:
            text[-1][1] = number
        else:
            text.append([number, number])
        last = number
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in text)


def share(counts):
    counts = list(counts)
    run = sum(1 for count in counts if count > 0)
    return f"{run:6} of {len(counts):6} {100 * run / len(counts) if counts else 100:6.1f} %"


def print_folders(files):
    print(f"{'folder':10} {'lines':>25} {'branches':>25}")
    for folder in sorted({path.split(os.sep)[0] for path in files}):
        own = [file for path, file in files.items() if path.split(os.sep)[0] == folder]
        lines = share(count for file in own for count in file.lines.values())
        branches = share(count for file in own for count in file.branches.values())
        print(f"{folder:10} {lines:>25} {branches:>25}")


def print_missed(files, folders):
    for path in sorted(files):
        lines, branches = files[path].missed_lines(), files[path].missed_branches()
        if path.split(os.sep)[0] not in folders or not (lines or branches):
            continue
        print(f"\n{path}")
        if lines:
            print(f"    not run: {ranges(lines)}")
        if branches:
            print(f"    a branch not taken: {ranges(branches)}")


def main():
    build, source, folders = sys.argv[1], sys.argv[2], sys.argv[3:]
    files = read(build, source)
    if not files:
        sys.exit(f"nothing was counted under {build}")
    print_folders(files)
    print_missed(files, folders)


main()
