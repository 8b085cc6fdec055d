# sp_add_library_beside(NAME source...): a library streampool_NAME that stands on the public calls of the library alone, with
# the names that NAME.map exports. It asks the driver by the same code as the library and the program do.
function(sp_add_library_beside name)
    set(library streampool_${name})
    set(map "${CMAKE_CURRENT_SOURCE_DIR}/${name}.map")
    add_library(${library} ${ARGN})
    add_library(streampool::${name} ALIAS ${library})
    sp_configure_target(${library})
    target_link_libraries(${library} PUBLIC streampool PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    set_target_properties(${library} PROPERTIES
        VERSION ${PROJECT_VERSION}
        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
        INSTALL_RPATH "$ORIGIN"
        EXPORT_NAME ${name})
    get_target_property(type ${library} TYPE)
    if(type STREQUAL "SHARED_LIBRARY")
        # In a static library these are the library's own.
        target_sources(${library} PRIVATE $<TARGET_OBJECTS:streampool_driver>)
        # Its state stays what it is whoever loads it again, and threads may be inside of it after a dlclose.
        target_link_options(${library} PRIVATE "LINKER:--version-script=${map}" "LINKER:-z,nodelete")
        set_target_properties(${library} PROPERTIES LINK_DEPENDS "${map}")
        if(NOT STREAMPOOL_SANITIZE)  # clang links a sanitizer's runtime into programs only
            target_link_options(${library} PRIVATE "LINKER:-z,defs")
        endif()
    endif()
endfunction()
