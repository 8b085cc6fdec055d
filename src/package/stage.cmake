# Run by CPack between installing and packing, once for each kind of package: what a package has beside what
# `cmake --install` installs, in the folder that CPack packs.
cmake_minimum_required(VERSION 3.22)

include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

# Debian's form of a copyright file (https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/), from LICENSE.
function(write_copyright file)
    file(READ "${CPACK_STREAMPOOL_SOURCE_DIR}/LICENSE" text)
    if(NOT text MATCHES "^MIT License\n\nCopyright \\(c\\) ([^\n]+)\n\n(.*)$")
        message(FATAL_ERROR "LICENSE isn't the MIT licence with one line of copyright: stage.cmake must learn its form")
    endif()
    set(holders "${CMAKE_MATCH_1}")
    string(STRIP "${CMAKE_MATCH_2}" licence)
    string(REGEX REPLACE "\n\n" "\n.\n" licence "${licence}")
    string(REGEX REPLACE "\n" "\n " licence "${licence}")
    file(WRITE "${file}"
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        "Upstream-Name: streampool\n\n"
        "Files: *\n"
        "Copyright: ${holders}\n"
        "License: Expat\n ${licence}\n")
endfunction()

# Manual pages are compressed in Debian, and links lead to the compressed ones.
function(compress_manuals folder)
    file(GLOB_RECURSE pages "${folder}/usr/share/man/*")
    foreach(page IN LISTS pages)
        if(IS_SYMLINK "${page}")
            file(READ_SYMLINK "${page}" target)
            file(CREATE_LINK "${target}.gz" "${page}.gz" SYMBOLIC)
            file(REMOVE "${page}")
        else()
            run(gzip -9n "${page}")
        endif()
    endforeach()
endfunction()

function(stage_debian folder package)
    set(docs "${folder}/usr/share/doc/${package}")
    file(MAKE_DIRECTORY "${docs}")
    write_copyright("${docs}/copyright")
    run(bash "${CPACK_STREAMPOOL_SOURCE_DIR}/src/package/changelog.sh" "${CPACK_STREAMPOOL_SOURCE_DIR}/CHANGELOG.md"
        "${CPACK_PACKAGE_VERSION}" "${CPACK_PACKAGE_CONTACT}")
    file(WRITE "${docs}/changelog" "${OUTPUT}")
    run(gzip -9n "${docs}/changelog")
    compress_manuals("${folder}")
    set(overrides "${CPACK_STREAMPOOL_SOURCE_DIR}/src/package/${package}.lintian-overrides")
    if(EXISTS "${overrides}")
        file(MAKE_DIRECTORY "${folder}/usr/share/lintian/overrides")
        configure_file("${overrides}" "${folder}/usr/share/lintian/overrides/${package}" COPYONLY)
    endif()
endfunction()

if(CPACK_GENERATOR STREQUAL "DEB")
    foreach(component IN LISTS CPACK_COMPONENTS_ALL)
        string(TOUPPER "${component}" upper)
        stage_debian("${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}" "${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
    endforeach()
elseif(CPACK_STREAMPOOL_NOTICES)
    # The licences of libraries that are linked into the program.
    file(GLOB notices "${CPACK_STREAMPOOL_NOTICES}/*")
    file(COPY ${notices} DESTINATION "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${CPACK_STREAMPOOL_DOCDIR}/licences")
endif()
