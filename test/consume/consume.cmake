# Builds one of the projects beside this file and runs its program.
#   PROJECT       find_package or add_subdirectory
#   COLOCK_BUILD  find_package: the build tree to install from
#   WORK          a directory to work in
#   TLS           whether the library of the build tree has it
#   GENERATOR, COMPILER, LAUNCHER (may be empty)
cmake_minimum_required(VERSION 3.25)
set(source "${CMAKE_CURRENT_LIST_DIR}/${PROJECT}")
set(build "${WORK}/${PROJECT}")
set(prefix "${build}-prefix")
cmake_host_system_information(RESULT jobs QUERY NUMBER_OF_LOGICAL_CORES)

function(run)
    execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# build_and_run(<source> <build> [<argument for cmake>...])
function(build_and_run from to)
    run("${CMAKE_COMMAND}" -S "${from}" -B "${to}" -G "${GENERATOR}" --fresh
        "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}"
        "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror" ${ARGN})
    run("${CMAKE_COMMAND}" --build "${to}" --parallel ${jobs})
    run("${to}/consumer")
endfunction()

file(REMOVE_RECURSE "${prefix}")

if(PROJECT STREQUAL "find_package")
    run("${CMAKE_COMMAND}" --install "${COLOCK_BUILD}" --prefix "${prefix}")
    set(components "")
    if(TLS)
        set(components tls)
    endif()
    build_and_run("${source}" "${build}" "-DCMAKE_PREFIX_PATH=${prefix}" "-DCOLOCK_COMPONENTS=${components}")
    if(TLS)
        run("${build}/tls_consumer")
    endif()

    # Another Boost than the library's is refused, with a message that names both.
    set(other "${build}-other-boost")
    file(WRITE "${other}/BoostConfig.cmake" "add_library(Boost::headers INTERFACE IMPORTED)\n")
    file(WRITE "${other}/BoostConfigVersion.cmake"
         "set(PACKAGE_VERSION 1.99.0)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n")
    execute_process(COMMAND "${CMAKE_COMMAND}" -S "${source}" -B "${other}/build" -G "${GENERATOR}" --fresh
                            "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_PREFIX_PATH=${prefix}"
                            "-DBoost_DIR=${other}"
                    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE text)
    string(REGEX REPLACE "[ \n]+" " " text "${text}")
    if(NOT failed OR NOT text MATCHES "was built with Boost 1\\.[0-9]+\\.[0-9]+, and [^ ]+ is Boost 1\\.99\\.0")
        message(FATAL_ERROR "find_package(colock) does not refuse another Boost: ${text}")
    endif()
else()
    build_and_run("${source}" "${build}" -DBUILD_SHARED_LIBS=ON -DCOLOCK_INSTALL=ON -DCOLOCK_TLS=OFF)

    # It exports what is declared so, and nothing else.
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

    run("${CMAKE_COMMAND}" --install "${build}" --prefix "${prefix}")
    build_and_run("${CMAKE_CURRENT_LIST_DIR}/find_package" "${build}-installed"
                  "-DCMAKE_PREFIX_PATH=${prefix}")

    # It has no TLS, and says so.
    execute_process(COMMAND "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/find_package" -B "${build}-no-tls"
                            -G "${GENERATOR}" --fresh "-DCMAKE_CXX_COMPILER=${COMPILER}"
                            "-DCMAKE_PREFIX_PATH=${prefix}" -DCOLOCK_COMPONENTS=tls
                    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE text)
    string(REGEX REPLACE "[ \n]+" " " text "${text}")
    if(NOT failed OR NOT text MATCHES "this colock was built without TLS")
        message(FATAL_ERROR "find_package(colock COMPONENTS tls) does not refuse a library without it: ${text}")
    endif()
endif()
