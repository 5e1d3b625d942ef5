# The example in the README is the program that is built and run.
get_filename_component(root "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
file(READ "${root}/README.md" readme)
file(READ "${root}/examples/hello_lock.cpp" example)
string(STRIP "${example}" example)
string(FIND "${readme}" "```cpp\n${example}\n```" found)
if(found EQUAL -1)
    message(FATAL_ERROR "README.md does not show examples/hello_lock.cpp as it is")
endif()
