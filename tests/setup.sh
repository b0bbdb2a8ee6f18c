# SPDX-License-Identifier: BSD-3-Clause
#
# What check.sh and demo.sh share, to be sourced by them: packages and builds. $source is the folder of the sources.

jobs=$(nproc 2> /dev/null || echo 2)
build_packages="gcc make libc6-dev autoconf automake libtool pkg-config file xz-utils libopenmpi-dev openmpi-bin libhwloc-dev"

die() {
    echo "$(basename "$0"): $1" >&2
    exit 1
}

# packages_install NAME…: installs those that are missing; says why and returns 1 if it cannot. Elsewhere than on Debian and Ubuntu
# configure says what is missing.
packages_install() {
    local missing="" root=""
    if ! command -v apt-get > /dev/null; then
        echo "no apt-get here: install the equivalents of $* yourself if something is missing"
        return
    fi
    for name in "$@"; do
        dpkg-query -W -f='${Status}' "$name" 2> /dev/null | grep -q '^install ok installed$' || missing="$missing $name"
    done
    [ -n "$missing" ] || return 0
    echo "installing:$missing"
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo > /dev/null || { echo "to install$missing I need to be root or to have sudo" >&2; return 1; }
        root=sudo
    fi
    # shellcheck disable=SC2086
    { $root apt-get update -q && $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing; } \
        > "$source/build/packages.log" 2>&1 < /dev/null ||
        { tail -n 5 "$source/build/packages.log"; echo "apt-get could not install$missing (build/packages.log)" >&2; return 1; }
}

# build_in FOLDER [CONFIGURE-OPTION…]: configures and makes below $source; the log is FOLDER.log.
build_in() {
    local folder=$1 log=$source/build/$1.log
    shift
    mkdir -p "$source/$folder"
    {
        echo "== $(date -u +%FT%TZ) configure $*"
        { [ -x "$source/configure" ] || "$source/autogen.sh"; } &&
            cd "$source/$folder" &&
            { { [ -f Makefile ] && [ "$(cat configured-with 2> /dev/null)" = "$*" ]; } || "$source/configure" "$@"; } &&
            echo "$*" > configured-with &&
            make -j"$jobs"
    } > "$log" 2>&1 < /dev/null
}

# setting NAME FOLDER: what configure found, from the makefile.
setting() {
    sed -n "s/^$1 = //p" "$source/$2/Makefile" | head -n 1
}
