# A program whose Asio or standard library is configured differently from the library's does not link, and the message
# names the configuration that the library does not have.
#   LIBRARY   the library of this build
#   BOOST     the directory of Boost's headers
#   WORK      a directory to work in
#   COMPILER
cmake_minimum_required(VERSION 3.25)
get_filename_component(include "${CMAKE_CURRENT_LIST_DIR}/../../include" ABSOLUTE)
get_filename_component(library_directory "${LIBRARY}" DIRECTORY)
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
set(flags -std=c++20 -O2 "-I${include}" "-I${BOOST}")

# What a user includes; and what decides, which takes a tenth of the time.
file(WRITE "${WORK}/user.cpp" "#include <colock/client.hpp>\nint main() {}\n")
file(WRITE "${WORK}/small.cpp" "#include <colock/detail/abi.hpp>\nint main() {}\n")
file(WRITE "${WORK}/name.cpp" "#include <colock/detail/abi.hpp>\nCOLOCK_ABI_NAME\n")
# Another Boost.
file(WRITE "${WORK}/boost_1_99/boost/version.hpp"
     "#define BOOST_VERSION_HPP\n#define BOOST_VERSION 109900\n#define BOOST_LIB_VERSION \"1_99\"\n")

# name_with(<result> [<flag>...]): the symbol that a program refers to.
function(name_with result)
    execute_process(COMMAND "${COMPILER}" ${ARGN} ${flags} -E -P "${WORK}/name.cpp"
                    OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    if(NOT text MATCHES "(library_for_boost_[a-z0-9_]+)[ \n]*$")
        message(FATAL_ERROR "COLOCK_ABI_NAME is not expanded to a name with ${ARGN}")
    endif()
    set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

# try_link(<program> <ok> <message> [<flag>...])
function(try_link program ok message)
    execute_process(COMMAND "${COMPILER}" ${ARGN} ${flags} "${WORK}/${program}.cpp" "${LIBRARY}"
                            "-Wl,-rpath,${library_directory}" -Wl,--gc-sections -pthread -o "${WORK}/${program}"
                    RESULT_VARIABLE failed ERROR_VARIABLE text)
    if(failed)
        set(${ok} NO PARENT_SCOPE)
    else()
        set(${ok} YES PARENT_SCOPE)
    endif()
    set(${message} "${text}" PARENT_SCOPE)
endfunction()

name_with(own)
message("${own}")

foreach(program IN ITEMS user small)
    try_link(${program} linked text)
    if(NOT linked)
        message(FATAL_ERROR "The same configuration does not link:\n${text}")
    endif()
    execute_process(COMMAND "${WORK}/${program}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# mismatch(<word of the name> <flag>...): another name, which says what differs.
function(mismatch word)
    name_with(name ${ARGN})
    if(name STREQUAL own OR NOT "_${name}_" MATCHES "_${word}_")
        message(SEND_ERROR "${ARGN}: the name does not say ${word}: ${name}")
    endif()
endfunction()
# does_not_link(<program> <word of the name> <flag>...): nor is it silent.
function(does_not_link program word)
    mismatch(${word} ${ARGN})
    name_with(name ${ARGN})
    try_link(${program} linked text ${ARGN})
    if(linked)
        message(SEND_ERROR "${ARGN}: the program links")
    elseif(NOT text MATCHES "${name}")
        message(SEND_ERROR "${ARGN}: the message does not name the configuration:\n${text}")
    endif()
endfunction()

does_not_link(user asio_handler_tracking -DBOOST_ASIO_ENABLE_HANDLER_TRACKING)
does_not_link(small no_epoll -DBOOST_ASIO_DISABLE_EPOLL)
does_not_link(small no_threads -DBOOST_ASIO_DISABLE_THREADS)
does_not_link(small no_std_atomic -DBOOST_ASIO_DISABLE_STD_ATOMIC)
does_not_link(user with_glibcxx_debug -D_GLIBCXX_DEBUG)
does_not_link(small without_cxx11_abi -D_GLIBCXX_USE_CXX11_ABI=0)
does_not_link(small boost_109900 "-I${WORK}/boost_1_99")
mismatch(custom_handler_tracking -DBOOST_ASIO_ENABLE_HANDLER_TRACKING
         -DBOOST_ASIO_CUSTOM_HANDLER_TRACKING=<cstddef>)
mismatch(epoll_and_io_uring -DBOOST_ASIO_HAS_IO_URING)
mismatch(handler_tracking_io_uring -DBOOST_ASIO_HAS_IO_URING -DBOOST_ASIO_DISABLE_EPOLL)
mismatch(no_eventfd -DBOOST_ASIO_DISABLE_EVENTFD)
mismatch(threads_without_fences -DBOOST_ASIO_DISABLE_FENCED_BLOCK)
mismatch(threads_without_keyword -DBOOST_ASIO_DISABLE_THREAD_KEYWORD_EXTENSION)
mismatch(no_exceptions -fno-exceptions)
mismatch(no_exceptions -DBOOST_ASIO_DISABLE_STD_EXCEPTION_PTR)
mismatch(no_typeid -DBOOST_ASIO_NO_TYPEID)
mismatch(ts_executor_as_default -DBOOST_ASIO_USE_TS_EXECUTOR_AS_DEFAULT)
mismatch(no_ts_executors -DBOOST_ASIO_NO_TS_EXECUTORS)
mismatch(no_recycling -DBOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING)
mismatch(another_cache_size -DBOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=4)

# Nor does virtual time, which is in the place of epoll.
file(WRITE "${WORK}/world.cpp" "#include <colock/testing/world.hpp>\nint main() {}\n")
execute_process(COMMAND "${COMPILER}" -DBOOST_ASIO_HAS_IO_URING ${flags} -fsyntax-only "${WORK}/world.cpp"
                RESULT_VARIABLE failed ERROR_VARIABLE text)
if(NOT failed OR NOT text MATCHES "takes the place of epoll")
    message(SEND_ERROR "virtual time with io_uring: ${text}")
endif()

# What does not matter may differ.
foreach(flag IN ITEMS -DBOOST_ASIO_NO_DEPRECATED -DBOOST_ASIO_ENABLE_BUFFER_DEBUGGING -DNDEBUG -D_GLIBCXX_ASSERTIONS
                      -DBOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=2)
    name_with(name ${flag})
    if(NOT name STREQUAL own)
        message(SEND_ERROR "${flag}: ${name}")
    endif()
endforeach()

# Nobody who uses Asio with colock gets past it.
file(GLOB headers "${include}/colock/*.hpp")
foreach(header IN LISTS headers)
    execute_process(COMMAND "${COMPILER}" ${flags} -M -x c++ "${header}"
                    OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    if(text MATCHES "boost/asio/" AND NOT text MATCHES "colock/detail/abi.hpp")
        message(SEND_ERROR "${header} uses Asio, and does not check its configuration")
    endif()
endforeach()
