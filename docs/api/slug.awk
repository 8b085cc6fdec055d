# slug.awk: how a heading stands in a link. The other scripts here are run behind it.
# GitHub makes the same of a heading.
function slug(title) {
    title = tolower(title)
    gsub(/[^a-z0-9 -]/, "", title)
    gsub(/ /, "-", title)
    return title
}
