/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fake of fake_gdrapi.h. Mapped addresses are the device's, shifted: nobody can read there but by the library.
 */
#include "tests/support/fake_gdrapi.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 65536, STATES = 4, PINS = 8 };
static const uintptr_t shift = (uintptr_t)1 << 40;

/* The prototypes are the library's. */
typedef struct { unsigned long number; } handle_type;
void *gdr_open(void);
int gdr_close(void *state);
int gdr_pin_buffer(void *state, unsigned long address, size_t bytes, uint64_t token, uint32_t space, handle_type *handle);
int gdr_unpin_buffer(void *state, handle_type handle);
int gdr_map(void *state, handle_type handle, void **mapped, size_t bytes);
int gdr_unmap(void *state, handle_type handle, void *mapped, size_t bytes);
int gdr_copy_from_mapping(handle_type handle, void *to, const void *mapped, size_t bytes);

/* The process's one. */
static struct fake_gdrapi fake;
static struct state {
    int open, pinned;
} states[STATES];
static struct {
    struct state *state;               /* null: free */
    uintptr_t start;
    size_t bytes;
    int mapped;
} pins[PINS];

struct fake_gdrapi *fake_gdrapi(void)
{
    return &fake;
}

static int fails(const char *function)
{
    return fake.fail_function && strcmp(fake.fail_function, function) == 0;
}

static int is_open(const void *state)
{
    for (int i = 0; i < STATES; i++) {
        if (state == &states[i]) {
            return states[i].open;
        }
    }
    return 0;
}

static int is_pinned(handle_type handle)
{
    return handle.number - 1 < PINS && pins[handle.number - 1].state;
}

static int owns(const void *state, handle_type handle)
{
    return is_pinned(handle) && pins[handle.number - 1].state == state;
}

static int misuse(void)
{
    fake.misuses++;
    return EINVAL;
}

void *gdr_open(void)
{
    if (fails(__func__)) {
        return NULL;
    }
    for (int i = 0; i < STATES; i++) {
        if (!states[i].open) {
            states[i].open = 1;
            fake.opened++;
            return &states[i];
        }
    }
    misuse();
    return NULL;
}

int gdr_close(void *state)
{
    if (!is_open(state) || ((struct state *)state)->pinned > 0) {
        return misuse();
    }
    ((struct state *)state)->open = 0;
    fake.opened--;
    if (getenv("GF_GDRAPI_TELLS")) {
        fprintf(stderr, "libgdrapi's stand-in: %u words were read\n", (unsigned)__atomic_load_n(&fake.reads, __ATOMIC_RELAXED));
    }
    return 0;
}

int gdr_pin_buffer(void *state, unsigned long address, size_t bytes, uint64_t token, uint32_t space, handle_type *handle)
{
    if (fails(__func__)) {
        return ENOMEM;
    }
    for (int i = 0; i < PINS; i++) {
        if (!pins[i].state && is_open(state) && address % PAGE == 0 && bytes % PAGE == 0 && bytes > 0 && !token && !space) {
            pins[i].state = state;
            pins[i].state->pinned++;
            pins[i].start = address;
            pins[i].bytes = bytes;
            handle->number = (unsigned long)i + 1;
            fake.pinned++;
            return 0;
        }
    }
    return misuse();
}

int gdr_unpin_buffer(void *state, handle_type handle)
{
    if (!owns(state, handle) || pins[handle.number - 1].mapped) {
        return misuse();
    }
    pins[handle.number - 1].state->pinned--;
    pins[handle.number - 1].state = NULL;
    fake.pinned--;
    return 0;
}

int gdr_map(void *state, handle_type handle, void **mapped, size_t bytes)
{
    if (fails(__func__)) {
        return EINVAL;
    }
    if (!owns(state, handle) || pins[handle.number - 1].bytes != bytes) {
        return misuse();
    }
    pins[handle.number - 1].mapped = 1;
    *mapped = (void *)(pins[handle.number - 1].start + shift);
    fake.mapped++;
    return 0;
}

int gdr_unmap(void *state, handle_type handle, void *mapped, size_t bytes)
{
    if (!owns(state, handle) || pins[handle.number - 1].bytes != bytes ||
        (uintptr_t)mapped != pins[handle.number - 1].start + shift || !pins[handle.number - 1].mapped) {
        return misuse();
    }
    pins[handle.number - 1].mapped = 0;
    fake.mapped--;
    return 0;
}

int gdr_copy_from_mapping(handle_type handle, void *to, const void *mapped, size_t bytes)
{
    if (fails(__func__)) {
        return EIO;
    }
    uintptr_t address = (uintptr_t)mapped - shift;

    if (!is_pinned(handle) || !pins[handle.number - 1].mapped || address < pins[handle.number - 1].start ||
        address + bytes > pins[handle.number - 1].start + pins[handle.number - 1].bytes) {
        return misuse();
    }
    if (fake.read) {
        fake.read(fake.ctx, address);
    }
    memcpy(to, (const void *)address, bytes);
    __atomic_fetch_add(&fake.reads, 1, __ATOMIC_RELAXED);
    return 0;
}
