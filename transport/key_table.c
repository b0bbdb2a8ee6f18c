/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of keys: binary search, and room that doubles.
 */
#include "transport/key_table.h"

#include <stdlib.h>
#include <string.h>

/* Where the key is, or belongs. */
static size_t place_of(const struct gf_key_table *table, uint32_t key)
{
    size_t low = 0, high = table->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (table->entries[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const struct gf_key_table *table, size_t place, uint32_t key)
{
    return place < table->count && table->entries[place].key == key;
}

void *gf_key_table_find(const struct gf_key_table *table, uint32_t key)
{
    size_t place = place_of(table, key);

    return is_at(table, place, key) ? table->entries[place].value : NULL;
}

bool gf_key_table_add(struct gf_key_table *table, uint32_t key, void *value)
{
    size_t place = place_of(table, key);

    if (table->count == table->room) {
        size_t room = table->room == 0 ? 16 : 2 * table->room;
        struct gf_key_entry *entries = realloc(table->entries, room * sizeof *entries);

        if (entries == NULL) {
            return false;
        }
        table->entries = entries;
        table->room = room;
    }
    memmove(table->entries + place + 1, table->entries + place, (table->count - place) * sizeof *table->entries);
    table->entries[place] = (struct gf_key_entry){key, value};
    table->count++;
    return true;
}

void gf_key_table_remove(struct gf_key_table *table, uint32_t key)
{
    size_t place = place_of(table, key);

    if (is_at(table, place, key)) {
        table->count--;
        memmove(table->entries + place, table->entries + place + 1, (table->count - place) * sizeof *table->entries);
    }
}

void gf_key_table_release(struct gf_key_table *table)
{
    free(table->entries);
    *table = (struct gf_key_table){0};
}
