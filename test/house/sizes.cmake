# No file has more than 600 lines, tests too; those that a newcomer reads first, at most 300.
cmake_minimum_required(VERSION 3.25)
get_filename_component(root "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
set(faults 0)

# limit(<lines> <folder>...): each source below these folders.
function(limit most)
    foreach(folder IN LISTS ARGN)
        file(GLOB_RECURSE files RELATIVE "${root}" "${root}/${folder}/*.hpp" "${root}/${folder}/*.cpp"
             "${root}/${folder}/*.sh" "${root}/${folder}/*.java")
        if(NOT files)
            message("${folder}: a limit for a folder that has no sources")
            math(EXPR faults "${faults} + 1")
        endif()
        foreach(file IN LISTS files)
            file(READ "${root}/${file}" text)
            string(REGEX REPLACE "[^\n]" "" ends "${text}")
            string(LENGTH "${ends}" lines)
            if(lines GREATER most)
                message("${file} has ${lines} lines; here ${most} are the most")
                math(EXPR faults "${faults} + 1")
            endif()
        endforeach()
    endforeach()
    set(faults ${faults} PARENT_SCOPE)
endfunction()

limit(600 include lib test testing bench examples)

if(faults)
    message(FATAL_ERROR "${faults} file(s) with more than one subject: see CONTRIBUTING.md")
endif()
