#!/usr/bin/env bash
# What it takes to compile a program that locks once, with each public header that offers a lock: seconds of the
# processor, the least of some rounds. Of this tree, or of the trees that are named, in turns:
#
#   bench/compile_times.sh [--rounds N] [TREE...]
set -euo pipefail
export LC_ALL=C # a point in numbers
rounds=5
if [[ ${1-} == --rounds ]]; then
    rounds=$2
    shift 2
fi
(($#)) || set -- "$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exec 3>&2 # for what the compiler says, as stderr has the time
TIMEFORMAT=%U

program() { # HEADER KIND ARGUMENTS OPERATION
    cat <<END
#include <colock/$1.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
boost::asio::awaitable<void> lock_once(colock::client& zk)
{
    colock::$2 lock{zk, $3};
    auto held = co_await lock.$4;
}
END
}
program colock mutex '"/path"' 'async_lock()' >"$work/colock.cpp"
program mutex mutex '"/path"' 'async_lock()' >"$work/mutex.cpp"
program shared_mutex shared_mutex '"/path"' 'async_lock_shared()' >"$work/shared_mutex.cpp"
program single_node_mutex single_node_mutex '"/path"' 'async_lock()' >"$work/single_node_mutex.cpp"
program semaphore semaphore '"/path", 3' 'async_acquire()' >"$work/semaphore.cpp"
program election election '"/path", "me"' 'async_leader()' >"$work/election.cpp"
echo '#include <colock/fwd.hpp>' >"$work/fwd.cpp"

declare -A least
for ((round = 0; round < rounds; ++round)); do
    for tree; do
        for source in "$work"/*.cpp; do
            header=$(basename "$source" .cpp)
            # shellcheck disable=SC2086
            taken=$({ time "${CXX:-c++}" -std=c++20 -O2 -c ${CXXFLAGS-} -I "$tree/include" \
                "$source" -o "$work/object.o" 2>"$work/said" || { cat "$work/said" >&3; exit 1; }; } 2>&1)
            key="$tree $header"
            if [[ -z ${least[$key]-} ]] || ((10#${taken/./} < 10#${least[$key]/./})); then
                least[$key]=$taken
            fi
        done
    done
done

printf '%-20s' header
for tree; do printf '  %s' "$tree"; done
echo
for source in "$work"/*.cpp; do
    header=$(basename "$source" .cpp)
    printf '%-20s' "$header.hpp"
    for tree; do printf "  %${#tree}s" "${least["$tree $header"]} s"; done
    echo
done
