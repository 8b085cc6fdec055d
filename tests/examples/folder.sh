#!/usr/bin/env bash
# folder.sh FOLDER: each example is a whole program of at most 60 lines, and README.md has a row for it and what it prints.
# README.md and CMakeLists.txt are about all examples, and may be longer.
set -euo pipefail
cd "$1"
most=60
failed=0

complain() {
    echo "$*"
    failed=1
}

for file in *.* */*.*; do
    case $file in README.md | CMakeLists.txt) continue ;; esac
    lines=$(wc -l < "$file")
    if [ "$lines" -gt "$most" ]; then complain "$file has $lines lines, $most are allowed"; fi
done
examples=$(find . -maxdepth 1 -name '*.c' -o -maxdepth 1 -name '*.cpp' -o -maxdepth 1 -name '*.cu' -o -maxdepth 1 -name '*.sh' \
    -o -maxdepth 1 -name '*.py')
for file in $examples; do
    file=${file#./}
    grep -q "^| \[$file\]($file) |" README.md || complain "$file has no row in README.md's table"
    grep -qx "### $file" README.md || complain "README.md doesn't show what $file prints"
    case $file in
        *.sh | *.py) ;;
        *) grep -qE "[( ]$file|${file%.c}[ )]" CMakeLists.txt || complain "CMakeLists.txt doesn't build $file" ;;
    esac
done
exit "$failed"
