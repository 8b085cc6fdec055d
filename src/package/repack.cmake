# Run by CPack behind packing: packs once more, so that two runs give the same bytes. CPack writes the times of this run
# and the user of this machine into archives, and its folders have modes by the umask; dpkg-deb and tar can do without.
# The time is SOURCE_DATE_EPOCH, or now.
cmake_minimum_required(VERSION 3.22)

include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

string(TIMESTAMP time "%s" UTC)
set(ENV{SOURCE_DATE_EPOCH} "${time}")
set(folder "${CPACK_TEMPORARY_DIRECTORY}/repack")
foreach(package IN LISTS CPACK_PACKAGE_FILES)
    file(REMOVE_RECURSE "${folder}")
    if(package MATCHES "\\.deb$")
        run(dpkg-deb --raw-extract "${package}" "${folder}")
        file(REMOVE "${folder}/DEBIAN/postinst" "${folder}/DEBIAN/postrm")  # CPack's call of ldconfig: the trigger does that
        run(chmod -R u=rwX,go=rX "${folder}")
        run(find "${folder}" -newermt "@${time}" -exec touch --no-dereference "--date=@${time}" {} +)
        run(dpkg-deb --root-owner-group -Zxz --build "${folder}" "${package}")
    else()
        file(MAKE_DIRECTORY "${folder}")
        run(tar -xzf "${package}" -C "${folder}")
        file(GLOB top RELATIVE "${folder}" "${folder}/*")
        run(tar -C "${folder}" --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime=@${time}
            --use-compress-program "gzip -9n" -cf "${package}" ${top})
    endif()
endforeach()
