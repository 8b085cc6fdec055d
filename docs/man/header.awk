# header.awk -v part=about|calls|attributes|statistics|errors|brief: what a public header says, for libstreampool(3).
#
#   about        the paragraphs of the comment that opens the file
#   calls        the calls in the groups of their rulers, each with the first sentence of its comment
#   attributes   the attributes of streampool.h by number, each with its comment
#   statistics   the rows of the lists of statistics.h
#   errors       the rows of STREAMPOOL_ERRORS of lists.h
#   brief        the first sentence of the comment that opens the file

function first_sentence(text) {
    if (match(text, /[.] ([^a-z]|docs\/|pool[A-Z]|streampool)/))
        text = substr(text, 1, RSTART)
    sub(/:$/, ".", text)
    return text
}

# The lines of a paragraph are one.
function put_comment(   i, text) {
    for (i = 1; i <= lines + 1; i++) {
        if (text != "" && (i > lines || comment[i] == "" || comment[i] ~ /^- /)) {
            if (sub(/^- /, "", text)) {
                print ".IP \\(bu 2"
                put(marked(text))
            } else
                put_paragraph(marked(text))
            text = ""
        }
        if (i <= lines && comment[i] != "") {
            if (text != "")
                sub(/^ +/, "", comment[i])
            text = text (text == "" ? "" : " ") comment[i]
        }
    }
}

function joined(   i, text) {
    for (i = 1; i <= lines && comment[i] != ""; i++)
        text = text (i > 1 ? " " : "") comment[i]
    return text
}

function put_group() {
    if (group == "")
        return
    print ".SS " literal(capital(group))
    if (description != "")
        put(marked(description))
    group = ""
}

function put_call(declaration,   summary) {
    sub(/^STREAMPOOL_API /, "", declaration)
    gsub(/  +/, " ", declaration)
    if (declaration ~ /_ptsz[(]/)
        return
    put_tag("\\fB" literal(declaration) "\\fR")
    put(marked(first_sentence(joined())))
}

# X(name, number, "text" "text") \
function put_row(row,   name, number, text) {
    sub(/^ *X[(]/, "", row)
    sub(/[)] *\\?$/, "", row)
    name = number = row
    sub(/,.*/, "", name)
    sub(/^[^,]*, */, "", number)
    sub(/,.*/, "", number)
    text = row
    sub(/^[^"]*"/, "", text)
    sub(/"$/, "", text)
    gsub(/" *"/, "", text)
    put_tag(".BR " name " \" (" number ")\"")
    put(prose(capital(text)) ".")
}

/^ *\/\/\/( |$)/ {
    text = $0
    sub(/^ *\/\/\/ ?/, "", text)
    if (text != "@file")
        comment[++lines] = text
    next
}

# The comment that opens the file ends at its guard.
/^#ifndef STREAMPOOL_/ {
    if (part == "about")
        put_comment()
    if (part == "brief")
        put(marked(first_sentence(joined())))
    if (part == "about" || part == "brief")
        exit
}

part == "calls" && /^\/\/ -+ / {
    group = $0
    sub(/^\/\/ -+ /, "", group)
    description = ""
    is_described = 0
}
part == "calls" && group != "" && /^\/\/ [^-]/ && !is_described { description = description (description == "" ? "" : " ") substr($0, 4) }
part == "calls" && /^$/ && description != "" { is_described = 1 }
part == "calls" && /^STREAMPOOL_API / {
    put_group()
    declaration = ""
}
part == "calls" && (/^STREAMPOOL_API / || declaration ~ /[^;]$/) {
    declaration = declaration $0
    if (/;$/) {
        put_call(declaration)
        declaration = ";"
    } else {
        declaration = declaration " "
        next
    }
}

part == "attributes" && /^enum poolMemPoolAttr / { in_attributes = 1 }
in_attributes && /^    poolMemPool.* = [0-9]+,?$/ && !/poolMemPoolStat/ {
    sub(/,$/, "")
    put_tag(".BR " $1 " \" (" $3 ")\"")
    put(marked(joined()))
}
/^}/ { in_attributes = 0 }

/^#define/ { list = $2 }
/^    X[(]/ { row = "" }
part == "statistics" && list ~ /^STREAMPOOL_POOL_(STATISTICS|GAUGES)/ || part == "errors" && list ~ /^STREAMPOOL_ERRORS/ {
    row = row $0
    if (/[)]( \\)?$/ && row ~ /^    X[(]/) {
        put_row(row)
        row = ""
    } else
        sub(/\\$/, "", row)
}

{ lines = 0 }
