#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# gpufifo/device.h compiles alone, as C99 and as C++98, with warnings as errors, and its functions can be called from both.
set -eu

top=${top_srcdir:-$(dirname "$0")/../..}
cc=${CC:-cc}
cxx=${CXX:-c++}
if ! command -v "$cxx" >/dev/null; then
    echo "no C++ compiler: install g++, or set CXX"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/use.c" <<'END'
#include <gpufifo/device.h>
#include <gpufifo/device.h>

int use(void *host, size_t bytes);
int use(void *host, size_t bytes)
{
    gpufifo_device *device;
    void *pointer;
    if (gpufifo_device_open("emulated", -1, &device) != 0 || gpufifo_alloc(device, GPUFIFO_MEMORY_DEVICE, bytes, &pointer) != 0)
        return -1;
    return gpufifo_copy(device, pointer, host, bytes) + gpufifo_free(device, pointer) + gpufifo_error()[0];
}
END
cp "$folder/use.c" "$folder/use.cc"

$cc -std=c99 -pedantic -Wall -Wextra -Werror -I"$top/include" -c "$folder/use.c" -o "$folder/use_c.o"
$cxx -std=c++98 -pedantic -Wall -Wextra -Werror -I"$top/include" -c "$folder/use.cc" -o "$folder/use_cc.o"

# C linkage: both ask for the same symbols.
nm -u "$folder/use_c.o" | grep -o 'gpufifo_[a-z_]*' >"$folder/c"
nm -u "$folder/use_cc.o" | grep -o ' gpufifo_[a-z_]*' | tr -d ' ' >"$folder/cc"
cmp "$folder/c" "$folder/cc"
