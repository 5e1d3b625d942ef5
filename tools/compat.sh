#!/usr/bin/env bash
# `./dev compat`: which compilers, versions and settings colock works with. `./dev compat --help`
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
source=$PWD
results=$PWD/build/compat

usage() {
    cat <<'END'
./dev compat [--quick] [--ccache DIRECTORY] [ROW...]

For each row, or those named: compiles the library, its public headers, examples and tests in a clean root of Debian,
runs the tests on real servers, and prints a line of a Markdown table. The output is kept in build/compat/ROW.log. The
exit status is 1 when a row fails.

  --quick              one example, and the fewest tests
  --ccache DIRECTORY   lends the compilers a cache
  --table              prints the table of the last results, and runs nothing
  --list               lists the rows

test/records/compatibility.md has the table of all rows.
END
}

die() {
    printf 'compat: %s\n' "$@" >&2
    exit 1
}

# ---------------------------------------------------------------------------------------- rows

# name | root | compiler | C++ | flags | CMake options | jars of the server from | what is special, in words
rows() {
    local no_stream_of_linux='-DBOOST_ASIO_DISABLE_EPOLL -DBOOST_ASIO_DISABLE_EVENTFD -DBOOST_ASIO_DISABLE_TIMERFD'
    local libcxx='-DCOLOCK_BOOST_TEST_FROM_HEADERS=ON -DCMAKE_DISABLE_FIND_PACKAGE_prometheus-cpp=ON'
    local cobalt='-DCOLOCK_COBALT_SOURCES=/usr/src/boost/libs/cobalt/src'
    local module='-DCOLOCK_MODULE=ON -DCOLOCK_BUILD_TESTING=ON'
    emulated() { # PROCESSOR
        echo "-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=$1 -DCMAKE_CXX_COMPILER_TARGET=$1-linux-gnu" \
            "-DCMAKE_CROSSCOMPILING_EMULATOR=/usr/bin/qemu-$1-static"
    }
    cat <<END
gcc-12|12|g++-12|20||||
gcc-12-server-3.9|12|g++-12|20|||13|
gcc-12-strict|12|g++-12|23|-DBOOST_ASIO_NO_DEPRECATED|||\`BOOST_ASIO_NO_DEPRECATED\`
gcc-12-no-rtti|12|g++-12|20|-fno-rtti|$libcxx||\`-fno-rtti\`
gcc-12-portable|12|g++-12|20|$no_stream_of_linux|-DCOLOCK_PORTABLE=ON||\`COLOCK_PORTABLE\`, Asio without epoll, eventfd and timerfd
gcc-12-no-tls|12|g++-12|20||-DCOLOCK_TLS=OFF -DCOLOCK_BUILD_CLI=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0||without TLS; the program; one batch of sources
gcc-12-i386|12-i386|g++-12|20||||32-bit (i386)
clang-14|12|clang++-14|20||||
clang-14-arm64|12-arm64|clang++-14|20||$(emulated aarch64)||64-bit ARM, emulated
clang-14-s390x|12-s390x|clang++-14|20||$(emulated s390x)||s390x (big-endian), emulated
clang-16-libc++|12|clang++-16|20|-stdlib=libc++|$libcxx||
clang-19|12|clang++-19|20||||
gcc-14|13|g++-14|20||$cobalt||
gcc-14-server-3.8|13|g++-14|20||$cobalt|12|
gcc-14-c++23|13|g++-14|23||$cobalt||
clang-19-libc++|13|clang++-19|23|-stdlib=libc++|$libcxx $module||the module \`colock\`
END
}

row_names() { rows | cut -d'|' -f1; }

# What a root needs, beside what makes it. NAME:ARCHITECTURE is of another processor than this one.
packages() { # ROOT
    local common=(ca-certificates python3 cmake ninja-build ccache openssl strace libcli11-dev default-jre-headless
        libzookeeper-java libnetty-java)
    local boost libraries other=''
    case $1 in
        12*) boost=1.81 ;;
        13) boost=1.88 ;;
    esac
    libraries=("libboost$boost-dev" libboost-{test,context,program-options}"$boost-dev" libzookeeper-st-dev libssl-dev)
    case $1 in
        # Debian 12 cannot install its own libc++ 19.
        12) libraries+=(g++-12 clang-14 clang-16 clang-19 libc++-16-dev libc++abi-16-dev prometheus-cpp-dev libsqlite3-dev) ;;
        12-i386) libraries+=(g++-12 libsqlite3-dev) ;;
        12-arm64) other=arm64 common+=(binutils-aarch64-linux-gnu) ;;
        12-s390x) other=s390x common+=(binutils-s390x-linux-gnu) ;;
        13) libraries+=(g++-14 clang-19 clang-tools-19 libc++-19-dev libc++abi-19-dev prometheus-cpp-dev libsqlite3-dev
            dpkg-dev pkg-config) ;;
    esac
    if [[ -n $other ]]; then
        common+=(qemu-user-static clang-14)
        libraries+=(libstdc++-12-dev libsasl2-dev libsasl2-modules)
    fi
    printf '%s\n' "${common[@]}" "${libraries[@]/%/${other:+:$other}}"
}

make_root() { # ROOT
    local name=compat-$1 lock status=0
    mkdir -p build/roots
    exec {lock}>"build/roots/$name.lock"
    flock "$lock" # rows may run at the same time
    make_root_alone "$1" || status=1
    exec {lock}>&-
    return $status
}

# Debian's packages have no library of Boost.Cobalt.
# shellcheck disable=SC2016
sources_of_cobalt='
sed -n "s/^deb /deb-src /p" /etc/apt/sources.list >/etc/apt/sources.list.d/sources.list
apt-get update -qq
cd /usr/src
apt-get source -qq --download-only boost1.88
tar -xf boost1.88_*.orig.tar.xz --wildcards "*/libs/cobalt/src/*"
rm boost1.88_*
'

# Debian's security updates are not made for each processor, and a package of two has one version.
# shellcheck disable=SC2016
packages_of_two='
dpkg --add-architecture "$1"
shift
sed -i /-security/d /etc/apt/sources.list
apt-get update -qq
apt-get install --yes --no-install-recommends -qq -o Dpkg::Use-Pty=0 "$@"
'

make_root_alone() { # ROOT
    local name=compat-$1 wanted architecture=()
    wanted=$(packages "$1" | sort)
    if [[ -d build/roots/$name && $(cat "build/roots/$name.packages" 2>/dev/null) == "$wanted" ]]; then
        return
    fi
    rm -f "build/roots/$name.packages" # of a root that is whole
    [[ $1 != *-i386 ]] || architecture=(--arch i386)
    echo "== the root of Debian $1" >&2
    # shellcheck disable=SC2086
    if [[ $wanted == *:* ]]; then
        tools/debian_root.sh create "$name" "${1%%-*}" || return 1
        tools/debian_root.sh run "$name" sh -ec "$packages_of_two" sh "${1#*-}" $wanted >"build/roots/$name.log" 2>&1 ||
            { tail -20 "build/roots/$name.log" >&2; return 1; }
    else
        tools/debian_root.sh create "$name" "${1%%-*}" "${architecture[@]}" $wanted || return 1
    fi
    [[ $1 != 13 ]] || tools/debian_root.sh run "$name" sh -ec "$sources_of_cobalt" || return 1
    printf '%s\n' "$wanted" >"build/roots/$name.packages"
}

# ------------------------------------------------------------------------------------- one row

# Without a server, with one, with one that is reached through a proxy, and over TLS.
quick_tests=(heartbeat hosts tls_session mutex_basics client_connection client_connection_tls)
tests=("${quick_tests[@]}" owner_data lockables lock_replies examples)
# Of another processor, where a program cannot start another one: what depends on bytes, and conversations with both servers.
emulated_tests=("${quick_tests[@]:3}" lockables lock_replies served_frames served_bounds served_kit world_conversation_served)

# Runs in the root. The sources are at /colock, and the build at /build.
# shellcheck disable=SC2016
in_root='
set -eu
say() { printf "compat: %s: %s\n" "$1" "$2"; }
say compiler "$("$cxx" --version | sed -n "1s/^g++.*) /GCC /;1s/^Debian //;1s/ (.*//;1s/ version / /;1p")"
say boost "$(sed -n "s/.*BOOST_LIB_VERSION \"\(.*\)\"/\1/p" /usr/include/boost/version.hpp | tr _ .)"
say client "$(sed -n "s/.*ZOO_VERSION \"\(.*\)\"/\1/p" /usr/include/zookeeper/zookeeper_version.h)"
say server "$(basename /usr/share/java/zookeeper-[0-9]*.jar .jar | sed s/zookeeper-//)"
say java "$(java -version 2>&1 | sed -n "s/^openjdk version \"\([0-9]*\).*/\1/p")"
cmake -S /colock -B /build -G Ninja -D CMAKE_CXX_COMPILER="$cxx" -D CMAKE_CXX_STANDARD="$standard" \
    -D CMAKE_CXX_FLAGS="$flags" -D CMAKE_BUILD_TYPE=Debug -D CMAKE_CXX_FLAGS_DEBUG=-O0 -D CMAKE_UNITY_BUILD=ON \
    -D CMAKE_UNITY_BUILD_BATCH_SIZE=12 -D COLOCK_BUILD_TESTS=ON -D COLOCK_BUILD_EXAMPLES=ON -D COLOCK_BUILD_BENCH=OFF \
    -D COLOCK_BUILD_CLI=OFF $options >/build/configure.log 2>&1 || { cat /build/configure.log; exit 1; }
began=$(date +%s)
cmake --build /build --target $targets
say compiled $(($(date +%s) - began))
began=$(date +%s)
ctest --test-dir /build --output-on-failure --no-tests=error --timeout 600 --tests-regex "^($tests)\$"
say tested $(($(date +%s) - began))
'

run_row() { # ROW
    local name root cxx standard flags options jars special status=0 place build log run targets=() test list
    IFS='|' read -r name root cxx standard flags options jars special < <(rows | grep "^$1|" | head -1)
    make_root "$root" || return 1
    [[ -z $jars ]] || make_root "$jars" || return 1
    place=$name
    [[ -z $jars ]] || place=${name%-server-*} # the same programs, with another server
    build=$results/$place
    log=$results/$name.log
    mkdir -p "$build"

    local chosen=("${tests[@]}")
    if [[ $options == *COLOCK_TLS=OFF* ]]; then
        read -ra chosen <<<"${chosen[*]//*tls*/}" # there are none over TLS
        targets+=(cli/all)
    fi
    if [[ $options == *EMULATOR* ]]; then
        mapfile -t chosen < <(sed -n 's/.*colock_add_test(NAME \([a-z_]*\).*/\1/p' test/unit/CMakeLists.txt)
        chosen+=("${emulated_tests[@]}")
    fi
    [[ $options != *MODULE* ]] || chosen+=(consume_module)
    # Completion tokens that the first Boost does not have, and its SHA-1, which has changed.
    [[ $options != *COBALT* ]] || chosen+=(tokens_in_use tokens_of_later_boost tokens_cobalt world_requests)
    if ((quick)); then
        chosen=("${quick_tests[@]}")
        targets+=(hello_lock)
    elif [[ -z $jars && $options != *EMULATOR* ]]; then
        targets+=(examples/all)
    fi
    [[ $options == *EMULATOR* ]] || targets+=(test/headers/all)
    targets+=(lib/all)
    for test in "${chosen[@]}"; do
        [[ $test == consume_* ]] || targets+=("${test%_tls}")
    done
    [[ " ${chosen[*]} " != *' consume_module '* ]] || targets+=(testing/all)
    list=$(IFS='|' && echo "${chosen[*]}")

    run=(tools/debian_root.sh run "compat-$root" --read-only "$source:/colock" --writable "$build:/build"
        --env cxx="$cxx" --env standard="$standard" --env flags="$flags" --env options="$options"
        --env targets="${targets[*]}" --env tests="$list")
    [[ -z $ccache ]] || run+=(--writable "$ccache:/ccache" --env CCACHE_DIR=/ccache --env CCACHE_BASEDIR=/colock)
    # Jars name others by where they lie.
    [[ -z $jars ]] || run+=(--read-only "$PWD/build/roots/compat-$jars/usr/share/java:/usr/share/java")

    echo "== $name: build/compat/$name.log" >&2
    "${run[@]}" sh -c "$in_root" >"$log" 2>&1 || status=1
    write_line "$name" "$standard" "$flags" "$special" $status >"$results/$name.row"
    ((status == 0)) || tail -25 "$log" >&2
    return $status
}

# ----------------------------------------------------------------------------------- the table

write_line() { # NAME STANDARD FLAGS SPECIAL STATUS
    local log=$results/$1.log library=libstdc++ result
    of() { sed -n "s/^compat: $1: //p" "$log"; }
    [[ $3 != *libc++* ]] || library=libc++
    if (($5 == 0)); then
        result="$(grep -cE '^ *[0-9]+/[0-9]+ Test .* Passed' "$log") tests passed in $(of tested) s"
    elif [[ -n $(of compiled) ]]; then
        result="**tests fail**: $(sed -nE 's/^[ \t]+[0-9]+ - ([a-z0-9_]+) .*/\1/p' "$log" | paste -sd' ')"
    else
        result='**does not compile**'
    fi
    # shellcheck disable=SC2016
    printf '| `%s` | %s | %s | %s | %s | %s | %s (Java %s) | %s | %s |\n' "$1" "$(of compiler)" "$library" "$2" \
        "$(of boost)" "$(of client)" "$(of server)" "$(of java)" "$4" "$result"
}

print_table() { # ROW...
    local name
    echo '| row | compiler | library | C++ | Boost | C client | server | special | result |'
    echo '|---|---|---|---|---|---|---|---|---|'
    for name; do
        [[ ! -f $results/$name.row ]] || cat "$results/$name.row"
    done
}

main() {
    local names=() all status=0 name
    quick=0 ccache=''
    mapfile -t all < <(row_names)
    while (($#)); do
        case $1 in
            -h | --help) usage && return ;;
            --list) printf '%s\n' "${all[@]}" && return ;;
            --table) print_table "${all[@]}" && return ;;
            --quick) quick=1 ;;
            --ccache)
                [[ -d ${2-} ]] || die '--ccache needs a directory'
                ccache=$(cd "$2" && pwd)
                shift
                ;;
            -*) die "unknown option '$1'" ;;
            *)
                [[ " ${all[*]} " == *" $1 "* ]] || die "there is no row '$1'; there are: ${all[*]}"
                names+=("$1")
                ;;
        esac
        shift
    done
    ((${#names[@]})) || names=("${all[@]}")
    mkdir -p "$results"
    for name in "${names[@]}"; do
        run_row "$name" || status=1
    done
    print_table "${names[@]}"
    return $status
}
main "$@"
