# Which part of colock may include which. Calls go down:
#
#   include/colock
#   lib/recipes   built on locks and on the client: elections, semaphores, joint acquisition, lock root
#   lib/lock      the users of one path in a client, and their guards
#   lib/queue     one contender: its stages and rules, and its driver
#   lib/session   the session of a client, its requests and watches
#   lib/guard     the helper process that ends the sessions of a dead one
#   lib/report    what the log and the observer hear
#   lib/zk        one connection to a server
#   lib/names     paths and names of nodes
#
# The build keeps Asio and ZooKeeper away from what decides: lib/CMakeLists.txt, colock_protocol.
# Benchmarks and examples see the public headers only, and one file of the library sees ZooKeeper's.
cmake_minimum_required(VERSION 3.25)
get_filename_component(root "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
set(faults 0)

# rule(<directory> <regex>...): files below it include nothing that matches.
function(rule directory)
    file(GLOB_RECURSE files RELATIVE "${root}" "${root}/${directory}/*.hpp" "${root}/${directory}/*.cpp")
    if(NOT files)
        message("${directory}: a rule for a folder that has no sources")
        math(EXPR faults "${faults} + 1")
    endif()
    foreach(file IN LISTS files)
        file(STRINGS "${root}/${file}" lines REGEX "^[ \t]*#[ \t]*include")
        foreach(line IN LISTS lines)
            if((file STREQUAL "lib/zk/c_client.cpp" AND line MATCHES "<zookeeper/zookeeper.h>") OR
               (file MATCHES "^cli/" AND line MATCHES "\"lib/names/(kinds|node_owner|standing)\\.hpp\""))
                continue()
            endif()
            foreach(forbidden IN LISTS ARGN)
                if(line MATCHES "${forbidden}")
                    message("${file}: ${line}")
                    math(EXPR faults "${faults} + 1")
                endif()
            endforeach()
        endforeach()
    endforeach()
    set(faults ${faults} PARENT_SCOPE)
endfunction()

set(internal "[\"/](lib|names|zk|report|guard|session|queue|lock|recipes)/")

rule(include "[<\"]zookeeper/" "[<\"]boost/asio\\.hpp" ${internal})
rule(lib "[<\"]zookeeper/" "[<\"]boost/asio\\.hpp")
rule(lib/names "\"(zk|report|guard|session|queue|lock|recipes)/")
rule(lib/zk "\"(report|guard|session|queue|lock|recipes)/")
rule(lib/report "\"(guard|session|queue|lock|recipes)/")
rule(lib/guard "\"(session|queue|lock|recipes)/")
rule(lib/session "\"(queue|lock|recipes)/")
rule(lib/queue "\"(lock|recipes)/")
rule(lib/lock "\"recipes/")
# The C client is one of the systems that the benchmarks compare.
rule(bench ${internal})
rule(cli "[<\"]zookeeper/" "[\"/](lib|zk|report|guard|session|queue|lock|recipes)/" "[<\"]boost/asio\\.hpp")
# Inside cli: what all commands share knows none of them, and no command another one, but for `change`.
rule(cli/names "\"(program|connect|run|look|change|health)/")
rule(cli/program "\"(names|connect|run|look|change|health)/")
rule(cli/connect "\"(run|look|change|health)/")
rule(cli/run "\"(look|change|health)/")
rule(cli/look "\"(run|change|health)/")
rule(cli/change "\"(run|health)/")
rule(cli/health "\"(run|look|change)/")
# What stands in for ZooKeeper in tests needs neither the library nor Asio.
rule(testing/ensemble "[<\"](zookeeper|boost/asio)" ${internal} "\"(colock|cli|test)/")
rule(testing/protocol "[<\"](zookeeper|boost/asio)" ${internal} "\"(cli|test|serve)/")
rule(testing/serve "[<\"]zookeeper/" "[<\"]boost/asio\\.hpp" ${internal} "\"(cli|test)/")
rule(cli/serve "\"(run|look|change|health)/")
rule(examples "[<\"]zookeeper/" ${internal})

if(faults)
    message(FATAL_ERROR "${faults} fault(s): includes against the direction of the arrows, or rules "
                        "for folders that are not there. See CONTRIBUTING.md.")
endif()
