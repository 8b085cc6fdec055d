# roff.awk: text as the sources of man pages have it. The other scripts here are run behind it.

# Code, in which each character stands for itself.
function literal(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/`/, "\\(ga", text)
    gsub(/'/, "\\(aq", text)
    gsub(/\^/, "\\(ha", text)
    gsub(/~/, "\\(ti", text)
    return text
}

# Words, in which only an option has minuses: else they are hyphens, and quotes are quotes.
function prose(text,   result, word) {
    gsub(/\\/, "\\e", text)
    gsub(/\^/, "\\(ha", text)
    gsub(/~/, "\\(ti", text)
    while (match(text, /(^|[ ('"|,=])-+[A-Za-z0-9'][A-Za-z0-9-]*/)) {
        word = substr(text, RSTART, RLENGTH)
        gsub(/-/, "\\-", word)
        result = result substr(text, 1, RSTART - 1) word
        text = substr(text, RSTART + RLENGTH)
    }
    return result text
}

# Replaces what stands between two marks by the same in another font: `code`, **strong**, *emphasis*.
function in_font(text, mark, font,   result, at, inside) {
    while ((at = index(text, mark)) > 0) {
        result = result substr(text, 1, at - 1)
        text = substr(text, at + length(mark))
        at = index(text, mark)
        if (!at || text ~ /^ /) {  # a mark behind nothing, or of a multiplication
            result = result mark
            continue
        }
        inside = substr(text, 1, at - 1)
        if (mark == "`")
            gsub(/-/, "\\-", inside)
        result = result "\\f" font inside "\\fR"
        text = substr(text, at + length(mark))
    }
    return result text
}

# Prose as Markdown has it.
function marked(text) {
    text = prose(text)
    while (match(text, /\]\([^)]*\)/)) {  # of a link the text is left
        text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
        sub(/\[/, "", text)
    }
    gsub(/\\\|/, "|", text)
    text = in_font(text, "`", "B")
    text = in_font(text, "**", "B")
    return in_font(text, "*", "I")
}

# Prints text as lines of at most 80 characters. A sentence begins a line, as roff would have it.
function put(text,   line, word, words, i, n) {
    n = split(text, words, " ")
    for (i = 1; i <= n; i++) {
        word = words[i]
        if (line == "")
            line = word
        else if (length(line) + length(word) > 78) {
            put_line(line)
            line = word
        } else
            line = line " " word
        if (word ~ /[.:?!][)"]?$/ && words[i + 1] ~ /^[A-Z`(\\]/) {
            put_line(line)
            line = ""
        }
    }
    if (line != "")
        put_line(line)
}

function put_paragraph(text) {
    print ".PP"
    put(text)
}

function put_line(line) {
    print (line ~ /^[.']/ ? "\\&" : "") line
}

# Begins a row of a list. The term comes with its font.
function put_tag(term) {
    print ".TP"
    print term
}

function capital(text) {
    return toupper(substr(text, 1, 1)) substr(text, 2)
}
