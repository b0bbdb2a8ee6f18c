/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the fake driver share.
 */
#ifndef GF_TESTS_FAKE_CUDA_PRIVATE_H
#define GF_TESTS_FAKE_CUDA_PRIVATE_H

#include "tests/support/fake_cuda.h"

struct fake_physical;            /* fake_cuda_vmm.c */

/* What the driver knows at an address. */
struct fake_range {
    char *start;                 /* null: not in use */
    size_t bytes;
    enum fake_memory kind;
    unsigned long long id;
    CUcontext owner;
    bool ours;                   /* allocated here, not the caller's own */
    struct fake_physical *physical;      /* of FAKE_VMM */
};

struct fake_range *fake_find(CUdeviceptr address);
struct fake_range *fake_note(void *start, size_t bytes, enum fake_memory kind, bool ours);
void fake_forget(struct fake_range *range);
void fake_forget_all(void);
CUdeviceptr fake_make(enum fake_memory kind, size_t bytes);

void fake_forget_streams(void);

/* Of the primary context, another one after each reset; of anything new; the current context, else the primary one. */
unsigned long long fake_context_id(void);
unsigned long long fake_next_id(void);
CUcontext fake_owner(void);

/* Every function begins with one of these: it counts the call, and fails if the test wants that, or if CUDA is not initialised,
 * or no context current. */
CUresult fake_enter(const char *name);
CUresult fake_enter_initialised(const char *name);
CUresult fake_enter_context(const char *name);

/* The body of a function: returns from it when it may not go on. */
#define ENTER(how) do { CUresult entered = how(__func__); if (entered != CUDA_SUCCESS) return entered; } while (0)

#endif
