# examples/standalone, copied out of this repository, builds against an installed colock, and takes its turn.
#   COLOCK_BUILD  the build tree to install from
#   SERVER        the program private_zookeeper
#   WORK          a directory to work in
#   GENERATOR, COMPILER, LAUNCHER (may be empty)
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND mktemp --directory OUTPUT_VARIABLE copy OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
set(prefix "${WORK}/standalone-prefix")
file(REMOVE_RECURSE "${prefix}")
file(COPY "${CMAKE_CURRENT_LIST_DIR}/../../examples/standalone/" DESTINATION "${copy}")

# Whatever comes of it, the copy goes.
function(run)
    execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT RESULT_VARIABLE failed)
    if(failed)
        file(REMOVE_RECURSE "${copy}")
        message(FATAL_ERROR "failed: ${ARGN}")
    endif()
endfunction()

run("${CMAKE_COMMAND}" --install "${COLOCK_BUILD}" --prefix "${prefix}")
run("${CMAKE_COMMAND}" -S "${copy}" -B "${copy}/build" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${prefix}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}")
run("${CMAKE_COMMAND}" --build "${copy}/build")
# With a server: its first line tells where it is, and it ends with its input.
run(bash -c "set -euo pipefail
coproc server { exec \"$0\" --until-eof; }
read -r line <&\"\${server[0]}\"
output=$(\"$1\" \"\${line#connect string: }\")
echo \"$output\"
[[ $output == 'my turn, with fencing token '* ]]" "${SERVER}" "${copy}/build/my_service")
file(REMOVE_RECURSE "${copy}")
