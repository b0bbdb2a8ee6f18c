# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by verbs_vm.sh: the guest's kernel and modules, taken out of Debian's package and kept in $vm_cache.

vm_cache=${GF_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpufifo-vm}
vm_modules="virtio_pci virtio_console virtio_net dummy 9p 9pnet_virtio overlay crc32_generic rdma_rxe veth bridge sch_netem"
vm_stamp="1: $vm_modules"       # what the cached files were made for

# vm_lacks: what a machine cannot be started without, in words; nothing where all is there.
vm_lacks() {
    local name
    [ "$(uname -m)" = x86_64 ] || echo "a processor of x86-64"
    for name in qemu-system-x86_64 busybox ip rdma; do
        command -v "$name" > /dev/null || echo "$name"
    done
    compgen -G "/usr/lib/*/libibverbs/librxe-rdmav*.so" > /dev/null || echo "librxe (Debian and Ubuntu: ibverbs-providers)"
    vm_cached || echo "a kernel in $vm_cache (verbs_vm.sh --install puts one there)"
}

vm_cached() {
    [ -s "$vm_cache/vmlinux" ] && [ "$(cat "$vm_cache/stamp" 2> /dev/null)" = "$vm_stamp" ]
}

# add_module NAME: into $root/modules, after the modules it depends on; $root/modules/order says in which order to load them.
add_module() {
    local file needed
    grep -qsx "$1.ko" "$root/modules/order" && return
    file=$(find "$tree/lib/modules" -name "$1.ko" -o -name "${1//_/-}.ko" | head -n 1)
    if [ -z "$file" ]; then
        grep -qsE "/($1|${1//_/-})\.ko$" "$tree"/lib/modules/*/modules.builtin && return
        die "the kernel's package has no module $1"
    fi
    for needed in $(grep -zao '^depends=.*' "$file" | tr -d '\0' | sed 's/^depends=//; s/,/ /g'); do
        add_module "$needed"
    done
    cp "$file" "$root/modules/$1.ko" && echo "$1.ko" >> "$root/modules/order"
}

# number FILE OFFSET BYTES
number() {
    od -An -tu"$3" -j"$(($2))" -N"$3" "$1" | tr -d ' '
}

# pack FOLDER: an initial file system of what is in it.
pack() {
    (cd "$1" && find . | busybox cpio -o -H newc 2> /dev/null)
}

# download FOLDER: the package that linux-image-amd64 stands for.
download() {
    local package
    package=$(apt-cache depends linux-image-amd64 | awk '/Depends: linux-image-/ { print $2; exit }')
    [ -n "$package" ] && (cd "$1" && apt-get download -q "$package" >&2)
}

# vm_install: downloads the package without installing it, and keeps what is needed of it.
vm_install() {
    local work tree root image module
    vm_cached && return
    mkdir -p "$vm_cache" || die "cannot make $vm_cache"
    work=$(mktemp -d "$vm_cache/new.XXXXXX") || die "cannot write $vm_cache"
    # shellcheck disable=SC2064
    trap "rm -rf '$work'" EXIT
    tree=$work/tree root=$work/root
    mkdir -p "$tree" "$root/modules" "$root/bin"
    # apt may know nothing yet, or of a version that is gone.
    download "$work" || { apt-get update -q >&2 && download "$work"; } ||
        die "apt cannot download Debian's package linux-image-amd64"
    dpkg-deb -x "$work"/linux-image-*.deb "$tree" || die "cannot unpack the kernel's package"

    # The boot image has the kernel proper inside, compressed. To boot that directly saves unpacking it in the guest. The offsets
    # are of the boot protocol: sectors of the setup, then place and length of the payload.
    image=$(echo "$tree"/boot/vmlinuz-*)
    tail -c +$((($(number "$image" 0x1f1 1) + 1) * 512 + $(number "$image" 0x248 4) + 1)) "$image" |
        head -c "$(number "$image" 0x24c 4)" | xz -dc --single-stream > "$work/vmlinux" 2> /dev/null
    [ "$(head -c 4 "$work/vmlinux")" = $'\177ELF' ] || die "$image is packed in a way not known here"

    for module in $vm_modules; do
        add_module "$module"
    done
    cp "$(command -v busybox)" "$root/bin/busybox"
    pack "$root" > "$work/base.cpio" || die "cannot pack the modules"
    echo "$vm_stamp" > "$work/stamp"
    rm -f "$vm_cache/stamp"
    mv "$work/vmlinux" "$work/base.cpio" "$vm_cache" || die "cannot write $vm_cache"
    mv "$work/stamp" "$vm_cache" || die "cannot write $vm_cache"
    rm -rf "$work"
    trap - EXIT
}
