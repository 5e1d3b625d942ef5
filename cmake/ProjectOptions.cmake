# How colock's own code is compiled. Nothing of this reaches those who use colock, except COLOCK_ASIO_DEFINITIONS:
# Asio's configuration has to be the same in the library and in the program (detail/abi.hpp).
set(COLOCK_ASIO_DEFINITIONS "")

if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
    set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

    find_program(CCACHE_PROGRAM ccache)
    mark_as_advanced(CCACHE_PROGRAM)
    if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
        set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
    endif()
endif()

# Link this, privately, to every target of the project that compiles something.
add_library(colock_project_options INTERFACE)
target_compile_features(colock_project_options INTERFACE cxx_std_20)
target_compile_definitions(colock_project_options INTERFACE BOOST_ASIO_NO_DEPRECATED)
target_compile_options(
    colock_project_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                     # Designated initialisers leave members out on purpose.
                                     -Wno-missing-field-initializers
                                     # GCC 12 mistakes the allocation of large coroutines.
                                     $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>
                                     # The stable_sort of GCC 12's library uses what later clangs warn of.
                                     $<$<AND:$<CXX_COMPILER_ID:Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,16>>:-Wno-deprecated-declarations>
                                     $<$<BOOL:${COLOCK_WERROR}>:-Werror>)
set(CMAKE_CXX_EXTENSIONS OFF)

# Sources that may be compiled several at a time: what is in their unnamed namespaces has different names, or parameters.
# CMake's eight would take half as long again on two cores. Many more than twenty take more than a gigabyte of memory.
function(colock_compile_in_batches target)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${COLOCK_UNITY_BUILD})
    if(NOT DEFINED CMAKE_UNITY_BUILD_BATCH_SIZE)
        set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 20)
    endif()
    if(COLOCK_UNITY_BUILD)
        # GCC warns of coroutines that use an unnamed namespace of a file that another one includes.
        target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    endif()
endfunction()

# colock_is_either(<target> <name> <other>): a program links this target or the other one. Where it links both itself, CMake says
# EITHER_COLOCK_OR_ITS_TESTING_WORLD by the rule for such properties. Where a static library of its own links the other one
# privately, that rule does not see it, and a target of this name is missing.
function(colock_is_either target name other)
    set(word EITHER_COLOCK_OR_ITS_TESTING_WORLD)
    set_target_properties(${target} PROPERTIES INTERFACE_${word} ${name} COMPATIBLE_INTERFACE_STRING ${word})
    target_link_options(
        ${target} INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:${word}>,${other}>:$<TARGET_FILE:${word}>>)
endfunction()

if(COLOCK_DEMO)
    # Of GCC's time a fifth goes into looking for memory to use again.
    add_compile_options($<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=500000>)
    # What nobody calls is left out, with its references to what is not compiled (lib/CMakeLists.txt).
    add_compile_options(-ffunction-sections)
    add_link_options(-Wl,--gc-sections)
endif()
if(COLOCK_SANITIZE STREQUAL "fuzzer") # of clang, with the two below
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(COLOCK_SANITIZE MATCHES "^(address,undefined|fuzzer)$")
    # vptr, null and alignment double the time that coroutines take to compile.
    add_compile_options(
        -fsanitize=address,undefined -fno-sanitize=vptr,null,alignment -fno-sanitize-recover=all
        -fno-omit-frame-pointer
        # GCC's own instrumentation makes it see uninitialised variables in Asio's use_future.
        $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
        # Clang 14 fails on coroutines with it.
        $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
    add_link_options(-fsanitize=address,undefined)
elseif(COLOCK_SANITIZE STREQUAL "thread")
    # GCC warns that it cannot instrument the fences in Asio, where they do no harm. But those in the
    # reference counts of any_executor make it see races that are none: Boost's counts have no fence.
    add_compile_options(-fsanitize=thread -fno-omit-frame-pointer
                        $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
    set(COLOCK_ASIO_DEFINITIONS BOOST_ASIO_DISABLE_STD_ATOMIC)
    add_link_options(-fsanitize=thread)
elseif(COLOCK_SANITIZE)
    message(FATAL_ERROR "COLOCK_SANITIZE is \"${COLOCK_SANITIZE}\"; "
                        "it can be empty, \"address,undefined\", \"thread\" or \"fuzzer\".")
endif()
add_compile_definitions(${COLOCK_ASIO_DEFINITIONS}) # also where colock is not linked

# For programs that are started often: most of what the dynamic linker does at a start is for the runtime of C++.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT BUILD_SHARED_LIBS AND NOT COLOCK_SANITIZE)
    include(CheckLinkerFlag)
    check_linker_flag(CXX -static-libstdc++ COLOCK_HAS_STATIC_RUNTIME)
endif()
function(colock_link_quickly target)
    if(COLOCK_HAS_STATIC_RUNTIME AND NOT BUILD_SHARED_LIBS AND NOT COLOCK_SANITIZE)
        target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
    endif()
endfunction()
