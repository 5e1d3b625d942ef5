# Each example that a newcomer reads has at most 60 lines of code, and each test among them 40: lines that are neither blank,
# nor a comment, nor an #include or #define.
cmake_minimum_required(VERSION 3.25)
get_filename_component(root "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
set(examples as_tuple callbacks curator_queue elected_leader fence/fenced_file fence/fenced_http fence/fenced_mariadb
             fence/fenced_postgresql fence/fenced_rabbitmq fence/fenced_rabbitmq_consumer fence/fenced_redis fence/fenced_sqlite
             fence/fenced_zookeeper futures hello_lock http_server logging metrics rate_limiter reader_writer_cache senders
             shards spans testing/loss testing/moving_shards testing/pause testing/rival
             testing/servers_away testing/world/loss_while_holding testing/world/moving_shards testing/world/paused_process
             testing/world/rival testing/world/servers_away thread_pool timed_try tls transfer worker yield)
set(others demo turn_taker) # they are for ./dev demo

set(faults 0)
file(GLOB files RELATIVE "${root}/examples" "${root}/examples/*.cpp" "${root}/examples/fence/*.cpp"
     "${root}/examples/testing/*.cpp" "${root}/examples/testing/world/*.cpp")
foreach(file IN LISTS files)
    string(REPLACE ".cpp" "" name "${file}")
    if(name IN_LIST others)
        continue()
    endif()
    list(REMOVE_ITEM examples ${name})
    file(READ "${root}/examples/${file}" text)
    # CMake's lists know these characters, and a line that ends in one of them is a line all the same.
    string(REGEX REPLACE "[][;\\]" "x" text "${text}")
    string(REPLACE "\n" ";" lines "${text}")
    list(FILTER lines EXCLUDE REGEX "^ *(//.*)?$")
    list(FILTER lines EXCLUDE REGEX "^#(include|define) ")
    list(LENGTH lines count)
    set(most 60)
    if(name MATCHES "^testing/")
        set(most 40)
    endif()
    if(count GREATER most)
        message("examples/${name}.cpp has ${count} lines of code; ${most} are the most")
        math(EXPR faults "${faults} + 1")
    endif()
    if(NOT count GREATER 10)
        message("examples/${name}.cpp has ${count} lines of code: is this test right?")
        math(EXPR faults "${faults} + 1")
    endif()
endforeach()
foreach(name IN LISTS examples)
    message("examples/${name}.cpp is missing")
    math(EXPR faults "${faults} + 1")
endforeach()

if(faults)
    message(FATAL_ERROR "${faults} fault(s) of examples")
endif()
