# A project that fetches colock's sources, installed; then found by others in the prefix of that project. It is given
# what consume.cmake asks for.
include("${CMAKE_CURRENT_LIST_DIR}/consume.cmake")
get_filename_component(root "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
set(build "${WORK}/fetch_content")
set(prefix "${build}-prefix")
file(REMOVE_RECURSE "${prefix}" "${prefix}-all")

# What the library is made of; and this is all of that.
set(archive "${WORK}/colock.tar.gz")
execute_process(COMMAND "${CMAKE_COMMAND}" -E tar czf "${archive}" CMakeLists.txt LICENSE cmake include lib
                WORKING_DIRECTORY "${root}" COMMAND_ERROR_IS_FATAL ANY)
file(SHA256 "${archive}" hash)
set(options "-DCOLOCK_URL=${archive}" "-DCOLOCK_URL_HASH=SHA256=${hash}" -DCOLOCK_TLS=OFF)

# It exports what is declared so, and nothing else.
build_and_run(fetch_content "${build}" ${options})
file(GLOB_RECURSE library "${build}/libcolock.so")
execute_process(COMMAND nm --dynamic --defined-only --demangle "${library}"
                OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]* [TDB] [^\n]*" symbols "${symbols}")
foreach(symbol IN LISTS symbols)
    if(NOT symbol MATCHES " [TDB] ((vtable|typeinfo|typeinfo name|guard variable|VTT) for )?colock::"
       OR symbol MATCHES "colock::(protocol|zk)::")
        message(SEND_ERROR "libcolock.so exports ${symbol}")
    endif()
endforeach()

# The library is installed with the program, which finds it there; nothing else of colock is.
run("${CMAKE_COMMAND}" --install "${build}" --prefix "${prefix}")
run("${prefix}/bin/consumer")
file(GLOB_RECURSE files RELATIVE "${prefix}" "${prefix}/*")
list(REMOVE_ITEM files bin/consumer)
list(FILTER files EXCLUDE REGEX "/libcolock\\.so\\.[0-9.]+$")
if(files)
    message(SEND_ERROR "A project that uses colock installs more of it than a program needs: ${files}")
endif()

# On request all of it is, for those who use a library of that project.
configure(fetch_content "${build}" ${options} -DCOLOCK_INSTALL=ON)
run("${CMAKE_COMMAND}" --build "${build}")
run("${CMAKE_COMMAND}" --install "${build}" --prefix "${prefix}-all")
build_and_run(find_package "${build}-installed" "-DCMAKE_PREFIX_PATH=${prefix}-all")
pkg_config("${prefix}-all" colock main)

# It has no TLS, and says so.
is_refused(find_package "${build}-no-tls" "this colock was built without TLS"
           "-DCMAKE_PREFIX_PATH=${prefix}-all" -DCOLOCK_COMPONENTS=tls)
file(GLOB_RECURSE file "${prefix}-all/colock-tls.pc")
if(file)
    message(SEND_ERROR "A colock without TLS installs colock-tls.pc.")
endif()
