#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A build must have been silent: check_warnings.sh BUILD-LOG
set -eu

pattern='(^|[^a-z_-])warning:|: Warning'
if ! echo 'a.c:1:2: warning: planted' | grep -q -E "$pattern"; then
    echo "the pattern finds nothing"
    exit 1
fi
if ! grep -q 'CC  ' "$1"; then
    echo "$1 shows no compilation: nothing was built, so nothing is known (make clean, then again)"
    exit 0
fi
if grep -n -E "$pattern" "$1"; then
    exit 1
fi
