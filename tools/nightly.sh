#!/usr/bin/env bash
# Everything that ./dev test leaves out, one check after the other, and one page on what came of it.
#
#     tools/nightly.sh [CHECK...]      those checks alone
#     tools/nightly.sh --list          their names
#
# The page is build/nightly/report.md, what each check said build/nightly/CHECK.log.
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
rows=()
failures=()
figures=()
status=0
commit=$(git describe --always --dirty --exclude "*")
for check in "${checks[@]}"; do
    read -ra words <<<"$check"
    name=${words[0]}
    (($# == 0)) || [[ " $* " == *" $name "* ]] || continue
    command=(./dev "${words[@]:1}")
    log=$pages/$name.log
    printf 'nightly: %-10s %s\n' "$name" "${command[*]}"
    begin=$SECONDS
    if "${command[@]}" >"$log" 2>&1 </dev/null; then
        result=ok
    else
        result=FAILED
        status=1
        failures+=("## $name: its last lines" '' '```' "$(tail -40 "$log")" '```' '')
    fi
    rows+=("| $name | $result | $(((SECONDS - begin) / 60)) min | \`${command[*]}\` |")
    printf 'nightly: %-10s %s after %d s\n' "$name" "$result" $((SECONDS - begin))
    # What tests have measured: lines that begin so.
    mapfile -t -O "${#figures[@]}" figures < <(grep -hE '^(figure: |MISSED )' "$log" | sed "s/^/$name: /" || true)
done

{
    printf '# Nightly, %s\n\n' "$(date --utc '+%Y-%m-%d %H:%M UTC')"
    printf 'Commit %s, %s, %d cores.\n\n' "$commit" "$(uname -sr)" "$(nproc)"
    printf '| check | result | time | command |\n|---|---|---|---|\n'
    printf '%s\n' "${rows[@]}" ''
    ((${#failures[@]} == 0)) || printf '%s\n' "${failures[@]}"
    ((${#figures[@]} == 0)) || printf '%s\n' '## Figures' '' '```' "${figures[@]}" '```'
} >"$pages/report.md"
echo "nightly: $pages/report.md"
exit $status
