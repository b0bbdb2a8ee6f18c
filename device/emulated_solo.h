/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Option "solo": as on a GPU without MPS, kernels of different processes never run at the same time. A GPU would slice the
 * time and let kernels that wait for one another crawl; here they never get on, so that relying on it shows.
 */
#ifndef GF_DEVICE_EMULATED_SOLO_H
#define GF_DEVICE_EMULATED_SOLO_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/un.h>

#include "base/status.h"

/* Owned by the device's queues. Kernels of one process share the turn. */
struct gf_solo {
    bool on;                     /* fixed */
    struct sockaddr_un name;     /* fixed; whoever has bound it has the turn: it ends with the process at the latest */
    pthread_mutex_t lock;        /* guards the rest */
    unsigned running;            /* kernels of this process */
    int turn;                    /* the socket, -1: none */
};

/* Those who take turns are the processes of one user and session, so that two jobs do not meet. */
void gf_solo_init(struct gf_solo *solo, bool on, int gpu);
void gf_solo_clear(struct gf_solo *solo);

/* Around each kernel. enter waits until no other process has a kernel running. */
void gf_solo_enter(struct gf_solo *solo);
void gf_solo_leave(struct gf_solo *solo);

#endif
