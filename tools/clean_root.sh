#!/usr/bin/env bash
# `./dev clean-root`: what a new user does, in a Debian that has nothing prepared. `./dev clean-root --help`
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    cat <<'END'
./dev clean-root 12|13 [--ccache DIRECTORY] [COMMAND...]

In a root of Debian 12 or 13 that debootstrap has just made (minbase, sudo, git and ca-certificates), a user without
privileges, who may use sudo, clones the repository as it is committed, and runs ./dev with each COMMAND: demo and test
unless told. The time that each took is printed. The output is kept in build/clean-root-*.log, and the root until the
next run if a command fails.

  --ccache DIRECTORY   lends the compiler a cache, in which every user may write, for those who work on this command: the
                       root is not clean then
END
}

die() {
    printf 'clean-root: %s\n' "$@" >&2
    exit 1
}

main() {
    local release=${1---help} ccache='' root log bundle as_user started status=0
    case $release in
        12 | 13) shift ;;
        -h | --help) usage && return ;;
        *) die "Debian 12 or 13, not '$release'" ;;
    esac
    if [[ ${1-} == --ccache ]]; then
        [[ -d ${2-} ]] || die '--ccache needs a directory'
        ccache=$(cd "$2" && pwd)
        shift 2
    fi
    (($#)) || set -- demo test

    root=clean-$release
    log=build/clean-root-$release.log
    mkdir -p build
    git diff --quiet HEAD || echo '== what is not committed is left out' >&2
    started=$SECONDS
    tools/debian_root.sh create "$root" "$release" sudo git ca-certificates ${ccache:+ccache}
    tools/debian_root.sh run "$root" sh -ec '
        useradd --create-home --shell /bin/bash newcomer
        echo "newcomer ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/newcomer
        mkdir /srv/repository'
    bundle=$(mktemp -d)
    # shellcheck disable=SC2064
    trap "rm -rf '$bundle'" EXIT
    git bundle create --quiet "$bundle/colock.bundle" HEAD
    chmod 755 "$bundle"

    as_user=(tools/debian_root.sh run "$root" --user newcomer --read-only "$bundle:/srv/repository")
    if [[ -n $ccache ]]; then
        as_user+=(--writable "$ccache:/srv/ccache" --env CCACHE_DIR=/srv/ccache --env CCACHE_BASEDIR=/home/newcomer/colock
            --env CCACHE_UMASK=000)
    fi
    "${as_user[@]}" git -c advice.detachedHead=false clone --quiet /srv/repository/colock.bundle colock
    printf '== Debian %s (%s), commit %s: root and clone after %d s\n' "$release" \
        "$("${as_user[@]}" cat /etc/debian_version)" "$(git rev-parse --short HEAD)" $((SECONDS - started)) | tee "$log"
    for command; do
        started=$SECONDS
        # shellcheck disable=SC2016
        if "${as_user[@]}" sh -c 'cd colock && ./dev "$1" </dev/null' sh "$command" 2>&1 | tee -a "$log"; then
            printf '== ./dev %s succeeded in %d s\n' "$command" $((SECONDS - started)) | tee -a "$log"
        else
            printf '== ./dev %s FAILED after %d s\n' "$command" $((SECONDS - started)) | tee -a "$log"
            status=1
            break
        fi
    done
    ((status)) || tools/debian_root.sh remove "$root"
    grep -E '^== (Debian|\./dev)' "$log" | sed 's/^== /clean-root: /'
    return $status
}
main "$@"
