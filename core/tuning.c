/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Looking up figures.
 */
#include "core/tuning.h"

static int sign(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

int gf_tuning_compare(const void *a, const void *b)
{
    const struct gf_tuning_row *x = a, *y = b;
    int first = sign(x->topology, y->topology), second = sign((size_t)x->ranks, (size_t)y->ranks);
    int third = sign(x->algorithm, y->algorithm);

    return first ? first : second ? second : third ? third : sign(x->bytes, y->bytes);
}

static bool is_of(const struct gf_tuning_row *row, enum gf_topology topology, enum gf_algorithm algorithm)
{
    return row->topology == topology && row->algorithm == algorithm;
}

bool gf_tuning_tells(const struct gf_tuning *tuning, enum gf_topology topology, enum gf_algorithm algorithm)
{
    for (size_t i = 0; i < tuning->count; i++) {
        if (is_of(&tuning->rows[i], topology, algorithm)) {
            return true;
        }
    }
    return false;
}

static bool has_rows(const struct gf_tuning *tuning, enum gf_topology topology)
{
    for (size_t i = 0; i < tuning->count; i++) {
        if (tuning->rows[i].topology == topology) {
            return true;
        }
    }
    return false;
}

/* The value at `at` of the line from (x, from) to (y, to). */
static double between(double at, double x, double from, double y, double to)
{
    return from + (to - from) * (at - x) / (y - x);
}

/* For exactly these ranks, of which there are rows. */
static double us_of(const struct gf_tuning *tuning, enum gf_topology topology, int ranks, enum gf_algorithm algorithm,
                    size_t bytes)
{
    const struct gf_tuning_row *below = NULL, *above = NULL;

    for (size_t i = 0; i < tuning->count && !above; i++) {
        const struct gf_tuning_row *row = &tuning->rows[i];

        if (!is_of(row, topology, algorithm) || row->ranks != ranks) {
            continue;
        }
        if (row->bytes < bytes) {
            below = row;
        } else {
            above = row;
        }
    }
    if (!above) {
        return below->us * (double)bytes / (double)below->bytes;
    }
    return below ? between((double)bytes, (double)below->bytes, below->us, (double)above->bytes, above->us) : above->us;
}

struct gf_tuning_figure gf_tuning_figure(const struct gf_tuning *tuning, enum gf_topology topology, int ranks,
                                         enum gf_algorithm algorithm, size_t bytes)
{
    int fewer = 0, more = 0;

    if (topology == GF_TOPOLOGY_DEVICES && !has_rows(tuning, topology)) {
        topology = GF_TOPOLOGY_SHARED;
    }
    for (size_t i = 0; i < tuning->count; i++) {
        const struct gf_tuning_row *row = &tuning->rows[i];

        if (is_of(row, topology, algorithm)) {
            fewer = row->ranks <= ranks ? row->ranks : fewer;
            more = row->ranks >= ranks && !more ? row->ranks : more;
        }
    }
    if (!fewer && !more) {
        return (struct gf_tuning_figure){ .us = -1 };
    }
    if (!fewer || !more || fewer == more) {
        return (struct gf_tuning_figure){ us_of(tuning, topology, fewer ? fewer : more, algorithm, bytes), fewer == more };
    }
    return (struct gf_tuning_figure){ between(ranks, fewer, us_of(tuning, topology, fewer, algorithm, bytes), more,
                                              us_of(tuning, topology, more, algorithm, bytes)), true };
}

bool gf_tuning_is_least(const struct gf_tuning *tuning, enum gf_topology topology, int ranks, enum gf_algorithm algorithm,
                        unsigned rivals, size_t bytes, enum gf_algorithm *rival)
{
    double us = gf_tuning_figure(tuning, topology, ranks, algorithm, bytes).us, least = -1;

    *rival = GF_PLAN_NONE;
    for (enum gf_algorithm a = GF_PLAN_NONE; a < GF_PLAN_COUNT; a++) {
        double other = rivals & 1u << a ? gf_tuning_figure(tuning, topology, ranks, a, bytes).us : -1;

        if (other >= 0 && (least < 0 || other < least)) {
            least = other;
            *rival = a;
        }
    }
    return us >= 0 && least >= us;
}
