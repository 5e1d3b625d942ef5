#!/usr/bin/env bash
# Everything that ./dev test leaves out, one check after the other, and one page on what came of it.
#
#     tools/nightly.sh [CHECK...]      those checks alone
#     tools/nightly.sh --list          their names
#
# The page is build/nightly/report.md, written after each check; it keeps the rows of other checks at the same commit. What
# each check said is build/nightly/CHECK.log.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A check's name, then what ./dev is told to do.
checks=(
    "lint        lint"
    "docs        docs"
    "release     test --preset release"
    "asan        test --preset asan"
    "tsan        test --preset tsan"
    "clang-19    test --preset clang-19"
    "soak        test soak"
    "fence       test fence"
    "interop     test interop"
    "world       world --jobs 2 --seeds 20000 --from $((10#$(date +%j) * 20000 + 1))"
    "chaos       chaos --minutes 20 --seed $(date +%Y%m%d)"
    "endurance   endurance"
    "shards      shards --seed $(date +%Y%m%d)"
    "fuzz        fuzz --seconds 600"
    "coverage    coverage"
    "packages    packages --check"
    "pages-12    clean-root 12 --pages"
    "pages-13    clean-root 13 --pages"
    "compat      compat"
)

known=()
for check in "${checks[@]}"; do known+=("${check%% *}"); done
if [[ ${1-} == --list ]]; then
    printf '%s\n' "${known[@]}"
    exit
fi
for name in "$@"; do
    [[ " ${known[*]} " == *" $name "* ]] || {
        echo "nightly: there is no check '$name'; there are: ${known[*]}" >&2
        exit 2
    }
done

pages=build/nightly
mkdir -p "$pages"
declare -A row
status=0
commit=$(git describe --always --dirty --exclude "*")
if [[ $commit != *-dirty ]] && grep -qs "^Commit $commit," $pages/report.md; then
    for name in "${known[@]}"; do row[$name]=$(grep "^| $name |" $pages/report.md || true); done
fi

write_page() {
    local name
    printf '# Nightly, %s\n\n' "$(date --utc '+%Y-%m-%d %H:%M UTC')"
    printf 'Commit %s, %s, %d cores.\n\n' "$commit" "$(uname -sr)" "$(nproc)"
    printf '| check | result | time | command |\n|---|---|---|---|\n'
    for name in "${known[@]}"; do printf '%s' "${row[$name]:+${row[$name]}$'\n'}"; done
    for name in "${known[@]}"; do
        # shellcheck disable=SC2016 # the backquotes are Markdown's
        [[ ${row[$name]-} != *'| FAILED |'* ]] ||
            printf '\n## %s: its last lines\n\n```\n%s\n```\n' "$name" "$(tail -40 "$pages/$name.log")"
    done
    printf '\n## Figures\n\n```\n'
    for name in "${known[@]}"; do # what tests have measured: lines that begin so
        [[ ! ${row[$name]-} ]] || sed -nE "s/^(figure: |MISSED )/$name: &/p" "$pages/$name.log" || true
    done
    printf '```\n'
}

for check in "${checks[@]}"; do
    read -ra words <<<"$check"
    name=${words[0]}
    (($# == 0)) || [[ " $* " == *" $name "* ]] || continue
    command=(./dev "${words[@]:1}")
    printf 'nightly: %-10s %s\n' "$name" "${command[*]}"
    begin=$SECONDS
    row[$name]=''
    write_page >$pages/report.md
    result=ok
    "${command[@]}" >"$pages/$name.log" 2>&1 </dev/null || result=FAILED status=1
    if [[ $(git describe --always --dirty --exclude "*") != "$commit" ]]; then
        echo "nightly: the tree is not $commit any more" >>"$pages/$name.log"
        result=FAILED status=1
    fi
    row[$name]="| $name | $result | $(((SECONDS - begin) / 60)) min | \`${command[*]}\` |"
    printf 'nightly: %-10s %s after %d s\n' "$name" "$result" $((SECONDS - begin))
    write_page >$pages/report.md
done
echo "nightly: $pages/report.md"
exit $status
