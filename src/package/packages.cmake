# Packages, by CPack: `cpack -G TGZ` makes one archive of all that is installed, a tree that can be moved; `cpack -G DEB`
# makes three Debian packages, one for each component. make.sh makes those that are handed to others, and debian.cmake and
# archive.cmake say how they are built.
set(CPACK_PACKAGE_NAME streampool)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_SYSTEM_NAME "linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# LICENSE names the copyright holders, so they are the maintainer. A Debian package must have the maintainer's address, and
# the project has none: the domain "invalid" is set aside for addresses that lead nowhere (RFC 2606). SECURITY.md says
# where to report a vulnerability. The project has no home page, so the packages name none.
file(STRINGS "${PROJECT_SOURCE_DIR}/LICENSE" copyright REGEX "^Copyright ")
string(REGEX REPLACE "^Copyright \\(c\\) [0-9-]+ +" "" holders "${copyright}")
set(CPACK_PACKAGE_VENDOR "${holders}")
set(CPACK_PACKAGE_CONTACT "${holders} <noreply@streampool.invalid>")

# These run before CPack installs, before it packs what is installed, and behind that, with the variables below.
set(CPACK_PROJECT_CONFIG_FILE "${CMAKE_CURRENT_SOURCE_DIR}/check.cmake")
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_SOURCE_DIR}/stage.cmake")
set(CPACK_POST_BUILD_SCRIPTS "${CMAKE_CURRENT_SOURCE_DIR}/repack.cmake")
get_target_property(CPACK_STREAMPOOL_LIBRARY_TYPE streampool TYPE)
set(CPACK_STREAMPOOL_SOURCE_DIR "${PROJECT_SOURCE_DIR}")
set(CPACK_STREAMPOOL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_STREAMPOOL_DOCDIR "${CMAKE_INSTALL_DOCDIR}")
set(CPACK_STREAMPOOL_CLI "${STREAMPOOL_CLI}")

# The Debian packages. Their version has no revision, so it is lower than that of a package that Debian itself makes of these
# sources. They have no static library: each program or plugin with a copy of its own would keep pools of its own, and
# free memory in each of them.
set(soversion "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(library_package "libstreampool${soversion}")
set(library_of_this_version "${library_package} (= ${PROJECT_VERSION})")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SOURCE streampool)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# dpkg-shlibdeps says which libraries each needs. The program needs our own, too, which is no package's yet.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# One package: the component that it holds, its name and section, what it is in a few words, and what it has.
set(CPACK_COMPONENTS_ALL "")
macro(sp_add_debian_package component package section synopsis contents)
    list(APPEND CPACK_COMPONENTS_ALL ${component})
    string(TOUPPER ${component} upper)
    set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
    set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
    set(CPACK_DEBIAN_${upper}_DESCRIPTION "${synopsis}
Pools of GPU memory whose allocations and frees are ordered with the work of
a CUDA stream, as with cudaMallocAsync. They hold less memory than CUDA's own
pool, and say by which rule each allocation got its memory. They need a
driver for CUDA 10.2 or newer, and nothing else of CUDA.

${contents}")
endmacro()

sp_add_debian_package(library ${library_package} libs "Stream-ordered memory pools for CUDA programs"
"This package has the libraries that programs need at run time.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS streampool)

sp_add_debian_package(development libstreampool-dev libdevel
"Stream-ordered memory pools for CUDA programs (development files)"
"This package has the headers for C and C++, the files for CMake and for
pkg-config, and what developers read.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library_of_this_version}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS streampool)

sp_add_debian_package(tools streampool utils "Program that replays allocations with stream-ordered memory pools"
"This package has the program streampool, which replays recorded allocations
and shows what a pool does with them, and a simulated driver, with which the
program and others run where there is no GPU.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${library_of_this_version}")
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS python3)  # for `streampool import`

# The library's package says what a program that is linked with it depends on. Who installs or removes a library has the
# dynamic linker's cache made anew.
set(control "${CMAKE_CURRENT_BINARY_DIR}/control")
file(WRITE "${control}/shlibs"
    "libstreampool ${soversion} ${library_package} (>= ${PROJECT_VERSION})\n"
    "libstreampool_copy ${soversion} ${library_package} (>= ${PROJECT_VERSION})\n"
    "libstreampool_mam ${soversion} ${library_package} (>= ${PROJECT_VERSION})\n"
    "libstreampool_observe ${soversion} ${library_package} (>= ${PROJECT_VERSION})\n"
    "libstreampool_swap ${soversion} ${library_package} (>= ${PROJECT_VERSION})\n")
file(WRITE "${control}/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${control}/shlibs" "${control}/triggers")
set(CPACK_DEBIAN_TOOLS_PACKAGE_CONTROL_EXTRA "${control}/triggers")

include(CPack)
