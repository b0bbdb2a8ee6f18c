/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided communication knows nothing of device memory: who makes a window of it, or puts from it, would crash in a copy of
 * the CPU. Here it gets an MPI error and a sentence that says what to do.
 *
 *   MPI_Win_create ──▶ osc framework asks its components ──▶ ours ──device memory──▶ error, on all ranks
 *                                                      └──▶ the best of the others makes it; its functions that take
 *                                                           a buffer of the origin get ours in front
 *
 * So we stand as one more component in the framework's list while MPI_COMM_WORLD's module lives. Windows of host memory cost a
 * test of the address an access.
 */
#ifndef GF_MCA_ONESIDED_WINDOWS_H
#define GF_MCA_ONESIDED_WINDOWS_H

#include <stdatomic.h>

#include "mca_coll_gpufifo/module.h"

#include "ompi/mca/osc/osc.h"
#include "ompi/win/win.h"
#include "opal/mca/base/mca_base_component_repository.h"

struct gf_accesses;                    /* access.c */

/* Part of what the component's struct points to. */
struct gf_windows {
    mca_base_component_list_item_t *item;   /* we, in the framework's list; null once that is given back */
    struct gf_accesses *accesses;
    atomic_bool told;                       /* the user has seen the whole message */
};

/* With MPI_COMM_WORLD's module; no other thread may accompany either. Says on the log if it cannot be. */
void gf_windows_open(void);
void gf_windows_close(void);

/* The error for device memory that was passed to this function; tells the user, the first time in full. */
int gf_windows_refuse(const char *function, const char *what);

/* Puts our functions in front of those of this window's module; false: no room, or this module has other functions than an
 * earlier one of its component. Create gives null without host memory. (access.c) */
struct gf_accesses *gf_accesses_create(void);
void gf_accesses_destroy(struct gf_accesses *accesses);
bool gf_accesses_guard(struct gf_accesses *accesses, ompi_win_t *win);

#endif
