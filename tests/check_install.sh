#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs a build below a folder of its own, uses it from there, and removes it:
#   check_install.sh BUILD-FOLDER
set -u

build=${1:?check_install.sh: which build folder?}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
passed=0
failed=0

# try WHAT COMMAND…
try() {
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL: $what"
    fi
}

setting() {
    sed -n "s/^$1 = //p" "$build/Makefile" | head -n 1
}

# A folder as make knows it, all variables replaced.
folder() {
    make -s -C "$build" -f - show <<< "include Makefile
show:
	@echo \$($1)"
}

component=$root$(folder componentdir)
library=$root$(folder libdir)
header=$root$(folder includedir)
series=$(setting gf_openmpi_series)

# MPI programs of the installed copy: the build folder must not be needed.
installed_env() {
    local path=$component
    [ "$series" != 4.1 ] || path=$component:SYS_DEFAULT
    env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mca_base_component_path="$path" \
        LD_LIBRARY_PATH="$library" "$@"
}

component_listed() {
    installed_env ompi_info --parsable --param coll gpufifo --level 9 |
        grep -q '^mca:coll:gpufifo:param:coll_gpufifo_priority:value:'
}

program_builds_and_runs() {
    cat > "$root/program.c" <<'EOF'
#include <stdio.h>
#include <string.h>
#include <gpufifo/device.h>
int main(void)
{
    gpufifo_device *device;
    void *memory;
    char back[6] = "";
    if (gpufifo_device_open("emulated", -1, &device) || gpufifo_alloc(device, GPUFIFO_MEMORY_DEVICE, 6, &memory) ||
        gpufifo_copy(device, memory, "hello", 6) || gpufifo_copy(device, back, memory, 6) || strcmp(back, "hello")) {
        fprintf(stderr, "%s\n", gpufifo_error());
        return 1;
    }
    return gpufifo_free(device, memory);
}
EOF
    local flags
    flags=$(PKG_CONFIG_PATH=$library/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root pkg-config --cflags --libs gpufifo) || return 1
    # shellcheck disable=SC2086
    ${CC:-cc} -o "$root/program" "$root/program.c" $flags && LD_LIBRARY_PATH=$library "$root/program"
}

files() {
    find "$root" \( -type f -o -type l \) -not -name 'program*'
}

make -C "$build" install DESTDIR="$root" > "$root.log" 2>&1
installed=$?
[ $installed -eq 0 ] || tail -n 20 "$root.log"
rm -f "$root.log"
try "make install DESTDIR=…" test $installed -eq 0
try "the component is where Open MPI looks" test -f "$component/mca_coll_gpufifo.so"
try "libgpufifo is in libdir" test -e "$library/libgpufifo.so"
try "the public header is installed" test -f "$header/gpufifo/device.h"
try "Open MPI lists the installed component" component_listed
try "a program builds with the installed library and runs" program_builds_and_runs
make -C "$build" uninstall DESTDIR="$root" > /dev/null 2>&1
try "make uninstall leaves nothing: $(files)" test -z "$(files)"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
