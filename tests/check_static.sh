#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# cppcheck over the libraries, the component, the bench and the examples. First it must find an error planted in a file of its
# own.
#   check_static.sh [SOURCE-FOLDER]
set -eu

if [ -z "${CPPCHECK=$(command -v cppcheck || true)}" ]; then
    echo "skipped: cppcheck is missing (Debian and Ubuntu: cppcheck)"
    exit 77
fi
cd "${1:-${GF_SRCDIR:-$(dirname "$0")/..}}"

planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT

# Open MPI's headers are not read, so its loops over lists must be explained.
cat > "$planted/lists.h" <<'EOF'
#define OPAL_LIST_FOREACH(item, list, type) for (item = (type *)first(list); item; item = (type *)following(item))
#define OPAL_LIST_FOREACH_SAFE(item, next, list, type) \
    for (item = (type *)first(list), next = (type *)following(item); item; item = next, next = (type *)following(item))
EOF

# analyse FILE…: prints what is wrong. Inline suppressions in the source say why they are there.
analyse() {
    "$CPPCHECK" --quiet --inline-suppr --std=c11 --language=c --enable=warning,portability,performance \
        --suppress=missingInclude --suppress=missingIncludeSystem --suppress=unmatchedSuppression \
        --suppress=normalCheckLevelMaxBranches \
        -I. -Iinclude --include="$planted/lists.h" --template='{file}:{line}: {id}: {message}' "$@" 2>&1
}

printf 'int f(void)\n{\n    int a[2];\n    a[2] = 1;\n    return a[2];\n}\n' > "$planted/planted.c"
if ! analyse "$planted/planted.c" | grep -q arrayIndexOutOfBounds; then
    echo "cppcheck does not find a planted error"
    echo "0 passed, 1 failed"
    exit 1
fi

# shellcheck disable=SC2046
found=$(analyse $(find base core device kernels proxy transport mca_coll_gpufifo bench examples -name '*.c' | sort))
if [ -n "$found" ]; then
    printf '%s\n' "$found"
    echo "1 passed, 1 failed"
    exit 1
fi
echo "2 passed, 0 failed"
