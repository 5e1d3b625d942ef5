#!/usr/bin/env bash
# `./dev clean-root`: what a new user does, in a Debian that has nothing prepared. `./dev clean-root --help`
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    cat <<'END'
./dev clean-root 12|13 [--ccache DIRECTORY] [COMMAND...]
./dev clean-root 12|13 [--ccache DIRECTORY] --pages [PAGE...]

In a root of Debian 12 or 13 that debootstrap has just made (minbase, sudo, git and ca-certificates), a user without
privileges, who may use sudo, clones the repository as it is committed, and runs ./dev with each COMMAND: demo and test
unless told. The time that each took is printed. The output is kept in build/clean-root-*.log, and the root until the
next run if a command fails.

With --pages the user does what the pages say, those of the list below unless told, each in a home of its own: their commands
are run, and their files written, as tools/page_run.py --help has it. The user answers yes to apt. A page that begins where
another one ended, with colock installed, counts that one's time, too. What is left out is printed at the end.

  --ccache DIRECTORY   lends the compiler a cache, in which every user may write, for those who work on this command: the
                       root is not clean then
END
}

die() {
    printf 'clean-root: %s\n' "$@" >&2
    exit 1
}

# The first three install colock themselves.
pages=(
    docs/tutorial.md README.md docs/install.md
    docs/scripts.md 'docs/command.md#cron-from-every-machine' 'docs/command.md#run-a-command-as-the-leader'
    'docs/operating.md#when-a-lock-does-not-go-on' docs/metrics.md 'docs/command.md#a-command-for-each-shard'
    docs/test-your-program.md docs/fencing.md docs/security.md
)

# Does what a page says, once for all pages that begin where it ended.
declare -A took
run_page() { # RELEASE PAGE
    local page=$2 before name
    [[ -z ${took[$page]-} ]] || return 0
    before=$(tools/page_run.py --before "$page") || return 1
    [[ -z $before ]] || run_page "$1" "$before" || return 1
    name=${page//[^[:alnum:]]/-}
    tools/page_run.py --debian "$1" "$page" >"$bundle/$name" || return 1
    # shellcheck disable=SC2016
    "${as_user[@]}" --env NAME="$name" bash -c '
        mkdir "$NAME" && cd "$NAME" && export HOME=$PWD &&
            git -c advice.detachedHead=false clone --quiet /srv/repository/colock.bundle colock &&
            exec bash "/srv/repository/$NAME"' </dev/null 2>&1 | tee "build/page-$1-$name.log" | tee -a "$log" || return 1
    took[$page]=$(($(sed -n 's/^== page: .*: \([0-9]*\) s, .*/\1/p' "build/page-$1-$name.log") + ${before:+${took[$before]}} + 0))
    printf '== page %s: %d s in all\n' "$page" "${took[$page]}" | tee -a "$log"
}

run_pages() { # RELEASE PAGE...
    local page status=0
    tools/debian_root.sh run "$root" sh -c "echo 'APT::Get::Assume-Yes \"true\";' >/etc/apt/apt.conf.d/90answers-yes"
    for page in "${@:2}"; do
        run_page "$1" "$page" || {
            status=1
            printf '== page %s FAILED\n' "$page" | tee -a "$log"
        }
    done
    tools/page_run.py --left-out "${@:2}" | tee -a "$log" || status=1
    return $status
}

main() {
    local release=${1---help} ccache='' started status=0
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
    if [[ ${1-} == --pages ]]; then
        (($# > 1)) || set -- "$1" "${pages[@]}"
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
        as_user+=(--writable "$ccache:/srv/ccache" --env CCACHE_DIR=/srv/ccache --env CCACHE_BASEDIR=/home/newcomer
            --env CCACHE_UMASK=000 --env CMAKE_CXX_COMPILER_LAUNCHER=ccache)
    fi
    "${as_user[@]}" git -c advice.detachedHead=false clone --quiet /srv/repository/colock.bundle colock
    printf '== Debian %s (%s), commit %s: root and clone after %d s\n' "$release" \
        "$("${as_user[@]}" cat /etc/debian_version)" "$(git rev-parse --short HEAD)" $((SECONDS - started)) | tee "$log"
    if [[ $1 == --pages ]]; then
        run_pages "$release" "${@:2}" || status=1
        set --
    fi
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
    grep -E '^== (Debian|\./dev|page)' "$log" | sed 's/^== /clean-root: /'
    return $status
}
main "$@"
