#!/usr/bin/env bash
# examples/standalone, copied out of this repository, builds against an installed colock, and takes its turn.
#
#     standalone.sh COLOCK_BUILD COLOCK_PROGRAM GENERATOR COMPILER [LAUNCHER]
set -euo pipefail

copy=$(mktemp --directory)
trap 'rm -rf "$copy"' EXIT
cp -r "$(dirname "${BASH_SOURCE[0]}")/../../examples/standalone/." "$copy"

cmake --install "$1" --prefix "$copy/prefix"
cmake -S "$copy" -B "$copy/build" -G "$3" -D CMAKE_PREFIX_PATH="$copy/prefix" -D CMAKE_CXX_COMPILER="$4" \
    -D CMAKE_CXX_COMPILER_LAUNCHER="${5-}" -D CMAKE_CXX_FLAGS='-Wall -Wextra -Werror'
cmake --build "$copy/build"

coproc server { exec "$2" serve --port 0 --quiet; }
pid=$!
trap 'kill "$pid"; rm -rf "$copy"' EXIT
read -r address <&"${server[0]}"
output=$("$copy/build/my_service" "$address")
echo "$output"
[[ $output == 'my turn, with fencing token '* ]]
