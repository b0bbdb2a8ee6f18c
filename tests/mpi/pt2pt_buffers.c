/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers of the point-to-point tests.
 */
#include "tests/mpi/pt2pt_buffers.h"

#include <stdlib.h>
#include <string.h>

unsigned char message_byte(int rank, unsigned seed, size_t i)
{
    return (unsigned char)((rank * 31u + seed * 17u + i * 7u + i / 251u) % 200u);
}

void message_create(const struct ends *ends, struct buffer *buffer, size_t bytes, unsigned seed)
{
    unsigned char *data = host_alloc(ends->h, bytes);

    for (size_t i = 0; i < bytes; i++) {
        data[i] = message_byte(ends->h->rank, seed, i);
    }
    buffer_create(ends->h, buffer, ends->from, bytes, 0);
    buffer_write(buffer, data);
    free(data);
}

void landing_create(const struct ends *ends, struct buffer *buffer, size_t bytes)
{
    buffer_create(ends->h, buffer, ends->to, bytes, 0);
}

void landing_compare(const struct ends *ends, const struct buffer *buffer, size_t bytes, int rank, unsigned seed)
{
    unsigned char *data = host_alloc(ends->h, buffer->bytes);
    size_t i = 0;

    buffer_read(buffer, data);
    while (i < buffer->bytes && data[i] == (i < bytes ? message_byte(rank, seed, i) : BUFFER_UNTOUCHED)) {
        i++;
    }
    harness_check(ends->h, i == buffer->bytes, "%s: byte %zu of %zu (%zu received) is 0x%02x", ends->name, i, buffer->bytes,
                  bytes, i < buffer->bytes ? data[i] : 0);
    free(data);
}

void landing_check(const struct ends *ends, struct buffer *buffer, size_t bytes, int rank, unsigned seed)
{
    landing_compare(ends, buffer, bytes, rank, seed);
    buffer_destroy(buffer, ends->name);
}

void status_check(const struct ends *ends, const MPI_Status *status, int source, int tag, size_t bytes)
{
    int count = -1;

    MPI_Get_count(status, MPI_BYTE, &count);
    harness_check(ends->h, status->MPI_SOURCE == source && status->MPI_TAG == tag && count == (int)bytes,
                  "%s: status has source %d, tag %d, %d bytes instead of %d, %d, %zu", ends->name, status->MPI_SOURCE,
                  status->MPI_TAG, count, source, tag, bytes);
}

const struct ends_kinds ends_device_host[ENDS_DEVICE_HOST] = {
    {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_DEVICE}, {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_HOST},
    {GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_DEVICE},   {GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_HOST},
};

void ends_run(struct harness *h, const struct ends_test *tests, size_t test_count, const struct ends_kinds *kinds,
              size_t kind_count)
{
    for (size_t k = 0; k < kind_count; k++) {
        for (size_t t = 0; t < test_count; t++) {
            struct ends ends = {.h = h, .from = kinds[k].from, .to = kinds[k].to, .next = (h->rank + 1) % h->ranks,
                                .previous = (h->rank + h->ranks - 1) % h->ranks, .name = tests[t].name};
            tests[t].run(&ends);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
}
