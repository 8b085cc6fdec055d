# markdown.awk -v part=text|section|table|examples: what a page of docs/ says, for a man page.
#
#   -v section=TITLE part=text     the paragraphs of the section
#   -v section=TITLE part=section  its paragraphs and tables
#   -v section=TITLE part=table    its first table
#   -v command=NAME part=examples  each line of shell code that runs this command and tells why
#   part=code                      the first C code
#   part=options                   the table that "streampool options --markdown" prints; with -v variable=NAME its row for this one
#
# A row of a table is an entry of a list, under its first cell. Where there are more than two columns, the other cells have their
# columns' names before them. A column "commands" says for whom a row is: with -v command=NAME, only the rows of this command and of
# all commands are left, and a row of the others if none with the same first cell is its own; without, it stands beside the first cell.

/^```/ {
    in_code = !in_code
    if (!in_code && is_wanted)
        exit
    is_wanted = part == "code" && in_code && /^```c$/
    next
}
# A comment behind code that is too wide for a page stands before it.
is_wanted && length($0) > 72 && match($0, / +\/\/ /) {
    code = substr($0, 1, RSTART - 1)
    why = substr($0, RSTART)
    sub(/^ +/, "", why)
    match(code, /^ */)
    print literal(substr(code, 1, RLENGTH) why)
    print literal(code)
    next
}
is_wanted {
    print literal($0)
    next
}
in_code && part == "examples" && index($0, "streampool " command " ") == 1 && match($0, / +# /) {
    why = substr($0, RSTART + RLENGTH)
    line = substr($0, 1, RSTART - 1)
    if (seen[line]++)
        next
    put_paragraph(prose(capital(why)) ":")
    print ".PP"
    print ".nf"
    print ".RS"
    print literal(line)
    print ".RE"
    print ".fi"
}
in_code { next }

part == "options" && /^[|] `/ {
    gsub(/^[|] `| [|]$/, "")
    n = split($0, column, /`? [|] /)
    if (n == 4 && (variable == "" || variable == column[1])) {
        put_tag(".BR " column[1] " \" (" column[2] (column[3] == "not set" ? "" : ", default " column[3]) ")\"")
        put(prose(capital(column[4])) ".")
    }
    next
}

# The cells of a row, from 1 on. Returns how many there are.
function split_row(row, cells) {
    gsub(/^[|] | [|]$/, "", row)
    return split(row, cells, / [|] /)
}

function is_for_command(commands, tag) {
    if (command == "" || commands == "all")
        return 1
    if (commands == "others")
        return !(tag in has_own_row)
    if (!index(commands, "`" command "`"))
        return 0
    has_own_row[tag] = 1
    return 1
}

function put_row(row,   cells, n, i, tag, text) {
    n = split_row(row, cells)
    tag = cells[1]
    for (i = 2; i <= n; i++) {
        if (heading[i] == "commands") {
            if (!is_for_command(cells[i], cells[1]))
                return
            tag = tag (command == "" ? " (" cells[i] ")" : "")
        } else
            text = text (text == "" ? "" : " ") (n > 2 && heading[i] != "meaning" ? capital(heading[i]) ": " cells[i] : capital(cells[i])) "."
    }
    put_tag(".B " marked(tag))
    put(marked(text))
}

function end_of_paragraph() {
    if (text != "")
        put_paragraph(marked(text))
    text = ""
}

/^#+ / {
    end_of_paragraph()
    title = $0
    sub(/^#+ /, "", title)
    in_section = title == section
    next
}
!in_section { next }
/^[|]/ {
    is_row = 1
    rows++
    if (rows == 1)
        split_row($0, heading)
    else if (rows > 2 && (part == "section" || part == "table"))
        put_row($0)
    next
}
is_row {
    is_row = rows = 0
    if (part == "table")
        exit
}
part == "table" { next }
$0 == "" {
    end_of_paragraph()
    next
}
{ text = text (text == "" ? "" : " ") $0 }
END { if (part == "text" || part == "section") end_of_paragraph() }
