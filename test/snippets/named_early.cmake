# Compiles a mistake of named_early.cpp: the compiler has to name it within its first ten lines of words.
#   COMPILER
#   INCLUDES   directories, separated by ;
#   MISTAKE    its number
#   TEXT       what names it
cmake_minimum_required(VERSION 3.25)
list(TRANSFORM INCLUDES PREPEND -I)
execute_process(
    COMMAND ${COMPILER} -std=c++20 -fsyntax-only ${INCLUDES} -D MISTAKE=${MISTAKE} "${CMAKE_CURRENT_LIST_DIR}/named_early.cpp"
    ERROR_VARIABLE said
    OUTPUT_QUIET
    RESULT_VARIABLE status)
if(status EQUAL 0)
    message(SEND_ERROR "mistake ${MISTAKE} compiles")
endif()
# Of the characters that mean something in a list none is left.
string(REGEX REPLACE "[][;]" "," lines "${said}")
string(REPLACE "\n" ";" lines "${lines}")
# GCC 14 quotes the source at each step of an instantiation: that is not counted.
list(FILTER lines EXCLUDE REGEX "^ *[0-9]* [|]")
list(SUBLIST lines 0 10 lines)
list(JOIN lines "\n" beginning)
if(NOT beginning MATCHES "${TEXT}")
    message(SEND_ERROR "the first ten lines do not name mistake ${MISTAKE}, with \"${TEXT}\":\n${beginning}")
endif()
