#!/usr/bin/env bash
# clang-tidy over lib, cli, testing and the public headers, by the rules of .clang-tidy. It looks at sources in the batches
# that they are compiled in: headers take most of the time, and would take an hour with each source alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# compile_commands.json and the batches are all that is needed of this build.
export build=build/lint
cmake --preset clang-14 -B $build -D COLOCK_UNITY_BUILD=ON -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
    >/dev/null

find lib cli testing -name '*.cpp' ! -name 'no_*' | while read -r source; do # those are of a build without TLS
    grep -qrF "$PWD/$source\"" $build/compile_commands.json $build/{lib,cli,testing} --include='*.json' --include='unity_*' || {
        echo "tidy: $source is compiled by nobody: no CMakeLists.txt names it"
        exit 1
    }
done

# Every public header is included by the one that includes them all.
# shellcheck disable=SC2016 # the inner shell expands them
grep -oP "\"file\": \"\Q$PWD\E/($build/)?((lib|cli|testing)/[^\"]*|test/headers/colock_colock_hpp.cpp)" $build/compile_commands.json |
    sed 's/.*"//' | grep -v /no_ | sort -u |
    xargs -P "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" -I SOURCE bash -c '
        output=$(clang-tidy-14 -p "$build" --quiet SOURCE 2>/dev/null) || { printf "%s\n" "$output"; exit 1; }'
