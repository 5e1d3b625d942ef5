# A project that has colock in a folder: what colock adds to it, and a program. It is given what consume.cmake asks for.
include("${CMAKE_CURRENT_LIST_DIR}/consume.cmake")
configure(add_subdirectory "${WORK}/add_subdirectory-sanitized" -DCOLOCK_SANITIZE=thread)
build_and_run(add_subdirectory "${WORK}/add_subdirectory")
