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
    is_refused(find_testing_world "${WORK}/installed-both" "EITHER_COLOCK_OR_ITS_TESTING_WORLD"
               "-DCMAKE_PREFIX_PATH=${prefix}" "-DWITH=colock::colock")
    # So does the linker, where CMake does not know.
    configure(find_testing_world "${WORK}/installed-both" "-DCMAKE_PREFIX_PATH=${prefix}" "-DLINK_BOTH=ON")
    execute_process(COMMAND "${CMAKE_COMMAND}" --build "${WORK}/installed-both" RESULT_VARIABLE failed
                    OUTPUT_VARIABLE text ERROR_VARIABLE text)
    if(NOT SHARED AND (NOT failed OR NOT text MATCHES "multiple definition of [^\n]*random_bytes"))
        message(FATAL_ERROR "a program with both is not refused: ${text}")
    endif()
endif()

# Another Boost than the library's is refused, with a message that names both.
set(other "${WORK}/installed-other-boost")
file(WRITE "${other}/BoostConfig.cmake" "add_library(Boost::headers INTERFACE IMPORTED)\n")
file(WRITE "${other}/BoostConfigVersion.cmake"
     "set(PACKAGE_VERSION 1.99.0)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n")
is_refused(find_package "${other}/build" "was built with Boost 1\\.[0-9]+\\.[0-9]+, and [^ ]+ is Boost 1\\.99\\.0"
           "-DCMAKE_PREFIX_PATH=${prefix}" "-DBoost_DIR=${other}")
