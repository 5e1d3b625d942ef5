#!/usr/bin/env bash
# Everything that can be said of the sources without running them. A line for each check; what to do where one fails.
#
#     tools/lint.sh [CHECK...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

names=("$@")

headers() {
    cmake --preset dev && cmake --build --preset dev --target test/headers/all
}
tracked() { git ls-files -z --cached --others --exclude-standard -- "$@"; }
spelling() { tracked ':!*.svg' ':!*.json' ':!test/fuzz/corpus' | xargs -0 codespell; }
shell() { tracked dev .ci/run '*.sh' | xargs -0 shellcheck -x; }
house() {
    local file
    for file in test/house/*.cmake; do cmake -P "$file" || return; done
    tracked >/dev/null || return
    if tracked | grep -zvE '^[A-Za-z0-9._/+-]+$' | tr '\0' '\n' | grep .; then
        echo 'house: these names are not for every system'
        return 1
    fi
    python3 test/house/internals.py && python3 test/house/classes.py && python3 test/house/options.py
}

# check NAME ADVICE COMMAND...
failed=()
known=()
check() {
    local name=$1 advice=$2 output begin=$SECONDS
    shift 2
    known+=("$name")
    ((${#names[@]} == 0)) || [[ " ${names[*]} " == *" $name "* ]] || return 0
    if output=$("$@" 2>&1); then
        printf 'lint: %-10s ok (%d s)\n' "$name" $((SECONDS - begin))
    else
        printf '%s\n' "$output"
        printf 'lint: %-10s FAILED: %s\n' "$name" "$advice"
        failed+=("$name")
    fi
}

check format 'run ./dev format' ./dev format --check
check house 'mend what the lines above name; test/house/*.cmake say the rules' house
check spelling 'mend it, or add the word to .codespellrc' spelling
check shell 'mend it; shellcheck.net/wiki/SCnnnn explains each number' shell
check links 'mend the links that the lines above name' python3 tools/links.py
check figures 'the pages are behind the reports of ./dev bench: run tools/docs/figures.py' \
    python3 tools/docs/figures.py --check
check headers 'each public header has to compile alone; include what it uses' headers
check tidy 'mend it, or write NOLINT(check) with the reason beside it; .clang-tidy has the rules' \
    tools/tidy.sh

for name in "${names[@]}"; do
    [[ " ${known[*]} " == *" $name "* ]] || {
        echo "lint: there is no check '$name'; there are: ${known[*]}" >&2
        exit 2
    }
done
if ((${#failed[@]})); then
    echo "lint: failed: ${failed[*]}"
    exit 1
fi
