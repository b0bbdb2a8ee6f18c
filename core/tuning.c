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
    const int order[] = {
        sign(x->function, y->function), sign(x->topology, y->topology), sign((size_t)x->ranks, (size_t)y->ranks),
        sign((size_t)x->algorithm, (size_t)y->algorithm), sign(x->bytes, y->bytes),
    };
    int i = 0;

    while (i < 4 && order[i] == 0) {
        i++;
    }
    return order[i];
}

/* What rows are about. */
struct subject {
    enum gf_tuned function;
    enum gf_topology topology;
    int algorithm;
};

static bool is_of(const struct gf_tuning_row *row, const struct subject *subject)
{
    return row->function == subject->function && row->topology == subject->topology && row->algorithm == subject->algorithm;
}

static bool tells(const struct gf_tuning *tuning, const struct subject *subject)
{
    for (size_t i = 0; i < tuning->count; i++) {
        if (is_of(&tuning->rows[i], subject)) {
            return true;
        }
    }
    return false;
}

bool gf_tuning_tells(const struct gf_tuning *tuning, enum gf_topology topology, enum gf_algorithm algorithm)
{
    const struct subject subject = { GF_TUNED_ALLREDUCE, topology, (int)algorithm };

    return tells(tuning, &subject);
}

static bool has_rows(const struct gf_tuning *tuning, const struct subject *subject)
{
    for (size_t i = 0; i < tuning->count; i++) {
        if (tuning->rows[i].function == subject->function && tuning->rows[i].topology == subject->topology) {
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
static double us_of(const struct gf_tuning *tuning, const struct subject *subject, int ranks, size_t bytes)
{
    const struct gf_tuning_row *below = NULL, *above = NULL;

    for (size_t i = 0; i < tuning->count && !above; i++) {
        const struct gf_tuning_row *row = &tuning->rows[i];

        if (!is_of(row, subject) || row->ranks != ranks) {
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

/* Those that have no rows of their own go by others'. */
static struct subject allreduce_of(const struct gf_tuning *tuning, enum gf_topology topology, enum gf_algorithm algorithm)
{
    struct subject subject = { GF_TUNED_ALLREDUCE, topology, (int)algorithm };

    if (topology == GF_TOPOLOGY_DEVICES && !has_rows(tuning, &subject)) {
        subject.topology = GF_TOPOLOGY_SHARED;
    }
    return subject;
}

struct gf_tuning_figure gf_tuning_figure(const struct gf_tuning *tuning, enum gf_topology topology, int ranks,
                                         enum gf_algorithm algorithm, size_t bytes)
{
    const struct subject subject = allreduce_of(tuning, topology, algorithm);
    int fewer = 0, more = 0;

    for (size_t i = 0; i < tuning->count; i++) {
        const struct gf_tuning_row *row = &tuning->rows[i];

        if (is_of(row, &subject)) {
            fewer = row->ranks <= ranks ? row->ranks : fewer;
            more = row->ranks >= ranks && !more ? row->ranks : more;
        }
    }
    if (!fewer && !more) {
        return (struct gf_tuning_figure){ .us = -1 };
    }
    if (!fewer || !more || fewer == more) {
        return (struct gf_tuning_figure){ us_of(tuning, &subject, fewer ? fewer : more, bytes), fewer == more };
    }
    return (struct gf_tuning_figure){ between(ranks, fewer, us_of(tuning, &subject, fewer, bytes), more,
                                              us_of(tuning, &subject, more, bytes)), true };
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

enum { MESSAGE_RANKS = 2 };

double gf_tuning_message_us(const struct gf_tuning *tuning, enum gf_topology topology, enum gf_message_way way, size_t bytes)
{
    const struct subject subject = { GF_TUNED_MESSAGE, topology, (int)way };

    return tells(tuning, &subject) ? us_of(tuning, &subject, MESSAGE_RANKS, bytes) : -1;
}

/* Does `way` take longer? */
static bool loses(const struct gf_tuning *tuning, enum gf_topology topology, enum gf_message_way way, enum gf_message_way rival,
                  size_t bytes)
{
    return gf_tuning_message_us(tuning, topology, way, bytes) > gf_tuning_message_us(tuning, topology, rival, bytes);
}

/* Between neighbouring rows figures lie on lines, so there is one crossing at most. */
static size_t crossing(const struct gf_tuning *tuning, enum gf_topology topology, enum gf_message_way way,
                       enum gf_message_way rival, size_t lost, size_t won)
{
    while (won - lost > 1) {
        size_t middle = lost + (won - lost) / 2;

        if (loses(tuning, topology, way, rival, middle)) {
            lost = middle;
        } else {
            won = middle;
        }
    }
    return won;
}

size_t gf_tuning_message_least(const struct gf_tuning *tuning, enum gf_topology topology, enum gf_message_way way,
                               enum gf_message_way rival, size_t unknown)
{
    size_t lost = 0, won = SIZE_MAX, last = 1;

    if (gf_tuning_message_us(tuning, topology, way, 1) < 0 || gf_tuning_message_us(tuning, topology, rival, 1) < 0) {
        return unknown;
    }
    for (size_t i = 0; i < tuning->count; i++) {
        size_t bytes = tuning->rows[i].bytes;

        last = bytes > last ? bytes : last;
        lost = bytes > lost && loses(tuning, topology, way, rival, bytes) ? bytes : lost;
    }
    if (loses(tuning, topology, way, rival, last)) {
        return SIZE_MAX;               /* beyond all rows both grow in proportion */
    }
    for (size_t i = 0; i < tuning->count; i++) {
        won = tuning->rows[i].bytes > lost && tuning->rows[i].bytes < won ? tuning->rows[i].bytes : won;
    }
    return crossing(tuning, topology, way, rival, lost, won);
}
