/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which of a machine's adapters a device uses: those that are nearest to it, each as near as the others.
 */
#ifndef GF_TRANSPORT_ADAPTERS_H
#define GF_TRANSPORT_ADAPTERS_H

#include <stdbool.h>
#include <stddef.h>

struct gf_candidate {
    const char *name;
    const char *address;           /* PCI address, or null: unknown */
    int steps;                     /* from the device (gf_near_steps) */
    int place;                     /* in the list of names, from 0 (gf_names_find); without a list 0 */
    int speed;                     /* more is faster */
    bool ethernet;                 /* else InfiniBand; lanes of one device do not mix them */
    int index;                     /* the caller's */
};

/* Puts those that are used first, in an order that is the same at each start: as listed, else by address, else by name. Returns
 * how many they are, `most` at most. named: a person has listed them, so their speeds may differ, and if all distances are
 * unknown all are used; otherwise the fastest ones, and only one if its distance is unknown. */
int gf_adapters_choose(struct gf_candidate *candidates, int count, bool named, int most);

/* The place of a name in a list that commas separate, with or without spaces; -1: it is not there. */
int gf_names_find(const char *list, const char *name);

/* The names of the list that are not among `count` others, with ", " between them. False: there are none such. */
bool gf_names_missing(const char *list, const char *const *names, int count, char *missing, size_t bytes);

#endif
