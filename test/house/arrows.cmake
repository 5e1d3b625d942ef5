# Which part of colock may include which:
#
#   include/colock  <-  lib/lock  ->  lib/protocol
#                          |              ^
#                          v              |
#                       lib/client  ------+  ->  lib/zk
#
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
            if(file STREQUAL "lib/zk/c_client.cpp" AND line MATCHES "<zookeeper/zookeeper.h>")
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

set(io "[<\"]boost/asio" "[<\"]zookeeper/")
set(internal "[\"/](lib|protocol|zk|client|lock)/")

rule(include "[<\"]zookeeper/" "[<\"]boost/asio\\.hpp" ${internal})
rule(lib "[<\"]zookeeper/" "[<\"]boost/asio\\.hpp")
rule(lib/protocol ${io} "\"(\\.\\./)*(zk|client|lock)/" "<colock/(client|mutex|unique_lock|detail/(abi|init|oper))")
rule(lib/zk "\"(\\.\\./)*(protocol|client|lock)/")
rule(lib/client "\"(\\.\\./)*lock/")
# Inside lib/protocol: the session stands alone, and a folder sees those behind it only.
rule(lib/protocol/names "/(access|directory|queue|permits|session)/")
rule(lib/protocol/access "/(directory|queue|permits|session)/")
rule(lib/protocol/directory "/(queue|permits|session)/")
rule(lib/protocol/queue "/(permits|session)/")
rule(lib/protocol/permits "/(directory|queue|session)/")
rule(lib/protocol/session "/(directory|queue|permits)/")
# Inside lib/lock. A driver knows its users as a contender_owner only; local/ has the one.
rule(lib/lock/lease "lock/(driver|local|multi|permits|views)/")
rule(lib/lock/driver "lock/(local|multi|permits|views)/")
rule(lib/lock/local "lock/(multi|permits|views)/")
rule(lib/lock/multi "lock/(driver|local|permits|views)/")
rule(lib/lock/permits "lock/views/")
rule(lib/lock/views "lock/(driver|local|multi|permits)/")
# The C client is one of the systems that the benchmarks compare.
rule(bench ${internal})
rule(cli "[<\"]zookeeper/" "[\"/](lib|protocol|zk|client|lock)/" "[<\"]boost/asio\\.hpp")
# Inside cli: what all commands share knows none of them, and no command knows another one.
rule(cli/names "\"(program|connect|run|look|change|health)/")
rule(cli/program "\"(names|connect|run|look|change|health)/")
rule(cli/connect "\"(run|look|change|health)/")
rule(cli/run "\"(look|change|health)/")
rule(cli/look "\"(run|change|health)/")
rule(cli/change "\"(run|health)/")
rule(cli/health "\"(run|look|change)/")
rule(examples "[<\"]zookeeper/" ${internal})

if(faults)
    message(FATAL_ERROR "${faults} fault(s): includes against the direction of the arrows, or rules "
                        "for folders that are not there. See CONTRIBUTING.md.")
endif()
