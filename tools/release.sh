#!/usr/bin/env bash
# What a release consists of, in build/release-VERSION; nothing is uploaded. `tools/release.sh --help`
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    cat <<'END'
usage: ./dev release VERSION [--url URL] [--twice]
       ./dev release --check

Makes a release of the commit that is checked out, in build/release-VERSION: the archive of the sources; from the archive
alone, in a clean root of Debian 12, the Debian packages; recipes of Conan and vcpkg that fetch the archive; the file for
containers; what it is made of, as SPDX; the notes; and the checksums of all these. Nothing is uploaded.

Before that the tree has to be clean, the last ./dev nightly whole and green, with nothing but pages changed since, and the
version the same everywhere, with a date in CHANGELOG.md.

  --url URL   where the archive will be, for the recipes (https://colock.invalid/colock-VERSION.tar.gz)
  --twice     makes everything twice, and compares the checksums
  --check     looks only whether the version is the same everywhere, and CHANGELOG.md has it
END
}

say() { printf '== %s\n' "$*" >&2; }
die() {
    printf 'release: %s\n' "$@" >&2
    exit 1
}

# ------------------------------------------------------------------------------------------- checks

check_version() {
    local stands
    stands=$(sed -n 's/^#define COLOCK_VERSION_STRING "\(.*\)"/\1/p' include/colock/version.hpp)
    version=${version:-$stands}
    [[ $version == "$stands" ]] || die "include/colock/version.hpp says $stands, not $version"
    cmake -P test/house/versions.cmake || die 'the version is not the same everywhere'
    heading=$(grep -F "## [$version] - " CHANGELOG.md) || die "CHANGELOG.md has no section '## [$version] - DATE'"
}

# ./dev nightly was whole and green at this commit, or at one before it from which only pages differ.
check_nightly() {
    local report=build/nightly/report.md commit check changed
    [[ -f $report ]] || die "there is no $report: run ./dev nightly"
    commit=$(sed -n 's/^Commit \([^,]*\),.*/\1/p' "$report")
    git merge-base --is-ancestor "$commit" HEAD 2>/dev/null || die "./dev nightly ran at $commit, which this commit does not follow"
    for check in $(tools/nightly.sh --list); do
        grep -q "^| $check | ok |" "$report" || die "$report does not say that $check is ok"
    done
    changed=$(git diff --name-only "$commit" HEAD -- . ':!*.md' ':!docs')
    [[ -z $changed ]] || die "since ./dev nightly ran, at $commit, these have changed:" "$changed"
}

# -------------------------------------------------------------------------------------------- makes

archive() { # the same bytes wherever git and gzip are the same
    git -c tar.umask=0022 archive --format=tar --prefix="colock-$version/" HEAD | gzip -9n >"$out/$name.tar.gz"
}

# In a clean root: nothing but the archive and what Debian has.
packages() {
    local root=release tools needs
    # Those that packages.sh runs, and those of which the sources are built.
    tools=(build-essential lintian libboost1.81-dev)
    mapfile -t needs < <(sed -n '/^Build-Depends:/,/^[A-Z]/s/^ \([a-z0-9.-]*\).*/\1/p' packaging/debian/control |
        sed 's/^debhelper-compat$/debhelper/' | sort -u)
    tools/debian_root.sh create "$root" 12 "${tools[@]}" "${needs[@]}"
    [[ ! -d $work ]] || # a run that failed has left what is root's
        tools/debian_root.sh run "$root" --writable "$work:/release" find /release -mindepth 1 -delete
    rm -rf "$work"
    mkdir -p "$work"
    tar -C "$work" -xzf "$out/$name.tar.gz"
    tools/debian_root.sh run "$root" --writable "$work:/release" --env "SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH" \
        --env "CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" \
        "/release/$name/tools/packages.sh" >&2
    cp "$work/$name"/build/packages/*.deb "$out"
    tools/debian_root.sh run "$root" --writable "$work:/release" rm -rf "/release/$name" # it is root's
    # shellcheck disable=SC2016
    tools/debian_root.sh run "$root" dpkg-query --show --showformat '${Package} ${Version} ${source:Package}\n' \
        libboost1.81-dev g++ "${needs[@]}" >"$work/found"
    tools/debian_root.sh remove "$root"
}

recipes() {
    local tar=$out/$name.tar.gz port=$out/vcpkg/ports/colock
    mkdir -p "$out/conan" "$port"
    cp packaging/conan/conanfile.py "$out/conan"
    printf 'sources:\n  "%s":\n    url: "%s"\n    sha256: "%s"\n' "$version" "$url" "$(sha256sum <"$tar" | cut -d' ' -f1)" \
        >"$out/conan/conandata.yml"
    cp packaging/vcpkg/ports/colock/* "$port"
    printf 'set(archive_url "%s")\nset(archive_name "%s")\nset(archive_sha512 %s)\n' "$url" "${tar##*/}" \
        "$(sha512sum <"$tar" | cut -d' ' -f1)" >"$port/archive.cmake"
    cp packaging/container/Containerfile "$out"
}

make_all() {
    local sums
    rm -rf "$out"
    mkdir -p "$out"
    say "archive of $(git rev-parse --short HEAD)"
    archive
    say 'Debian packages, from the archive'
    packages
    recipes
    python3 tools/sbom.py "$version" "$url" "$out/$name.tar.gz" "$SOURCE_DATE_EPOCH" <"$work/found" >"$out/$name.spdx.json"
    awk -v heading="$heading" '$0 == heading { on = 1; next } on && /^## / { exit } on' CHANGELOG.md >"$out/NOTES.md"
    sums=$(cd "$out" && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum)
    printf '%s\n' "$sums" >"$out/SHA256SUMS"
}

main() {
    local check='' twice=''
    version='' url=''
    while (($#)); do
        case $1 in
            --check) check=1 ;;
            --twice) twice=1 ;;
            --url)
                url=${2-}
                [[ $url ]] || die '--url needs a URL'
                shift
                ;;
            -h | --help) usage && return ;;
            [0-9]*.[0-9]*.[0-9]*) version=$1 ;;
            *) die "unknown argument '$1'; tools/release.sh --help" ;;
        esac
        shift
    done
    [[ $check || $version ]] || die 'which VERSION? tools/release.sh --help'
    check_version
    if [[ $check ]]; then
        echo "release: $version: $heading"
        return
    fi
    [[ $heading =~ \ -\ 20[0-9]{2}-[0-9]{2}-[0-9]{2}$ ]] || die "CHANGELOG.md has no date: $heading"
    [[ -z $(git status --porcelain) ]] || die 'the tree has changes that are not committed'
    check_nightly

    name=colock-$version
    out=$PWD/build/release-$version work=$PWD/build/release-work
    url=${url:-https://colock.invalid/$name.tar.gz}
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
    export SOURCE_DATE_EPOCH
    make_all
    if [[ $twice ]]; then
        cp "$out/SHA256SUMS" "$work.first"
        make_all
        diff "$work.first" "$out/SHA256SUMS" || die 'the second run made other files'
        say 'both runs made the same files'
    fi
    rm -rf "$work" "$work.first"
    cat "$out/SHA256SUMS"
    [[ $url != https://colock.invalid/* ]] || say 'the recipes name https://colock.invalid, which is nowhere: others need --url'
}
main "$@"
