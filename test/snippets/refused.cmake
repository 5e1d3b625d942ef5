# Compiles refused.cpp, which is wrong, and looks for what the compiler says about each mistake.
#   COMPILER, COMPILER_ID, COMPILER_VERSION
#   INCLUDES      directories, separated by ;
cmake_minimum_required(VERSION 3.25)
list(TRANSFORM INCLUDES PREPEND -I)
execute_process(
    COMMAND ${COMPILER} -std=c++20 -fsyntax-only -Wall -Wextra ${INCLUDES} "${CMAKE_CURRENT_LIST_DIR}/refused.cpp"
    ERROR_VARIABLE said
    OUTPUT_QUIET)

# mistake(<name> <what the compiler says there> <whether it does>)
function(mistake name text noticed)
    if(NOT said MATCHES "${name}:[0-9]+:[^\n]*")
        set(found OFF)
    else()
        set(found ON)
    endif()
    if(noticed AND NOT (found AND said MATCHES "${text}"))
        message(SEND_ERROR "${name}: the compiler does not notice it (\"${text}\")")
    elseif(found AND NOT noticed)
        message(SEND_ERROR "${name}: the compiler notices it now; say so where the documentation says that it does not")
    endif()
endfunction()

# GCC 12 destroys such a lambda twice, and knows nothing of [[nodiscard]] behind co_await.
set(gcc_12 OFF)
if(COMPILER_ID STREQUAL "GNU" AND COMPILER_VERSION VERSION_LESS 13)
    set(gcc_12 ON)
endif()
set(clang OFF)
if(COMPILER_ID STREQUAL "Clang")
    set(clang ON)
endif()

mistake(a_lambda_captures_by_value "GCC 12 destroys twice what a lambda captures by value" ${gcc_12})
mistake(a_lambda_of_a_leader_captures_by_value "GCC 12 destroys twice what a lambda captures by value" ${gcc_12})
mistake(a_lambda_captures_by_value_for_another_token "GCC 12 destroys twice what a lambda captures by value" ${gcc_12})
mistake(a_lambda_captures_by_value_with_diagnostics "GCC 12 destroys twice what a lambda captures by value" ${gcc_12})
mistake(a_function_object_has_no_name "pass that name without std::move" ${gcc_12})
mistake(a_wrapper_looks_at_its_body "the wrapper says no" ${gcc_12})
mistake(a_wrapper_forwards_its_body "GCC 12 destroys twice what a lambda captures by value" ${gcc_12})
mistake(a_late_write_captures_by_value "GCC 12 destroys twice what a lambda captures by value" ${gcc_12})
set(ignored "ignoring return(ed)? value")
if(clang OR gcc_12)
    foreach(name IN ITEMS a_guard_is_dropped a_shared_guard_is_dropped a_permit_is_dropped
                          a_multi_guard_is_dropped a_leadership_is_dropped a_watch_is_dropped)
        mistake(${name} "${name}:[^\n]*${ignored}" ${clang})
    endforeach()
endif()
foreach(name IN ITEMS a_body_takes_a_guard_that_it_could_change a_body_takes_a_guard_by_value
                      a_body_of_permits_takes_a_lock)
    mistake(${name} "The body has to take the guard by const reference" ON)
endforeach()
mistake(a_body_returns_nothing_to_await "The body has to return an asio::awaitable" ON)
mistake(a_body_gives_what_has_no_default "What the body gives has to be default-constructible" ON)
foreach(name IN ITEMS rows_are_told_as_text an_error_is_told_for_acceptance an_acceptance_may_be_missing)
    mistake(${name} "return a bool, or how many rows were written" ON)
endforeach()
mistake(a_reader_presents_its_token "readers hold a lock together" ON)
mistake(an_operation_is_not_awaited "an_operation_is_not_awaited:[^\n]*${ignored}" ON)
mistake(a_guard_of_a_function_is_dropped "a_guard_of_a_function_is_dropped:[^\n]*${ignored}" ON)
