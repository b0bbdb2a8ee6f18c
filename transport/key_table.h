/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a key stands for: a sorted table, made for keys that mostly grow. Zeroed: empty. The owner's thread or lock.
 */
#ifndef GF_TRANSPORT_KEY_TABLE_H
#define GF_TRANSPORT_KEY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gf_key_entry {
    uint32_t key;
    void *value;                   /* not null; the caller's */
};

struct gf_key_table {
    struct gf_key_entry *entries;
    size_t count, room;
};

/* Null: it is not there. */
void *gf_key_table_find(const struct gf_key_table *table, uint32_t key);

/* The key is not there yet. False: no memory. */
bool gf_key_table_add(struct gf_key_table *table, uint32_t key, void *value);

/* Accepts one that is not there. */
void gf_key_table_remove(struct gf_key_table *table, uint32_t key);

/* Empties it; values are the caller's. */
void gf_key_table_release(struct gf_key_table *table);

#endif
