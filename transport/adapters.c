/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Choosing adapters, and lists of their names.
 */
#include "transport/adapters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/near.h"

static int compare_numbers(int a, int b)
{
    return a < b ? -1 : a > b;
}

/* PCI addresses have numbers of fixed width. */
static int compare_names(const struct gf_candidate *a, const struct gf_candidate *b)
{
    int order = a->address && b->address ? strcmp(a->address, b->address) : compare_numbers(!a->address, !b->address);

    return order ? order : strcmp(a->name, b->name);
}

/* The best first. */
static int compare(const void *first, const void *second)
{
    const struct gf_candidate *a = first, *b = second;
    const int orders[] = { compare_numbers(a->steps, b->steps), compare_numbers(a->place, b->place),
                           compare_numbers(b->speed, a->speed), compare_numbers(a->ethernet, b->ethernet),
                           compare_names(a, b) };

    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (orders[i] != 0) {
            return orders[i];
        }
    }
    return 0;
}

static bool as_good(const struct gf_candidate *best, const struct gf_candidate *other, bool named)
{
    return other->steps == best->steps && other->ethernet == best->ethernet
        && (named || (other->speed == best->speed && best->steps != GF_NEAR_UNKNOWN));
}

int gf_adapters_choose(struct gf_candidate *candidates, int count, bool named, int most)
{
    int chosen = count > 0;

    qsort(candidates, (size_t)count, sizeof *candidates, compare);
    for (int i = 1; i < count && chosen < most; i++) {
        if (as_good(&candidates[0], &candidates[i], named)) {
            struct gf_candidate other = candidates[chosen];

            candidates[chosen++] = candidates[i];
            candidates[i] = other;
        }
    }
    return chosen;
}

/* The next name at or behind `at`, and its length; null: there is none. */
static const char *next_name(const char *at, size_t *length)
{
    at += strspn(at, ", ");
    *length = strcspn(at, ", ");
    return *length > 0 ? at : NULL;
}

int gf_names_find(const char *list, const char *name)
{
    size_t length;
    int place = 0;

    for (const char *at = next_name(list, &length); at; at = next_name(at + length, &length), place++) {
        if (strlen(name) == length && strncmp(at, name, length) == 0) {
            return place;
        }
    }
    return -1;
}

static bool is_among(const char *name, size_t length, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0) {
            return true;
        }
    }
    return false;
}

bool gf_names_missing(const char *list, const char *const *names, int count, char *missing, size_t bytes)
{
    size_t length, written = 0;

    missing[0] = '\0';
    for (const char *at = next_name(list, &length); at; at = next_name(at + length, &length)) {
        if (!is_among(at, length, names, count) && written < bytes) {
            written += (size_t)snprintf(missing + written, bytes - written, "%s%.*s", written ? ", " : "", (int)length, at);
        }
    }
    return written > 0;
}
