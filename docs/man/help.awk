# help.awk -v part=synopsis|description|commands|options|notes: a part of a page from the output of --help, which is the tables of argp in
# lines that are never broken (make.sh has it printed so).

# Words in capitals stand for something else: they are in italics.
function synopsis(text,   result) {
    while (match(text, /[A-Z][A-Z]+|[A-Z]$/)) {
        result = result literal(substr(text, 1, RSTART - 1)) "\\fI" substr(text, RSTART, RLENGTH) "\\fR"
        text = substr(text, RSTART + RLENGTH)
    }
    return result literal(text)
}

# "-a, --allocator=LIST": options in bold, their argument in italics.
function option(text,   i, n, words, result, at) {
    n = split(text, words, ", ")
    for (i = 1; i <= n; i++) {
        at = index(words[i], "=")
        if (at)
            words[i] = "\\fB" literal(substr(words[i], 1, at - 1)) "\\fR=\\fI" literal(substr(words[i], at + 1)) "\\fR"
        else
            words[i] = "\\fB" literal(words[i]) "\\fR"
        result = result (i > 1 ? ", " : "") words[i]
    }
    return result
}

# The texts of options are sentences without their last mark.
function put_row(name, text) {
    put_tag(name)
    put(prose(text) (text ~ /[.]$/ ? "" : "."))
}

/^Usage: / {
    if (part == "synopsis") {
        sub(/^Usage: /, "")
        n = index($0, "[OPTION...]")
        print ".B " literal(substr($0, 1, n - 2))
        put(synopsis(substr($0, n)))
    }
    state = "description"
    next
}
/^Mandatory or optional arguments/ {
    if (part == "options")
        put_paragraph(prose($0))
    state = "notes"
    next
}
/^$/ {
    if (state == "description")
        state = "options"
    next
}
/^ +-/ {
    state = "options"
    if (part != "options")
        next
    if (/-\?, --help/ && has_group)
        print ".SS In every command"
    name = $0
    sub(/^ +/, "", name)
    sub(/   +.*/, "", name)
    text = $0
    sub(/^ +[^ ]+(, [^ ]+)?  +/, "", text)
    put_row(option(name), text)
    next
}
state == "options" && /^ +[^ ]/ {
    if (part != (is_commands ? "commands" : "options"))
        next
    text = $0
    sub(/^ +[^ ]+ +/, "", text)
    put_row(is_commands ? ".BR " literal(program "-" $1) " (1)" : ".B " $1, is_commands ? capital(text) : text)
    next
}
state == "options" && /:$/ {
    is_commands = /^Commands/
    if (part == "options" && !is_commands) {
        sub(/:$/, "")
        print ".SS " literal($0)
        has_group = 1
    }
    next
}
state == part { put_paragraph(prose($0)) }
