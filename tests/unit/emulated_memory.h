/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An emulated device's memory as the state of a group of tests.
 */
#ifndef TESTS_UNIT_EMULATED_MEMORY_H
#define TESTS_UNIT_EMULATED_MEMORY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/emulated_memory.h"

enum { MEMORY = 64 << 20, PAGE = GF_ARENA_PAGE };

static inline int create(void **state)
{
    struct gf_emulated_memory *memory;
    if (gf_emulated_memory_create(MEMORY, &memory, NULL) != GF_OK) {
        return -1;
    }
    *state = memory;
    return 0;
}

static inline int destroy(void **state)
{
    gf_emulated_memory_destroy(*state);
    return 0;
}

static inline void *alloc(struct gf_emulated_memory *memory, enum gf_memory_kind kind, size_t bytes)
{
    void *address = NULL;
    struct gf_reason why = {""};

    if (gf_emulated_memory_alloc(memory, kind, bytes, &address, &why) != GF_OK) {
        fail_msg("%s", why.text);
    }
    assert_non_null(address);
    return address;
}

static inline struct gf_pointer query(struct gf_emulated_memory *memory, const void *address)
{
    struct gf_pointer info;
    gf_emulated_memory_query(memory, address, &info);
    return info;
}

static inline char *reach(struct gf_emulated_memory *memory, const void *address, size_t bytes)
{
    enum gf_memory_kind kind;
    return gf_emulated_memory_reach(memory, address, bytes, &kind);
}

#endif
