#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# bench/scaling.py computes with what the code has and does, and docs/scaling.md says what it computes.
set -eu

source=${GF_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
figures=${GF_BUILDDIR:-.}/tests/unit/setup_figures
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "FAILED: $1"
    exit 1
}

# What a rank exchanges with one other does not depend on how many there are: what the simulation takes for granted.
for ranks in 2 5; do
    timeout 120 "$figures" $ranks > "$folder/$ranks.json" || fail "setup_figures $ranks ended with $?"
done
cmp "$folder/2.json" "$folder/5.json" || fail "5 ranks exchange other blocks than 2"
echo "ok: blocks do not depend on the number of ranks"
diff "$source/bench/scaling.json" "$folder/2.json" ||
    fail "bench/scaling.json is not what the code does: tests/unit/setup_figures 2 > bench/scaling.json"
echo "ok: bench/scaling.json"
if ! command -v python3 > /dev/null; then
    echo "skipped: no python3 (Debian and Ubuntu: python3)"
    exit 77
fi
python3 "$source/bench/scaling.py" "$source/bench/scaling.json" --check "$source/docs/scaling.md" || fail "docs/scaling.md"
echo "ok: docs/scaling.md"
