# SPDX-License-Identifier: BSD-3-Clause
#
# What check.sh and demo.sh share, to be sourced by them: packages and builds. $source is the folder of the sources.

jobs=$(nproc 2> /dev/null || echo 2)
# Where CUDA and the driver are, if not in PATH already.
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin:/usr/local/nvidia/bin
build_packages="gcc make libc6-dev autoconf automake libtool pkg-config file xz-utils libopenmpi-dev openmpi-bin libhwloc-dev"

die() {
    echo "$(basename "$0"): $1" >&2
    exit 1
}

# packages_install NAME…: installs those that are missing. Where that fails it says so and goes on, since this machine may have
# the same things from elsewhere, and some serve one part only; $not_installed is for the message if the build fails.
not_installed=""
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
    if [ "$(id -u)" -ne 0 ]; then
        root=sudo
        if ! command -v sudo > /dev/null; then
            echo "not installed, since I am not root and there is no sudo:$missing"
            not_installed="$not_installed$missing"
            return
        fi
    fi
    echo "installing:$missing"
    # shellcheck disable=SC2086
    if ! {
        $root apt-get update -q &&
            $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
    } > "$source/build/packages.log" 2>&1 < /dev/null; then
        echo "apt-get could not install them (build/packages.log); trying without"
        not_installed="$not_installed$missing"
    fi
}

# explain_failure: why build.log's build failed.
explain_failure() {
    tail -n 30 "$source/build/build.log" | sed 's/^/    | /'
    if [ -n "$not_installed" ]; then
        echo "the build failed, and packages are missing; install them and run me again: apt-get install$not_installed"
    else
        echo "the build failed (build/build.log)"
    fi
}

# kernels_option: the option of configure that builds kernels only for the GPUs of this machine, which takes a fraction of the
# time that all take. Where there is no GPU: for the oldest and the newest that nvcc knows, since the source is the same for all,
# and for the one by which tests/check_spills.sh judges. Nothing where there is one that only the driver can compile for.
kernels_option() {
    local archs known arch
    known=$(nvcc --list-gpu-arch 2> /dev/null | sed -n 's/^compute_\([0-9]*\)$/\1/p' | awk '$1 >= 70' | sort -nu)
    archs=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null |
        sed -n 's/^\([0-9]*\)\.\([0-9]\)$/\1\2/p' | sort -nu)
    : "${archs:=$(sed -n '1p; /^90$/p; $p' <<< "$known" | uniq)}"
    for arch in $archs; do
        grep -q -x "$arch" <<< "$known" || archs=""
    done
    archs=${GF_GPU_ARCH:-${archs//$'\n'/ }}
    [ -z "$archs" ] || echo "GF_GPU_ARCH=$archs"
}

# build_in FOLDER [CONFIGURE-OPTION…]: configures and makes below $source; the log is FOLDER.log. Empty options do not count.
build_in() {
    local folder=$1 log=$source/build/$1.log option
    local options=()
    shift
    for option in "$@"; do
        [ -z "$option" ] || options+=("$option")
    done
    # A release needs no autotools, whatever the times of its files have become by copying.
    command -v autoreconf > /dev/null || options+=(--disable-maintainer-mode)
    mkdir -p "$source/$folder"
    (
        echo "== $(date -u +%FT%TZ) configure ${options[*]}"
        { [ -x "$source/configure" ] || "$source/autogen.sh"; } &&
            cd "$source/$folder" &&
            { { [ -f configured-with ] && [ "$(cat configured-with)" = "${options[*]}" ]; } ||
                "$source/configure" "${options[@]}"; } &&
            echo "${options[*]}" > configured-with &&
            make -j"$jobs"
    ) > "$log" 2>&1 < /dev/null
}

# build_anew FOLDER [CONFIGURE-OPTION…]: the same, looking for all tools and compiling everything again.
build_anew() {
    [ ! -f "$source/$1/Makefile" ] || make -C "$source/$1" clean > /dev/null 2>&1 < /dev/null
    rm -f "$source/$1/configured-with"
    build_in "$@"
}

# setting NAME FOLDER: what configure found, from the makefile.
setting() {
    sed -n "s/^$1 = //p" "$source/$2/Makefile" | head -n 1
}
