# What packages and pages say of the version is what version.hpp says, where they cannot read it there.
cmake_minimum_required(VERSION 3.25)
get_filename_component(root "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

file(READ "${root}/include/colock/version.hpp" text)
string(REGEX MATCH "COLOCK_VERSION_STRING \"(([0-9]+\\.[0-9]+)\\.[0-9]+)\"" found "${text}")
set(version "${CMAKE_MATCH_1}")
set(minor "${CMAKE_MATCH_2}")

# has(<file> <text>)
function(has file expected)
    file(READ "${root}/${file}" text)
    string(FIND "${text}" "${expected}" at)
    if(at EQUAL -1)
        message(SEND_ERROR "colock is ${version}, and ${file} does not have '${expected}'")
    endif()
endfunction()

has(packaging/vcpkg/ports/colock/vcpkg.json "\"version\": \"${version}\"")
has(packaging/debian/control "Package: libcolock${minor}\n")
has(packaging/debian/control " libcolock${minor} (= \${binary:Version})")
has(docs/install.md "find_package(colock ${minor} REQUIRED)")
