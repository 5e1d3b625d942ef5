#[=======================================================================[
Finds the single-threaded build of Apache ZooKeeper's C client
(Debian: libzookeeper-st-dev; vcpkg: zookeeper, without its feature "sync").

Target
  ZooKeeper::st              the library, with the directory of zookeeper/zookeeper.h

Results
  ZooKeeper_FOUND
  ZooKeeper_VERSION          such as 3.8.0

Hints: ZooKeeper_ROOT, CMAKE_PREFIX_PATH, or set the cache variables
  ZooKeeper_INCLUDE_DIR      the directory that contains zookeeper/zookeeper.h
  ZooKeeper_ST_LIBRARY       the library

The header declares the single-threaded interface only while THREADED is not defined.
#]=======================================================================]

find_path(ZooKeeper_INCLUDE_DIR zookeeper/zookeeper.h)
# vcpkg's has another name, is static, and tells by a package of its own what it is linked with.
find_package(unofficial-zookeeper CONFIG QUIET)
if(TARGET unofficial::zookeeper::zookeeper)
    get_target_property(_zookeeper_links unofficial::zookeeper::zookeeper INTERFACE_LINK_LIBRARIES)
    if(NOT _zookeeper_links MATCHES "Threads::Threads") # as the multi-threaded one has
        set(ZooKeeper_ST_LIBRARY unofficial::zookeeper::zookeeper)
    endif()
    unset(_zookeeper_links)
else()
    find_library(ZooKeeper_ST_LIBRARY zookeeper_st)
endif()
mark_as_advanced(ZooKeeper_INCLUDE_DIR ZooKeeper_ST_LIBRARY)

# Since 3.6 the version is a string, before that three numbers.
unset(ZooKeeper_VERSION)
set(_zookeeper_version_file "${ZooKeeper_INCLUDE_DIR}/zookeeper/zookeeper_version.h")
if(EXISTS "${_zookeeper_version_file}")
    file(STRINGS "${_zookeeper_version_file}" _zookeeper_lines REGEX "^#define ZOO_")
    if(_zookeeper_lines MATCHES "ZOO_VERSION \"([0-9.]+)")
        set(ZooKeeper_VERSION "${CMAKE_MATCH_1}")
    else()
        foreach(part IN ITEMS MAJOR MINOR PATCH)
            if(_zookeeper_lines MATCHES "ZOO_${part}_VERSION ([0-9]+)")
                list(APPEND ZooKeeper_VERSION "${CMAKE_MATCH_1}")
            endif()
        endforeach()
        list(JOIN ZooKeeper_VERSION "." ZooKeeper_VERSION)
    endif()
    unset(_zookeeper_lines)
endif()
unset(_zookeeper_version_file)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
    ZooKeeper
    REQUIRED_VARS ZooKeeper_ST_LIBRARY ZooKeeper_INCLUDE_DIR
    VERSION_VAR ZooKeeper_VERSION
    REASON_FAILURE_MESSAGE "the single-threaded C client is missing (Debian: libzookeeper-st-dev, vcpkg: zookeeper without sync)")

if(ZooKeeper_FOUND AND TARGET "${ZooKeeper_ST_LIBRARY}" AND NOT TARGET ZooKeeper::st)
    add_library(ZooKeeper::st INTERFACE IMPORTED)
    target_link_libraries(ZooKeeper::st INTERFACE "${ZooKeeper_ST_LIBRARY}")
    target_include_directories(ZooKeeper::st INTERFACE "${ZooKeeper_INCLUDE_DIR}")
elseif(ZooKeeper_FOUND AND NOT TARGET ZooKeeper::st)
    add_library(ZooKeeper::st UNKNOWN IMPORTED)
    set_target_properties(
        ZooKeeper::st PROPERTIES IMPORTED_LOCATION "${ZooKeeper_ST_LIBRARY}"
                                 INTERFACE_INCLUDE_DIRECTORIES "${ZooKeeper_INCLUDE_DIR}")
endif()
