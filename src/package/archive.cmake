# How the archive is built: cmake -C src/package/archive.cmake ...
get_filename_component(checkout "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
set(CMAKE_INSTALL_PREFIX /usr/local CACHE PATH "The tree can be anywhere: nothing in it names this")
set(CMAKE_INSTALL_LIBDIR lib CACHE PATH "On every machine")
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "As the preset release")
set(CMAKE_C_FLAGS "-ffile-prefix-map=${checkout}=. -include ${CMAKE_CURRENT_LIST_DIR}/old_glibc.h" CACHE STRING
    "No path of this machine is in the archive, and no function is newer than need be")
set(BUILD_SHARED_LIBS ON CACHE BOOL "")
set(STREAMPOOL_CLI ON CACHE STRING "")
set(STREAMPOOL_HEAP OFF CACHE STRING "Machines that make packages have no nvcc")
set(STREAMPOOL_TESTS OFF CACHE STRING "")
set(STREAMPOOL_BENCH OFF CACHE STRING "")
