# Installs a build tree, finds it with CMake and with pkg-config, and runs programs.
#   COLOCK_BUILD  the build tree
#   TLS           whether its library has it
#   TESTING       whether it has the component testing
#   SHARED        whether its library is shared
#   TESTING_WORLD whether it has the component testing_world
#   and what consume.cmake asks for
include("${CMAKE_CURRENT_LIST_DIR}/consume.cmake")
set(prefix "${WORK}/installed-prefix")
file(REMOVE_RECURSE "${prefix}")
run("${CMAKE_COMMAND}" --install "${COLOCK_BUILD}" --prefix "${prefix}")

set(components "")
if(TLS)
    set(components tls)
endif()
build_and_run(find_package "${WORK}/installed" "-DCMAKE_PREFIX_PATH=${prefix}" "-DCOLOCK_COMPONENTS=${components}")
if(TLS)
    run("${WORK}/installed/tls_consumer")
    pkg_config("${prefix}" colock-tls tls)
else()
    pkg_config("${prefix}" colock main)
endif()

if(TESTING)
    configure(find_testing "${WORK}/installed-testing" "-DCMAKE_PREFIX_PATH=${prefix}")
    run("${CMAKE_COMMAND}" --build "${WORK}/installed-testing" --parallel ${jobs})
    run("${CMAKE_CTEST_COMMAND}" --test-dir "${WORK}/installed-testing" --output-on-failure)
endif()
if(TESTING_WORLD)
    build_and_run(find_testing_world "${WORK}/installed-testing-world" "-DCMAKE_PREFIX_PATH=${prefix}")
    foreach(other IN ITEMS colock::colock orders)
        is_refused(find_testing_world "${WORK}/installed-both" "EITHER_COLOCK_OR_ITS_TESTING_WORLD"
                   "-DCMAKE_PREFIX_PATH=${prefix}" "-DWITH=${other}")
    endforeach()
    # So does the linker, where CMake does not know.
    configure(find_testing_world "${WORK}/installed-both" "-DCMAKE_PREFIX_PATH=${prefix}" "-DLINK_BOTH=ON")
    execute_process(COMMAND "${CMAKE_COMMAND}" --build "${WORK}/installed-both" RESULT_VARIABLE failed
                    OUTPUT_VARIABLE text ERROR_VARIABLE text)
    if(NOT SHARED AND (NOT failed OR NOT text MATCHES "multiple definition of [^\n]*random_bytes"))
        message(FATAL_ERROR "a program with both is not refused: ${text}")
    endif()
    # And the world, where a shared library of the program brings a shared one.
    configure(find_testing_world "${WORK}/installed-shared" "-DCMAKE_PREFIX_PATH=${prefix}" "-DLOAD_BOTH=ON")
    run("${CMAKE_COMMAND}" --build "${WORK}/installed-shared" --parallel ${jobs})
    execute_process(COMMAND "${WORK}/installed-shared/consumer" RESULT_VARIABLE failed ERROR_VARIABLE text)
    if(NOT failed OR NOT text MATCHES "libcolock\\.so")
        message(FATAL_ERROR "a program that loads both is not refused: ${text}")
    endif()
endif()

# What docs/test-your-program.md tells to type builds the tests that it quotes.
get_filename_component(root "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
file(READ "${root}/docs/test-your-program.md" page)
set(tests "")
if(TESTING)
    list(APPEND tests loss)
endif()
if(TESTING_WORLD)
    list(APPEND tests world/loss_while_holding)
endif()
foreach(test IN LISTS tests)
    get_filename_component(name ${test} NAME)
    if(NOT page MATCHES "```cmake\n([^`]*\\(my_test ${name}\\.cpp\\)[^`]*)```")
        message(FATAL_ERROR "docs/test-your-program.md does not tell how ${test} is built")
    endif()
    set(project "${WORK}/page-${name}")
    file(WRITE "${project}/CMakeLists.txt"
         "cmake_minimum_required(VERSION 3.25)\nproject(page CXX)\n${CMAKE_MATCH_1}")
    file(COPY "${root}/examples/testing/${test}.cpp" DESTINATION "${project}")
    run("${CMAKE_COMMAND}" -S "${project}" -B "${project}/build" -G "${GENERATOR}" --fresh
        "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
        "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}")
    run("${CMAKE_COMMAND}" --build "${project}/build")
    run("${project}/build/my_test")
endforeach()

# Another Boost than the library's is refused, with a message that names both.
set(other "${WORK}/installed-other-boost")
file(WRITE "${other}/BoostConfig.cmake" "add_library(Boost::headers INTERFACE IMPORTED)\n")
file(WRITE "${other}/BoostConfigVersion.cmake"
     "set(PACKAGE_VERSION 1.99.0)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n")
is_refused(find_package "${other}/build" "was built with Boost 1\\.[0-9]+\\.[0-9]+, and [^ ]+ is Boost 1\\.99\\.0"
           "-DCMAKE_PREFIX_PATH=${prefix}" "-DBoost_DIR=${other}")
