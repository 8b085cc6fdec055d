# page.awk: turns a page of docs/ into one of the API reference. Doxygen runs it on the pages that its settings name.
#
# Headings get names, page_heading, and links to pages of the reference lead there by these. A link to another file of the
# repository becomes its text. The line @example-of-readme becomes the first C code of README.md.

BEGIN {
    while ((getline setting < "docs/api/Doxyfile") > 0)
        while (match(setting, /docs\/[a-z-]+[.]md/)) {
            is_page[substr(setting, RSTART + 5, RLENGTH - 8)]
            setting = substr(setting, RSTART + RLENGTH)
        }
}

FNR == 1 {
    page = FILENAME
    sub(/.*\//, "", page)
    sub(/[.]md$/, "", page)
}

function linked(text,   result, label, target, anchor, file) {
    while (match(text, /\[[^]]*\]\([^)]*\)/)) {
        result = result substr(text, 1, RSTART - 1)
        label = substr(text, RSTART + 1, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)
        target = label
        sub(/\].*/, "", label)
        sub(/.*\(/, "", target)
        anchor = target
        sub(/#.*/, "", target)
        anchor = index(anchor, "#") ? substr(anchor, index(anchor, "#") + 1) : ""
        file = target
        sub(/[.]md$/, "", file)
        if (target ~ /^(https?:|@ref )/)
            result = result "[" label "](" target ")"
        else if (target == "" || file in is_page)
            result = result "@ref " (target == "" ? page : file) (anchor == "" ? "" : "_" anchor) " \"" label "\""
        else
            result = result label
    }
    return result text
}

/^@example-of-readme$/ {
    while ((getline code < "README.md") > 0 && code != "```c") {}
    do
        print code
    while ((getline code < "README.md") > 0 && code != "```")
    print "```"
    next
}
/^```/ {
    in_code = !in_code
    print
    next
}
in_code {
    print
    next
}
/^#+ / {
    title = $0
    sub(/^#+ /, "", title)
    print $0 " {#" ($0 ~ /^# / ? page : page "_" slug(title)) "}"
    next
}
{ print linked($0) }
