# A project that has colock in a folder: what colock adds to it, and a program. It is given what consume.cmake asks for.
include("${CMAKE_CURRENT_LIST_DIR}/consume.cmake")
configure(add_subdirectory "${WORK}/add_subdirectory-sanitized" -DCOLOCK_SANITIZE=thread)
# Nothing is compiled of these.
set(sasl "${WORK}/prefix/lib/libsasl2.so")
configure(add_subdirectory "${WORK}/add_subdirectory-sasl" -DCOLOCK_SASL=ON -DSasl2_INCLUDE_DIR=${WORK} -DSasl2_LIBRARY=${sasl}
          -DOWN_SASL=${sasl})
set(build "${WORK}/add_subdirectory-release")
configure(add_subdirectory "${build}" -DCMAKE_BUILD_TYPE=Release -DOWN_BUILD_TYPE=Release
          "-DCMAKE_LIBRARY_OUTPUT_DIRECTORY_RELEASE=${build}/lib")
file(STRINGS "${build}/guard-Release" directories)
list(REMOVE_DUPLICATES directories)
list(LENGTH directories number)
if(NOT number EQUAL 1)
    message(SEND_ERROR "The session guard and its module are in two directories: ${directories}")
endif()
build_and_run(add_subdirectory "${WORK}/add_subdirectory")
