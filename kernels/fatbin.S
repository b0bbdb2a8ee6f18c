/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fat binary that nvcc made of kernels.cu, and its size in bytes; size 0 where there was no nvcc:
 *   extern const unsigned char gf_kernels_fatbin[];
 *   extern const uint64_t gf_kernels_fatbin_size;
 */
#include "config.h"

    .section .rodata
    .globl gf_kernels_fatbin
    .hidden gf_kernels_fatbin
    .type gf_kernels_fatbin, %object
    .balign 64
gf_kernels_fatbin:
#ifdef GF_HAVE_NVCC
    .incbin "kernels/kernels.fatbin"
#endif
.Lend:
    .byte 0
    .size gf_kernels_fatbin, . - gf_kernels_fatbin

    .globl gf_kernels_fatbin_size
    .hidden gf_kernels_fatbin_size
    .type gf_kernels_fatbin_size, %object
    .balign 8
gf_kernels_fatbin_size:
    .quad .Lend - gf_kernels_fatbin
    .size gf_kernels_fatbin_size, 8

    .section .note.GNU-stack, "", %progbits
