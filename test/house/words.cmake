# Names and phrases that were given up for the field's terms.
cmake_minimum_required(VERSION 3.25)
get_filename_component(root "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

file(GLOB_RECURSE files RELATIVE "${root}" "${root}/include/*.hpp" "${root}/lib/*.?pp" "${root}/cli/*.?pp"
     "${root}/bench/*.?pp" "${root}/examples/*.?pp" "${root}/test/*.?pp" "${root}/test/*.sh" "${root}/docs/*.md")
list(APPEND files README.md CONTRIBUTING.md)
list(LENGTH files count)
if(count LESS 500)
    message(FATAL_ERROR "There are only ${count} files: is this test right?")
endif()

set(faults 0)
# given_up(<regex> <what to write> [<regex of files that may have it>])
function(given_up regex instead)
    foreach(file IN LISTS files)
        if(ARGC GREATER 2 AND file MATCHES "${ARGV2}")
            continue()
        endif()
        file(STRINGS "${root}/${file}" lines REGEX "${regex}")
        foreach(line IN LISTS lines)
            string(REGEX MATCH "${regex}" found "${line}")
            message("${file}: \"${found}\": write ${instead}")
            math(EXPR faults "${faults} + 1")
        endforeach()
    endforeach()
    set(faults ${faults} PARENT_SCOPE)
endfunction()

given_up("queue_member" "contender")
# The page defines the set B.
given_up("the one ahead|the nearest (one|member)" "predecessor" "^docs/architecture.md$")
given_up("the end of the numbers" "sequence exhaustion")
# So begin the data that the library writes into a directory.
given_up("nobody is left up to" "low-water mark"
         "^(lib/(protocol/directory/data|lock/driver/)|docs/architecture|test/(integration/long_queue|security/attacks|unit/naming))")
given_up("expects? nobody" "uncontended fast path")
given_up("passing on among|Passing on among" "hand-off among")
given_up("killed_[a-z]+_makes_way" "is followed by")
given_up("held_node|lost_lead" "lease, loss")
# Tests call a node robbed that somebody else has deleted.
given_up("(^|[^a-z])robbed" "lost" "^test/(model|world|integration)/")
given_up("[Ii]nquir(y|ies)" "query")
given_up("nest_level" "recursion level")
given_up("path_to_(lock|share)" "acquire request")
given_up("(take|takes|taking|took) stock" "evaluate a listing")
given_up("[Nn]eighbou?rhood" "newcomer watch")
given_up("cohort::verdict" "cohort::actions")
given_up("(^|[^a-z])(chore|errand)s?($|[^a-z])" "completions, strand work")
given_up("core_access|candidacy" "detail::access")

if(faults)
    message(FATAL_ERROR "${faults} word(s) that were given up: write the others, or change this list")
endif()
