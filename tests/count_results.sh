#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Counts the tests that a `make check` ran, from the .trs and .log files it left:
#   count_results.sh BUILD-FOLDER
# prints "PASSED FAILED SKIPPED" on its last line, and before it one line for each failed or skipped test: FAIL or SKIP, its
# log, why.
#
# A log that has cmocka's totals or lines "N passed, N failed" (", N skipped") counts as what they say, any other as one test.
# What the exit status says always counts: a test that crashed half-way is a failure, whatever its log says so far.
#   count_results.sh --self-test
set -eu

count() {
    find "$1" -name '*.trs' -type f -not -path '*/_build/*' | sort | while read -r trs; do
        log=${trs%.trs}.log
        result=$(sed -n 's/^:global-test-result: *//p' "$trs" | tail -n 1)
        echo "::count-log ${log#"$1"/}"
        [ -f "$log" ] && cat "$log"
        # A log may end without a newline.
        echo
        echo "::count-result $result"
    done | awk '
        function finish() {
            if (result == "SKIP") {
                skipped++
                print "SKIP " log_name ": " last
                return
            }
            good = result == "PASS" || result == "XFAIL"
            if (passes + failures + skips == 0)
                passes = good ? 1 : 0
            if (!good && failures == 0)
                failures = 1
            if (failures > 0)
                print "FAIL " log_name ": " failures " failed"
            if (skips > 0)
                print "SKIP " log_name ": " skips " skipped" (why == "" ? "" : ": " why)
            passed += passes
            failed += failures
            skipped += skips
        }
        /^::count-result / { result = $2; finish(); next }
        /^::count-log / { log_name = $2; passes = failures = skips = 0; last = why = ""; next }
        /^\[  PASSED  \] [0-9]+ test/ { passes += $4 }
        /^\[  FAILED  \] [0-9]+ test/ { failures += $4 }
        /^\[  SKIPPED \] [0-9]+ test/ { skips += $4 }
        /^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ { passes += $1; failures += $3; skips += $5 }
        /^skipped: / { why = substr($0, 10) }
        /[^ ]/ && $0 !~ /^(PASS|FAIL|SKIP|XFAIL|XPASS|ERROR) .*\(exit status: [0-9]+\)$/ { last = $0 }
        END { print passed + 0, failed + 0, skipped + 0 }'
}

# self_test EXPECTED RESULT LOG-TEXT
self_test() {
    folder=$(mktemp -d)
    echo ":global-test-result: $2" > "$folder/a.trs"
    printf '%b' "$3" > "$folder/a.log"
    said=$(count "$folder")
    rm -rf "$folder"
    got=$(tail -n 1 <<EOF
$said
EOF
    )
    # Who fails or is skipped is named by its log.
    case $said in
    "$got" | "FAIL a.log:"* | "SKIP a.log:"*) ;;
    *) got="$got, of another log" ;;
    esac
    if [ "$got" = "$1" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL: result $2, log \"$3\": counted $got, not $1"
    fi
}

if [ "${1:-}" = --self-test ]; then
    passed=0
    failed=0
    self_test "1 0 0" PASS 'hello'
    self_test "0 1 0" FAIL ''
    self_test "0 1 0" ERROR 'hello\n'
    self_test "0 0 1" SKIP 'no spin\nSKIP a (exit status: 77)\n'
    self_test "1 0 0" XFAIL 'hello\n'
    self_test "0 1 0" XPASS 'hello\n'
    self_test "10 0 0" PASS '[==========] 10 test(s) run.\n[  PASSED  ] 10 test(s).\n'
    self_test "8 2 0" FAIL '[  PASSED  ] 8 test(s).\n[  FAILED  ] 2 test(s), listed below:\n[  FAILED  ] x\n'
    self_test "8 1 0" FAIL '[  PASSED  ] 8 test(s).\nSegmentation fault\n'
    self_test "7 1 2" FAIL '4 passed, 1 failed\n3 passed, 0 failed, 2 skipped\n'
    self_test "3 0 0" PASS '3 passed, 0 failed'
    self_test "4 1 0" FAIL '== a heading\n[  PASSED  ] 4 test(s).\n'
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
fi
count "${1:?count_results.sh: which build folder?}"
