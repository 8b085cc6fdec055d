# markdown.awk -v part=table|text|examples: what a page of docs/ says, for a man page.
#
#   -v section=TITLE part=table    the first table of the section, as a list of tags; its first row is no content
#   -v section=TITLE part=text     the paragraphs of the section
#   -v command=NAME part=examples  each line of shell code that runs this command and tells why
#   part=code                      the first C code
#   part=options                   the table that "streampool options --markdown" prints; with -v variable=NAME its row for this one

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

/^#+ / {
    title = $0
    sub(/^#+ /, "", title)
    in_section = title == section
    rows = 0
    next
}
!in_section { next }
part == "table" && /^\|/ {
    if (++rows < 3)
        next
    gsub(/^\| | \|$/, "")
    at = index($0, " | ")
    put_tag(".B " marked(substr($0, 1, at - 1)))
    put(marked(capital(substr($0, at + 3))) ".")
    next
}
part == "text" && !/^\|/ {
    if ($0 == "") {
        if (text != "") {
            put_paragraph(marked(text))
        }
        text = ""
    } else
        text = text (text == "" ? "" : " ") $0
}
