#!/usr/bin/env bash
# Debian packages of colock, in build/packages. `tools/packages.sh --help`
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
packages=$PWD/build/packages

usage() {
    cat <<'END'
usage: ./dev packages [--check]

Builds Debian packages into build/packages: libcolock1.0; libcolock-dev, also with what tests of programs need; and
colock, which has the program. Lintian looks at them.

  --check   also installs them in a clean root of this release of Debian, builds programs there with CMake and with
            pkg-config, and runs them and the program colock; needs root, or sudo
END
}

say() { printf '== %s\n' "$*" >&2; }
die() {
    printf 'packages: %s\n' "$@" >&2
    exit 1
}

version() {
    sed -n 's/^#define COLOCK_VERSION_STRING "\(.*\)"/\1/p' include/colock/version.hpp
}

# The same packages come of the same sources at the same time.
made() {
    local seconds=${SOURCE_DATE_EPOCH-}
    [[ -n $seconds ]] || seconds=$(git log -1 --format=%ct 2>/dev/null) || seconds=$(date +%s)
    date --utc --rfc-email --date "@$seconds"
}

build() {
    local source=$packages/source version maintainer
    version=$(version)
    maintainer=$(sed -n 's/^Maintainer: //p' packaging/debian/control)
    rm -rf "$packages"
    mkdir -p "$source"
    cp -r CMakeLists.txt LICENSE CHANGELOG.md cmake include lib cli testing "$source"
    cp -r packaging/debian "$source/debian"
    printf 'colock (%s) unstable; urgency=medium\n\n  * CHANGELOG.md says what is new.\n\n -- %s  %s\n' \
        "$version" "$maintainer" "$(made)" >"$source/debian/changelog"

    say "building packages of colock $version; their log: build/packages/build.log"
    # Debug information, which would be packages of its own, makes it a third slower.
    (
        cd "$source"
        export DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS-} noautodbgsym parallel=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
        export DEB_CXXFLAGS_STRIP=-g
        dpkg-buildpackage --build=binary --no-sign
    ) >"$packages/build.log" 2>&1 || {
        tail -40 "$packages/build.log" >&2
        die 'dpkg-buildpackage failed'
    }
    (cd "$packages" && ls -- *.deb)

    say 'lintian'
    lintian --fail-on error,warning --display-info --allow-root "$packages"/*.changes
}

# What a user does with them.
# shellcheck disable=SC2016
try='
set -euo pipefail
run() { printf "$ %s\n" "$*"; "$@"; }
run apt-get install --yes --no-install-recommends -qq -o Dpkg::Use-Pty=0 /packages/*.deb >/install.log 2>&1 ||
    { tail -20 /install.log; exit 1; }
run colock --version
run colock --help | sed -n 1,3p
coproc served { exec colock serve --port 0 --quiet; }
pid=$served_PID
read -r address <&"${served[0]}"
run colock run --servers "$address" /locks/first -- echo it has the lock
kill "$pid"
run man --where colock colock-run
MANPAGER=cat run man colock | sed -n 1,5p
for file in bash-completion/completions/colock zsh/vendor-completions/_colock fish/vendor_completions.d/colock.fish; do
    test -s "/usr/share/$file"
done

run c++ -std=c++20 /consume/main.cpp -o /by-pkg-config $(pkg-config --cflags --libs colock)
run /by-pkg-config
printf "%s\n" "#include <colock/client_options.hpp>" "#include <iostream>" \
    "int main() { std::cout << colock::installed_session_guard(); }" >/guard.cpp
run c++ -std=c++20 /guard.cpp -o /guard $(pkg-config --cflags --libs colock)
run test -x "$(/guard)"
run test -f "$(/guard)"-*.so
run c++ -std=c++20 /consume/tls.cpp -o /tls-by-pkg-config $(pkg-config --cflags --libs colock-tls)
run /tls-by-pkg-config
run cmake -S /consume/find_package -B /by-cmake -D COLOCK_COMPONENTS=tls >/dev/null
run cmake --build /by-cmake >/dev/null
run /by-cmake/consumer
run /by-cmake/tls_consumer
run cmake -S /consume/find_testing -B /tests >/dev/null
run cmake --build /tests >/dev/null
run ctest --test-dir /tests --no-tests=error | grep "tests passed, 0 .* out of 3"
run cmake -S /consume/find_testing_world -B /world >/dev/null
run cmake --build /world >/dev/null
run /world/consumer | sed -n 1p

run apt-get purge --yes -qq -o Dpkg::Use-Pty=0 colock libcolock-dev "libcolock1*" >/dev/null
left=$(find /usr /etc /var/lib -path /var/lib/dpkg -prune -o -name "*colock*" -print)
test -z "$left" || { printf "left behind: %s\n" $left; exit 1; }
'

check() {
    local name=packages VERSION_ID='' boost
    # shellcheck disable=SC1091
    . /etc/os-release
    say "a clean root of Debian $VERSION_ID"
    boost=$(dpkg-query --search /usr/include/boost/version.hpp | cut -d: -f1)
    tools/debian_root.sh create "$name" "$VERSION_ID" g++ cmake make man-db pkg-config catch2 libgtest-dev \
        "${boost/libboost/libboost-test}"
    # shellcheck disable=SC2064
    trap "tools/debian_root.sh remove '$name'" EXIT
    tools/debian_root.sh run "$name" --read-only "$packages:/packages" --read-only "$PWD/test/consume:/consume" \
        bash -c "$try"
    say 'they install, and programs link and run'
}

case ${1-} in
    '') build ;;
    --check)
        build
        check
        ;;
    -h | --help) usage ;;
    *) die "unknown option '$1'; there is --check" ;;
esac
