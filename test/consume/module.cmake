# Installs a build tree with the module, and builds and runs a program that imports it.
#   COLOCK_BUILD  the build tree
#   and what consume.cmake asks for
include("${CMAKE_CURRENT_LIST_DIR}/consume.cmake")
set(prefix "${WORK}/module-prefix")
file(REMOVE_RECURSE "${prefix}")
run("${CMAKE_COMMAND}" --install "${COLOCK_BUILD}" --prefix "${prefix}")
build_and_run(module "${WORK}/module" "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror ${FLAGS}")
