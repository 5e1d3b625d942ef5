# colock.pc and colock-tls.pc, for those who build without CMake. A prefix has one kind of the library. What a static one
# is made of has to be linked with it in any case, so that stands among what is public there.
if(NOT EXISTS "${ZooKeeper_ST_LIBRARY}") # vcpkg's, which pkg-config does not know
    return()
endif()

set(pc_cflags "")
set(pc_zookeeper "-lzookeeper_st")
if(BUILD_SHARED_LIBS)
    list(APPEND pc_cflags -DCOLOCK_SHARED_LIBRARY)
endif()
foreach(definition IN LISTS COLOCK_ASIO_DEFINITIONS)
    list(APPEND pc_cflags "-D${definition}")
endforeach()
# What the compiler does not find by itself.
foreach(directory IN LISTS Boost_INCLUDE_DIRS)
    if(NOT directory IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
        list(APPEND pc_cflags "-I${directory}")
    endif()
endforeach()
get_filename_component(directory "${ZooKeeper_ST_LIBRARY}" DIRECTORY)
if(NOT directory IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    string(PREPEND pc_zookeeper "-L${directory} ")
endif()
list(JOIN pc_cflags " " pc_cflags)

if(COLOCK_SASL AND sasl_library STREQUAL "sasl2")
    string(APPEND pc_zookeeper " -lsasl2")
elseif(COLOCK_SASL)
    string(APPEND pc_zookeeper " -L${sasl_directory} -lsasl2")
endif()

set(pc_openssl "")
if(COLOCK_TLS)
    set(pc_openssl "openssl >= 3.0")
endif()
if(BUILD_SHARED_LIBS)
    set(pc_link "Requires.private: ${pc_openssl}\n"
                "Libs: -L\${libdir} -lcolock -pthread\n"
                "Libs.private: ${pc_zookeeper}")
else()
    set(pc_link "Requires: ${pc_openssl}\n"
                "Libs: -L\${libdir} -lcolock ${pc_zookeeper} -pthread")
endif()
list(JOIN pc_link "" pc_link)

# Found from where the file is, so that a prefix may be moved.
set(pc_dir "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH pc_prefix "${pc_dir}" "${CMAKE_INSTALL_PREFIX}")
file(RELATIVE_PATH pc_libdir "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_LIBDIR}")
file(RELATIVE_PATH pc_includedir "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
set(files colock.pc)
if(COLOCK_TLS)
    list(APPEND files colock-tls.pc)
endif()
foreach(file IN LISTS files)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/${file}.in" "${PROJECT_BINARY_DIR}/${file}" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${file}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
