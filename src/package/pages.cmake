# Writes the pages of the documentation as they are installed: in one folder, where docs/replay.md is replay.md. A link leads
# to where its file is there, and a link to a file that isn't installed becomes its text: that file is in the source alone.
# FOLDERS are the folders of docs/ that are installed beside the pages, FILES what else is.
#     cmake -DCHECKOUT=FOLDER -DTO=FOLDER "-DPAGES=README.md;docs/replay.md" "-DFOLDERS=plots" "-DFILES=LICENSE" -P pages.cmake
cmake_minimum_required(VERSION 3.22)

list(TRANSFORM PAGES REPLACE "^.*/" "" OUTPUT_VARIABLE names)
foreach(page IN LISTS PAGES)
    file(READ "${CHECKOUT}/${page}" text)
    string(REPLACE "](docs/" "](" text "${text}")
    foreach(file IN LISTS names FILES)
        string(REPLACE "](${file})" "](there:${file})" text "${text}")
        string(REPLACE "](${file}#" "](there:${file}#" text "${text}")
    endforeach()
    foreach(folder IN LISTS FOLDERS)
        string(REPLACE "](${folder}/" "](there:${folder}/" text "${text}")
    endforeach()
    set(path "[A-Za-z0-9_-]*[./][A-Za-z0-9_./-]*")
    string(REGEX REPLACE "\\[([^][]+)\\]\\(${path}(#[^()]*)?\\)" "\\1" text "${text}")
    string(REPLACE "](there:" "](" text "${text}")
    get_filename_component(name "${page}" NAME)
    file(WRITE "${TO}/${name}" "${text}")
endforeach()
