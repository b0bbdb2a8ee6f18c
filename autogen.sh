#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Makes ./configure from configure.ac: needed once in a checkout from git, not in a release.
set -e
cd "$(dirname "$0")"
for tool in autoconf automake libtoolize pkg-config; do
    if ! command -v $tool > /dev/null; then
        echo "autogen.sh: $tool is missing; on Debian or Ubuntu: apt-get install autoconf automake libtool pkg-config" >&2
        exit 1
    fi
done
autoreconf --install "$@"
# On exit configure removes crash dumps, which autoconf takes our folder core/ for.
sed -i 's/rm -f core \*\.core core\.conftest\.\*/rm -f *.core core.conftest.*/' configure
