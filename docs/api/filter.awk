# filter.awk: turns the comments of a public header into what Doxygen makes pages of. Doxygen runs it on each header.
#
# The headers are written for people who read them as they are. What they have by their layout becomes a command here:
#
#   // ------- errors           the calls up to the next ruler are a group of this title; // lines behind it describe it
#   /// - poolErrorX: when      a row of the table of errors
#   /// - Errors are ...        a sentence about errors; in C++ "- Throws ..."
#   Returns ...                 a sentence of this beginning tells what a call returns; "Errors: ..." does in simcuda.h
#   (cudaX)                     the call of CUDA that this one goes by
#   docs/NAME.md, "Section"     a link to the section; the name of a call or an enumerator is a link too
#   name_ptsz                   has the parameters and errors of name
#   protected, private, detail  is left out
#
# Parameters are @param lines already. A call whose comment lacks something is a warning of Doxygen, which is an error.

FNR == 1 {
    simulated = FILENAME ~ /simcuda\.h$/
    cpp = FILENAME ~ /\.hpp$|overloads\.h$/
    parent = simulated ? "simcuda" : cpp ? "cpp" : "c"
    only_file = FILENAME ~ /cuda_compat\.h$/  # which says itself that the rest is no interface
}

# ------------------------------------------------------------------------------------------ groups

function capital(text) {
    return toupper(substr(text, 1, 1)) substr(text, 2)
}

function close_group() {
    if (in_group)
        print "/// @}"
    in_group = 0
}

# A group stays open until the next ruler, or what was opened before it ends.
function open_group(title,   id) {
    close_group()
    id = parent "_" tolower(title)
    gsub(/[^a-z_]+/, "_", id)
    print "/// @addtogroup " id " " capital(title)
    print "/// @ingroup " parent
    in_group = describing = 1
}

# ---------------------------------------------------------------------------------------- comments

function forget() {
    paragraphs = parameters = errors = sentences = 0
    lines = 0
}

# Reads the lines of a comment into paragraphs and, if it is that of a call, parameters, errors and sentences about errors. What
# a line goes on with is put behind it.
function sort_lines(is_call,   i, text, kind) {
    for (i = 1; i <= lines; i++) {
        text = line[i]
        if (text == "" || text ~ /^(    |[|])/) {
            paragraph[++paragraphs] = text
            kind = ""
        } else if (is_call && text ~ /^@param/) {
            parameter[++parameters] = text
            kind = "parameter"
        } else if (is_call && text ~ /^- poolError[A-Za-z]+: /) {
            error[++errors] = substr(text, 3)
            kind = "error"
        } else if (is_call && text ~ /^- (The other |Other )?[Ee]rrors |^- Throws /) {
            sentence[++sentences] = substr(text, 3)
            kind = "sentence"
        } else if (kind == "" || text ~ /^(- |@)/) {
            paragraph[++paragraphs] = text
            kind = text ~ /^@/ ? "" : "prose"
        } else {
            sub(/^ +/, "", text)
            if (kind == "parameter")
                parameter[parameters] = parameter[parameters] " " text
            else if (kind == "error")
                error[errors] = error[errors] " " text
            else if (kind == "sentence")
                sentence[sentences] = sentence[sentences] " " text
            else
                paragraph[paragraphs] = paragraph[paragraphs] " " text
        }
    }
}

# Takes what matches out of the paragraphs, and returns it.
function taken(pattern,   i, found) {
    for (i = 1; i <= paragraphs; i++)
        if (match(paragraph[i], pattern)) {
            found = substr(paragraph[i], RSTART, RLENGTH)
            paragraph[i] = substr(paragraph[i], 1, RSTART - 1) substr(paragraph[i], RSTART + RLENGTH)
            return found
        }
    return ""
}

# Returns the sentence that tells what is returned, without its verb.
function returned(   i, text) {
    for (i = 1; i <= paragraphs; i++)
        if (match(paragraph[i], /(^|[.] )Returns /)) {
            text = substr(paragraph[i], RSTART + RLENGTH)
            sub(/[.] [A-Z(].*/, ".", text)
            return capital(text)
        }
    return ""
}

function cuda_call(   found) {
    found = taken(" ?[(]cuda[A-Z][A-Za-z]+( with a pool)?[)]")
    if (found == "")
        found = taken(" ?[(]?CUDA has no such call[^.]*[.][)]?")
    gsub(/^ ?[(]|[)]$/, "", found)
    sub(/^ /, "", found)
    return found
}

# ------------------------------------------------------------------------------------------- links

# Each name of the library outside of code becomes a link. One that names nothing is a warning.
function link_names(text,   result, before, word, is_code) {
    while (match(text, /(pool|simcuda)[A-Z][A-Za-z_]*/)) {
        before = substr(text, 1, RSTART - 1)
        word = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        is_code = (is_code + gsub(/`/, "`", before)) % 2
        result = result before (is_code || before ~ /[A-Za-z_:@]$/ ? "" : "#") word
    }
    return result text
}

# docs/NAME.md, "Section" becomes a link to the section (see page.awk), docs/NAME.md one to the page.
function link_pages(text,   result, found, label, title) {
    while (match(text, /docs\/[a-z-]+[.]md(, "[^"]+")?/)) {
        found = substr(text, RSTART, RLENGTH)
        label = found
        sub(/^docs\//, "", label)
        sub(/[.]md.*/, "", label)
        title = ""
        if (index(found, "\"")) {
            title = found
            sub(/^[^"]*"/, "", title)
            sub(/"$/, "", title)
            label = label "_" slug(title)
            title = ", " title
        }
        sub(/,.*/, "", found)
        result = result substr(text, 1, RSTART - 1) "@ref " label " \"" found title "\""
        text = substr(text, RSTART + RLENGTH)
    }
    return result text
}

function linked(text) {
    return text ~ /^    / ? text : link_pages(link_names(text))
}

# ------------------------------------------------------------------------------------------- pages

function put(text) {
    return indent "/// " linked(text) "\n"
}

function row_of_error(text,   at) {
    at = index(text, ": ")
    return indent "/// @retval " substr(text, 1, at - 1) " " linked(capital(substr(text, at + 2))) "\n"
}

# Returns the comment's part that a call with another name may have too.
function arguments_and_errors(declaration, value,   i, text) {
    for (i = 1; i <= parameters; i++)
        text = text put(parameter[i])
    for (i = 1; i <= errors; i++)
        text = text row_of_error(error[i])
    if (declaration ~ /poolError_t/ && sentences && value == "")
        value = sentence[sentences--]
    if (value != "")
        text = text put("@return " value)
    if (sentences)
        text = text put("@par Errors")
    for (i = 1; i <= sentences; i++)
        text = text put(sentence[i])
    return text
}

function name_of(declaration) {
    match(declaration, /[A-Za-z_]+[(]/)
    return substr(declaration, RSTART, RLENGTH - 1)
}

# The words in bold at the begin of a header's comment hold for every call: a link leads there from each.
function print_paragraphs(   i) {
    for (i = 1; i <= paragraphs; i++) {
        if (paragraph[i] ~ /^[*][*]/ && FILENAME ~ /(streampool|simcuda)[.]hp*$/ && !has_anchor++)
            printf "%s", put("@anchor " parent "_every_call")
        printf "%s", put(paragraph[i])
    }
}

function print_call(declaration,   cuda, value, name) {
    cuda = cuda_call()
    value = returned()
    if (simulated && value == "" && (value = taken("Errors: .*$")) != "")
        value = "0, or an error: " substr(value, 9)
    print_paragraphs()
    print indent "///"
    name = name_of(declaration)
    told[name] = arguments_and_errors(declaration, value)
    sub(/_ptsz$/, "", name)
    printf "%s", told[name]
    if (cuda != "")
        printf "%s%s", put("@par CUDA"),
            put(cuda ~ /^CUDA/ ? cuda : "Its call is " cuda ". The text says where this one differs.")
    printf "%s%s", put("@par See also"), put("@ref " parent "_every_call \"What holds for every call\"")
}

function print_comment(declaration,   is_call) {
    if (!lines)
        return
    is_told = 1
    is_call = line[1] != "@file" && declaration ~ /[A-Za-z_>=]\(/ &&
        declaration !~ /^ *(#|typedef|class|enum|struct|namespace)/
    sort_lines(is_call)
    if (is_call)
        print_call(declaration)
    else
        print_paragraphs()
    forget()
}

# ------------------------------------------------------------------------------------------- lines

# No program can use these.
/^  (protected|private):$/ || /^namespace detail {$/ {
    hidden = 1
    forget()
}
hidden {
    if (/^} \/\/ namespace detail$/) {
        hidden = 0
        next
    }
    if (!/^(};|  public:)$/)
        next
    hidden = 0
}

# The comment behind a ruler describes its group.
describing && /^\/\/ / {
    print "/// " substr($0, 4)
    described = 1
    next
}
describing && /^$/ && !described {
    print "///"
    next
}
describing {
    print "/// @{"
    print ""
    describing = described = 0
}

/^ *\/\/\/( |$)/ {
    text = $0
    sub(/\/\/\/.*/, "", text)
    indent = text
    text = $0
    sub(/^ *\/\/\/ ?/, "", text)
    line[++lines] = text
    next
}

/^\/\/ -+ / {
    title = $0
    sub(/^\/\/ -+ /, "", title)
    open_group(title)
    next
}

/^#ifdef __cplusplus|^} \/\/ namespace streampool$/ { close_group() }

# A macro with a value and no comment is no interface.
/^#define/ && NF > 2 && !lines && !is_told { next }
!/^#/ { is_told = 0 }

# A template's second line may be the one that tells what it is.
lines && /^ *template <[^()]*>$/ {
    held = $0
    next
}

{
    declaration = held " " $0
    print_comment(declaration)
    if (held != "")
        print held
    held = ""
    if (only_file)
        exit
    print
}

END { close_group() }
