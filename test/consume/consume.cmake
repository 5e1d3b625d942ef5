# What the tests here have in common. A test is given
#   WORK          a directory to work in
#   GENERATOR, COMPILER, LAUNCHER (may be empty)
cmake_minimum_required(VERSION 3.25)
cmake_host_system_information(RESULT jobs QUERY NUMBER_OF_LOGICAL_CORES)
find_program(PKG_CONFIG pkg-config REQUIRED)

function(run)
    execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# configure(<source> <build> [<argument for cmake>...])
function(configure from to)
    run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/${from}" -B "${to}" -G "${GENERATOR}" --fresh
        "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}"
        "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror" ${ARGN})
endfunction()

# build_and_run(<source> <build> [<argument for cmake>...])
function(build_and_run from to)
    configure("${from}" "${to}" ${ARGN})
    run("${CMAKE_COMMAND}" --build "${to}" --parallel ${jobs})
    run("${to}/consumer")
endfunction()

# is_refused(<source> <build> <expression> [<argument for cmake>...]): and the message says why.
function(is_refused from to expression)
    execute_process(COMMAND "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/${from}" -B "${to}" -G "${GENERATOR}"
                            --fresh "-DCMAKE_CXX_COMPILER=${COMPILER}" ${ARGN}
                    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE text)
    string(REGEX REPLACE "[ \n]+" " " text "${text}")
    if(NOT failed OR NOT text MATCHES "${expression}")
        message(FATAL_ERROR "${ARGN} is not refused: ${text}")
    endif()
endfunction()

# ask_pkg_config(<result> <prefix> <argument>...): as a list.
function(ask_pkg_config result prefix)
    file(GLOB_RECURSE file "${prefix}/colock.pc")
    get_filename_component(directory "${file}" DIRECTORY)
    set(ENV{PKG_CONFIG_PATH} "${directory}")
    execute_process(COMMAND "${PKG_CONFIG}" ${ARGN} OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE
                    COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(text UNIX_COMMAND "${text}")
    set(${result} "${text}" PARENT_SCOPE)
endfunction()

# pkg_config(<prefix> <package> <program>): a program of one file, built without CMake.
function(pkg_config prefix package program)
    ask_pkg_config(cflags "${prefix}" --cflags ${package})
    ask_pkg_config(libs "${prefix}" --libs ${package})
    ask_pkg_config(libdir "${prefix}" --variable=libdir colock)
    set(built "${WORK}/pkg_config_${program}")
    run(${LAUNCHER} "${COMPILER}" -std=c++20 -Wall -Wextra -Werror ${cflags}
        -c "${CMAKE_CURRENT_LIST_DIR}/${program}.cpp" -o "${built}.o")
    run("${COMPILER}" "${built}.o" ${libs} "-Wl,-rpath,${libdir}" -o "${built}")
    run("${built}")
endfunction()
