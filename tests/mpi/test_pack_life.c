/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Derived datatypes in device memory: the number of driver calls, and types that come and go.
 *
 * Usage: test_pack_life [types=N] [staged]     types: so many are made and freed; staged: messages are not packed on the device
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/typed.h"

enum { TAG = 5 };

/* One that the component counts. */
struct counter {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
};

static struct counter counter_open(struct harness *h, const char *name)
{
    struct counter counter;
    int level, index, count;

    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level);
    MPI_T_pvar_session_create(&counter.session);
    harness_need(h, MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_AGGREGATE, &index), name);
    MPI_T_pvar_handle_alloc(counter.session, index, NULL, &counter.handle, &count);
    return counter;
}

static unsigned long long counter_read(const struct counter *counter)
{
    unsigned long long value;

    MPI_T_pvar_read(counter->session, counter->handle, &value);
    return value;
}

static void counter_close(struct counter *counter)
{
    MPI_T_pvar_handle_free(counter->session, &counter->handle);
    MPI_T_pvar_session_free(&counter->session);
    MPI_T_finalize();
}

static MPI_Datatype irregular_type(int blocks)
{
    int *places = malloc((size_t)blocks * sizeof *places);
    MPI_Datatype type;

    for (int i = 0; i < blocks; i++) {
        places[i] = 3 * i + (i * 7 % 11 == 0);
    }
    MPI_Type_create_indexed_block(blocks, 1, places, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    free(places);
    return type;
}

/* A kernel an end, and once a type its list, as many blocks as it may have. Those packed on the device are fetched. */
static void check_calls(struct harness *h, bool staged)
{
    static const int blocks[] = {30, 3000, 100000};
    struct counter calls = counter_open(h, "coll_gpufifo_staging_driver_calls");
    struct counter pulled = counter_open(h, "coll_gpufifo_calls_pt2pt_pulled");
    int other = h->rank ^ 1;

    for (size_t i = 0; i < 2 * sizeof blocks / sizeof *blocks && other < h->ranks; i++) {
        MPI_Datatype type = i % 2 ? irregular_type(blocks[i / 2]) : MPI_DATATYPE_NULL;
        struct typed from, to;

        if (i % 2 == 0) {
            MPI_Type_vector(blocks[i / 2], 1, 3, MPI_DOUBLE, &type);
            MPI_Type_commit(&type);
        }
        typed_create(h, &from, type, 1, (uint64_t)other);
        typed_create(h, &to, type, 1, 99);
        for (unsigned long long round = 0; round < 2; round++) {
            unsigned long long before = counter_read(&calls), fetched = counter_read(&pulled);
            unsigned long long expected = 2 + (round == 0 && i % 2);

            MPI_Sendrecv(typed_address(&from), 1, type, other, TAG, typed_address(&to), 1, type, other, TAG, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            harness_check(h, counter_read(&calls) - before == expected, "%d blocks: %llu copies and kernels instead of %llu",
                          blocks[i / 2], counter_read(&calls) - before, expected);
            harness_check(h, counter_read(&pulled) - fetched == (staged ? 0 : 2), "%d blocks: not fetched", blocks[i / 2]);
        }
        MPI_Type_free(&type);
        typed_destroy(&from);
        typed_destroy(&to);
    }
    counter_close(&pulled);
    counter_close(&calls);
}

/* Types that are made, used and freed, mostly at an address that a type of another layout had; some freed while under way.
 * Neither host nor device memory grows: of the device there is little (GPUFIFO_EMULATED=memory=). */
static void check_recreated(struct harness *h, long types)
{
    enum { DOUBLES = 600 };
    static double is[DOUBLES], data[DOUBLES];
    struct buffer from, to;
    size_t at_first = 0;
    long wrong = 0;

    buffer_create(h, &from, GPUFIFO_MEMORY_DEVICE, sizeof data, 0);
    buffer_create(h, &to, GPUFIFO_MEMORY_DEVICE, sizeof data, 0);
    for (int i = 0; i < DOUBLES; i++) {
        data[i] = i;
    }
    buffer_write(&from, data);
    for (long round = 0; round < types; round++) {
        int first = (int)(round % 97), places[] = {first, first + 2 + (int)(round % 5), first + 100,
                                                   first + 101 + (int)(round % 7)};
        MPI_Request requests[2];
        MPI_Datatype type;

        MPI_Type_create_indexed_block(4, 1, places, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        MPI_Irecv(to.data, 4, MPI_DOUBLE, (h->rank + 1) % h->ranks, TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(from.data, 1, type, (h->rank + h->ranks - 1) % h->ranks, TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Type_free(&type);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        if (round % 50 == 0 || round > types - 200) {
            buffer_read(&to, is);
            for (int i = 0; i < 4; i++) {
                wrong += is[i] != places[i];
            }
        }
        if (round == types / 4) {
            at_first = mallinfo2().uordblks;
        }
    }
    harness_check(h, wrong == 0, "types at one address: %ld numbers are wrong", wrong);
    harness_check(h, types < 1000 || mallinfo2().uordblks < at_first + (size_t)types * 16, "%ld types: %zu bytes became %zu",
                  types,
                  at_first, mallinfo2().uordblks);
    buffer_destroy(&from, "from");
    buffer_destroy(&to, "to");
}

int main(int argc, char **argv)
{
    bool staged = false;
    long types = 0;
    struct harness h;

    for (int i = 1; i < argc; i++) {
        staged |= strcmp(argv[i], "staged") == 0;
        types = strncmp(argv[i], "types=", 6) == 0 ? strtol(argv[i] + 6, NULL, 10) : types;
    }
    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    check_calls(&h, staged);
    check_recreated(&h, types);
    return harness_finish(&h);
}
