/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the environment variable GPUFIFO_EMULATED says about the emulated device.
 */
#ifndef GF_DEVICE_EMULATED_OPTIONS_H
#define GF_DEVICE_EMULATED_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct gf_emulated_options {
    bool weak;         /* "weak": stores that others see arrive in random order until a release */
    bool solo;         /* "solo": kernels of several processes never run at the same time, as on a GPU without MPS */
    bool noipc;        /* "noipc": other processes cannot map the memory */
    bool queued;       /* "queued": copies within the device wait for the kernels of the process that run, as on a GPU */
    bool filled;       /* "filled": kernels of a process whose blocks are more than run at once wait for one another, as on a
                          GPU */
    bool lingering;    /* "lingering": memory that was freed and is mapped still keeps what lies there now from being mapped,
                          as on a GPU */
    bool torn;         /* "torn": 128-byte lines do not arrive whole */
    int team;          /* "team=N": host threads that play one block, 1..64 */
    int blocks;        /* "blocks=N": blocks that run at once, 1..256 */
    int streams;       /* "streams=N": a process may have so many at a time, 1..1000000, as if there were no memory for more */
    size_t memory;     /* "memory=BYTES": addresses of each kind of memory, with K, M, G or T: 1M..1T. Only touched pages cost. */
    int gpu;           /* "gpu=N": processes with the same N, 0..255, have the same device */
    uint64_t seed;     /* "seed=N": of all random delays and orders */
};

/* text: a comma list of the words above, empty or null for the defaults. GF_ERR_INVALID with a sentence that names the
 * word; *options is then undefined. */
gf_status gf_emulated_options_parse(const char *text, struct gf_emulated_options *options, struct gf_reason *why);

#endif
