# Run by CPack before it installs, once for each kind of package: a build that can't give the package that is asked for
# ends here.
function(refuse reason)
    message(FATAL_ERROR "${CPACK_GENERATOR} package of streampool: ${reason}")
endfunction()

if(CPACK_GENERATOR STREQUAL "DEB")
    set(CPACK_SET_DESTDIR ON)  # the install rules see /usr, and not the folder that CPack packs
    unset(CPACK_PACKAGE_DESCRIPTION_SUMMARY)  # CPack would put it before each package's own
    if(NOT CPACK_STREAMPOOL_PREFIX STREQUAL "/usr")
        refuse("the build is configured for ${CPACK_STREAMPOOL_PREFIX}, and Debian packages need /usr. \
Configure it with: cmake -C ${CPACK_STREAMPOOL_SOURCE_DIR}/src/package/debian.cmake")
    endif()
    if(NOT CPACK_STREAMPOOL_LIBRARY_TYPE STREQUAL "SHARED_LIBRARY")
        refuse("the build has a static library, and ${CPACK_DEBIAN_LIBRARY_PACKAGE_NAME} holds the shared one. \
Configure it with BUILD_SHARED_LIBS=ON.")
    endif()
endif()
if(NOT CPACK_STREAMPOOL_CLI)
    refuse("the build has no program. Configure it with STREAMPOOL_CLI=ON.")
endif()
