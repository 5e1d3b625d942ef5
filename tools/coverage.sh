#!/usr/bin/env bash
# Which lines and branches of the library the tests run. Builds them in build/coverage, runs those that are not soak and
# measure no time, and fails when less than 95 % of the lines of lib/ and include/ are run. The report is in
# build/coverage/report: index.html, and summary.txt.
#
#     tools/coverage.sh [--report]      --report: of the tests that have run already
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build/coverage
report=$build/report
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
least=95
parts=({examples/testing,test/{unit,integration,fault,tls,security,thread_safety,cli,serve}}/all shard_soak_judge)

status=0
case ${1-} in
    --report) ;;
    '')
        cmake --preset coverage
        cmake --build --preset coverage --parallel "$jobs" --target "${parts[@]}"
        find $build -name '*.gcda' -delete
        # Of sources that are compiled no more, or otherwise.
        find $build -name '*.gcno' -exec sh -c 'for notes; do [ -e "${notes%.gcno}.o" ] || rm "$notes"; done' sh {} +
        # Figures mean nothing in this build. Walks of the model take ten minutes each without optimisation, and run the
        # lines that unit tests run. Counting takes time and memory, which tests of
        # `colock serve` bound, and makes system calls of its own, which `forked` would see.
        ctest --preset coverage --parallel "$jobs" --label-exclude '^(soak|model|world|consume|interop|fence)$' \
            --exclude-regex '^(endurance_.*|chaos_.*|forked.*|served_program|served_tls|.*_figures)$' || status=1
        ;;
    *)
        echo "coverage: unknown option '$1'; there is --report" >&2
        exit 2
        ;;
esac

rm -rf $report
mkdir -p $report
# Everything is counted once; the reports choose from that.
gcovr --root . -j "$jobs" --filter lib/ --filter include/ --filter cli/ --exclude-throw-branches \
    --exclude-unreachable-branches --json $report/all.json $build
from=(--root . --add-tracefile "$report/all.json" --exclude-throw-branches)
gcovr "${from[@]}" --filter cli/ --txt $report/summary-cli.txt --print-summary
gcovr "${from[@]}" --filter lib/ --filter include/ --html-details $report/index.html \
    --html-title colock --txt $report/summary.txt --print-summary --fail-under-line $least || {
    echo "coverage: less than $least % of the lines of lib/ and include/ are run; see $report/index.html"
    status=1
}
exit $status
