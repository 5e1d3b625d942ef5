#!/usr/bin/env bash
# Clean Debian roots in build/roots, and commands that run in them. `tools/debian_root.sh --help`
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
roots=$PWD/build/roots

usage() {
    cat <<'END'
tools/debian_root.sh: clean Debian roots, and commands in them; by root, or by a user with sudo

usage: tools/debian_root.sh create NAME 12|13 [--arch ARCHITECTURE] [PACKAGE...]
           makes build/roots/NAME anew: what debootstrap calls minbase, and those packages. The mirror, its keys and
           the proxy are those of this system's apt. The first root of a release is kept as build/roots/debian-*.tar
       tools/debian_root.sh run NAME [OPTION...] COMMAND [ARGUMENT...]
           runs a command in that root, as root and in /, with this system's network; what it has started ends with it
           --read-only DIRECTORY:PLACE   shows a directory of this system at a place in the root
           --writable DIRECTORY:PLACE    ... where the command may write
           --user NAME                   runs the command as that user of the root, in the user's home
           --env NAME=VALUE              sets a variable; no other comes from outside
       tools/debian_root.sh remove NAME
END
}

die() {
    printf 'debian_root: %s\n' "$@" >&2
    exit 1
}

as_root() {
    if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

# Its mounts and processes end with it, and with this script.
apart() {
    as_root setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc "$@"
}

root_of() { # NAME
    [[ ${1-} =~ ^[a-z0-9][a-z0-9_.-]*$ ]] || die "'${1-}' is no name of a root"
    printf '%s\n' "$roots/$1"
}

codename() { # 12|13
    case $1 in
        12) echo bookworm ;;
        13) echo trixie ;;
        *) die "Debian 12 or 13, not '$1'" ;;
    esac
}

# The repositories of this system that Debian has for each release, as "URI SUITE COMPONENT", for another release.
repositories() { # CODENAME
    local VERSION_CODENAME=''
    # shellcheck disable=SC1091
    . /etc/os-release
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Identifier: Packages' |
        sed -nE "s/^((http|https|file):.*) $VERSION_CODENAME((-updates|-security)? main)\$/\1 $1\3/p" | sort -u
}

bootstrap() { # RELEASE ARCHITECTURE TARBALL
    local suite base mirror proxy='' keyring log=$3.log
    suite=$(codename "$1")
    base=$(mktemp -d "$roots/base.XXXXXX")
    # shellcheck disable=SC2064
    trap "as_root rm -rf --one-file-system '$base' '$base.tar'" EXIT
    mirror=$(repositories "$suite" | awk -v suite="$suite" '$2 == suite { print $1; exit }')
    [[ -n $mirror ]] || die "apt knows no mirror of Debian's here, by http, https or file; does apt-get update succeed?"
    eval "$(apt-config shell proxy Acquire::http::Proxy)"
    keyring=$(compgen -G '/usr/share/keyrings/debian-archive-keyring.[gp][pg][gp]' | head -1) ||
        die 'the keys of Debian are missing: apt-get install debian-archive-keyring'

    echo "== debootstrap: Debian $1 ($2) from $mirror" >&2
    apart env ${proxy:+http_proxy="$proxy"} debootstrap --variant=minbase --arch="$2" --keyring="$keyring" \
        "$suite" "$base" "$mirror" >"$log" 2>&1 || { tail -20 "$log" >&2; die "debootstrap failed; its words: $log"; }

    repositories "$suite" | sed 's/^/deb /' | as_root tee "$base/etc/apt/sources.list" >/dev/null
    { apt-config dump | grep -E '^Acquire::(http|https|Check-Valid-Until|Check-Date)' || true; } |
        as_root tee "$base/etc/apt/apt.conf.d/90as-outside" >/dev/null
    printf '127.0.0.1 localhost\n::1 localhost ip6-localhost\n127.0.1.1 %s\n' "$(uname -n)" |
        as_root tee "$base/etc/hosts" >/dev/null
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$base/usr/sbin/policy-rc.d" >/dev/null # no daemon starts
    echo force-unsafe-io | as_root tee "$base/etc/dpkg/dpkg.cfg.d/90unsafe-io" >/dev/null # nothing here must survive
    as_root chmod 755 "$base/usr/sbin/policy-rc.d" "$base"
    as_root tar -C "$base" --one-file-system --numeric-owner -cf "$base.tar" . # another one may do this at the same time
    as_root mv "$base.tar" "$3"
}

create() { # NAME RELEASE [--arch ARCHITECTURE] [PACKAGE...]
    local root release=${2-} architecture tarball
    root=$(root_of "${1-}")
    codename "$release" >/dev/null
    shift 2
    architecture=$(dpkg --print-architecture)
    if [[ ${1-} == --arch ]]; then
        architecture=$2
        shift 2
    fi
    command -v debootstrap >/dev/null || die 'debootstrap is missing: apt-get install debootstrap'
    mkdir -p "$roots"
    tarball=$roots/debian-$release-$architecture.tar
    [[ -f $tarball ]] || (bootstrap "$release" "$architecture" "$tarball")

    remove "${root##*/}"
    as_root mkdir "$root"
    as_root tar -C "$root" --numeric-owner -xf "$tarball"
    # A mirror that is being updated lacks a list for a while; what cannot be installed then shows below.
    run "${root##*/}" apt-get update -qq || echo "== debian_root: not all lists of packages are there" >&2
    if (($#)); then
        run "${root##*/}" apt-get install --yes --no-install-recommends -qq -o Dpkg::Use-Pty=0 "$@" >"$root.log" 2>&1 ||
            { tail -20 "$root.log" >&2; die "apt cannot install in $root: $*"; }
    fi
}

remove() { # NAME
    local root
    root=$(root_of "${1-}")
    as_root rm -rf --one-file-system "$root"
}

# Within: mounts what a program expects, and leaves for the root.
# shellcheck disable=SC2016
enter='
set -euo pipefail
root=$1
shift
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount --rbind /dev "$root/dev"
cat /etc/resolv.conf >"$root/etc/resolv.conf"
user=root environment=()
while [[ $1 != -- ]]; do
    case $1 in
        --read-only | --writable)
            mkdir -p "$root/${2#*:}"
            mount --bind "${2%%:*}" "$root/${2#*:}"
            [[ $1 == --writable ]] || mount -o remount,bind,ro "$root/${2#*:}"
            ;;
        --user) user=$2 ;;
        --env) environment+=("$2") ;;
    esac
    shift 2
done
shift
uid=0 gid=0 home=/
if [[ $user != root ]]; then
    IFS=: read -r _ _ uid gid _ home _ < <(grep "^$user:" "$root/etc/passwd")
fi
umask 022
exec chroot "$root" setpriv --reuid "$uid" --regid "$gid" --clear-groups \
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$home" USER="$user" \
    LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive ${TERM:+TERM="$TERM"} "${environment[@]}" \
    sh -c "cd \"\$HOME\" && exec \"\$@\"" sh "$@"
'

run() { # NAME [OPTION...] COMMAND [ARGUMENT...]
    local root options=()
    root=$(root_of "${1-}")
    [[ -d $root ]] || die "there is no root $root: create it first"
    shift
    while [[ ${1-} == --* ]]; do
        case $1 in
            --read-only | --writable) [[ ${2-} == /*:/* ]] || die "$1 DIRECTORY:PLACE, both from /" ;;
            --user) [[ ${2-} == root ]] || grep -q "^${2-}:" "$root/etc/passwd" || die "the root has no user '${2-}'" ;;
            --env) [[ ${2-} == *=* ]] || die '--env NAME=VALUE' ;;
            *) die "run: unknown option '$1'" ;;
        esac
        options+=("$1" "$2")
        shift 2
    done
    (($#)) || die 'run: which command?'
    apart bash -c "$enter" bash "$root" "${options[@]}" -- "$@"
}

main() {
    case ${1---help} in
        create | run | remove) "$@" ;;
        -h | --help) usage ;;
        *) die "unknown command '$1'" ;;
    esac
}
main "$@"
