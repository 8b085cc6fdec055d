# The installed documentation: the pages that a user of the library or of the program reads, with their plots, and the
# examples. Pages for those who change the library stay in the source: CONTRIBUTING.md, docs/testing.md and docs/notes/.
set(development_pages
    README.md
    CHANGELOG.md
    docs/benchmarks.md
    docs/copies.md
    docs/cpp.md
    docs/defragmentation.md
    docs/design.md
    docs/heap.md
    docs/host-memory.md
    docs/install.md
    docs/mam.md
    docs/plain-memory.md
    docs/porting.md
    docs/promises.md
    docs/stream-order.md
    docs/swap.md)
set(tools_pages
    docs/dropin.md
    docs/environment.md
    docs/policies.md
    docs/program.md
    docs/replay.md
    docs/simulated.md)
set(folders plots examples)

set(pages ${development_pages} ${tools_pages})
set(made "${CMAKE_CURRENT_BINARY_DIR}/pages")
list(TRANSFORM pages PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE sources)
foreach(component IN ITEMS development tools)
    list(TRANSFORM ${component}_pages REPLACE "^.*/" "" OUTPUT_VARIABLE ${component}_made)
    list(TRANSFORM ${component}_made PREPEND "${made}/")
    install(FILES ${${component}_made} DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT ${component})
endforeach()
add_custom_command(OUTPUT ${development_made} ${tools_made}
    COMMAND "${CMAKE_COMMAND}" "-DCHECKOUT=${PROJECT_SOURCE_DIR}" "-DTO=${made}" "-DPAGES=${pages}"
        "-DFOLDERS=${folders}" -DFILES=LICENSE -P "${CMAKE_CURRENT_SOURCE_DIR}/pages.cmake"
    DEPENDS ${sources} "${CMAKE_CURRENT_SOURCE_DIR}/pages.cmake"
    VERBATIM)
add_custom_target(streampool_pages ALL DEPENDS ${development_made} ${tools_made})

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT development)
foreach(folder IN LISTS folders)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs/${folder}" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT development
        USE_SOURCE_PERMISSIONS)
endforeach()
