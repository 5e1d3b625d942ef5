#!/usr/bin/env bash
# clang-tidy over lib, cli and the public headers, by the rules of .clang-tidy. A source that was clean is not looked at
# again until it, a header or the rules have changed.
#
#     tools/tidy.sh [--changed]      --changed: only sources that differ from the branch main
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build/clang-14
clean=build/lint

# Its compile_commands.json is all that is needed of that build; it lists what CMake knows now.
cmake --preset clang-14 -D COLOCK_UNITY_BUILD=OFF >/dev/null
mkdir -p "$clean"

# What every source depends on: compiler and rules, all headers, and how sources are compiled.
headers=$({
    clang-tidy-14 --version
    cat .clang-tidy CMakeLists.txt cmake/ProjectOptions.cmake lib/CMakeLists.txt cli/CMakeLists.txt
    find include lib cli -name '*.hpp' -print0 | sort -z | xargs -0 cat
} | sha256sum)

if [[ ${1-} == --changed ]]; then
    base=$(git merge-base HEAD main) || { echo 'tidy: --changed compares with the branch main, which is not here' && exit 2; }
    mapfile -t sources < <({
        git diff --name-only --diff-filter=d "$base" -- 'lib/*.cpp' 'cli/*.cpp'
        git ls-files --others --exclude-standard -- 'lib/*.cpp' 'cli/*.cpp'
    } | sort -u)
else
    # Every public header is included by the one that includes them all.
    mapfile -t sources < <(find lib cli -name '*.cpp' | sort; echo $build/test/headers/colock_colock_hpp.cpp)
fi

todo=()
for source in "${sources[@]}"; do
    if ! grep -qF "$PWD/$source\"" $build/compile_commands.json; then
        [[ $source != */no_* ]] || continue # of a build without TLS
        echo "tidy: $source is compiled by nobody: no CMakeLists.txt names it"
        exit 1
    fi
    stamp=$clean/$(cat - "$source" <<<"$headers$source" | sha256sum | cut -c1-40)
    [[ -e $stamp ]] || todo+=("$source" "$stamp")
done
((${#todo[@]})) || exit 0

export build
# shellcheck disable=SC2016 # the inner shell expands them
printf '%s\n' "${todo[@]}" | xargs -P "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" -n 2 bash -c '
    if output=$(clang-tidy-14 -p "$build" --quiet "$0" 2>/dev/null); then
        : >"$1"
    else
        printf "%s\n" "$output"
        exit 1
    fi'
