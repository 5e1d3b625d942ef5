# What uses `colock serve`, or its server in the process of a test. All other tests, and all figures, are about real servers:
# no guarantee rests on a server of ours. The tests of examples show that each does what its page says.
cmake_minimum_required(VERSION 3.25)
get_filename_component(root "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
set(users
    test/cli/health_certificates.cpp # beside a real one
    test/cli/served_scene.hpp # beside real ones
    test/consume/
    test/fuzz/served.cpp
    test/house/options.py
    test/integration/example
    test/serve/
    test/snippets/surroundings.hpp
    test/world/conversation/served)

set(faults 0)
file(GLOB_RECURSE files RELATIVE "${root}" "${root}/test/*.cpp" "${root}/test/*.hpp" "${root}/test/*.sh" "${root}/test/*.py" "${root}/bench/*")
foreach(file IN LISTS files)
    file(STRINGS "${root}/${file}" lines REGEX "\"serve/|\"serve\"|served_program\\.hpp|colock serve |colock/testing/server")
    list(TRANSFORM users PREPEND "^" OUTPUT_VARIABLE known)
    list(JOIN known "|" known)
    if(lines AND NOT file MATCHES "${known}")
        message("${file}: ${lines}")
        math(EXPR faults "${faults} + 1")
    endif()
endforeach()

if(faults)
    message(FATAL_ERROR "${faults} file(s) use the server in memory, and are not in the list")
endif()
