/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libcuda.so.1 for a machine without: what gpufifo-bench calls of it beside NCCL. The context and the stream are tokens.
 */
#include <stddef.h>

static char context, stream;

int cuPointerGetAttribute(void *value, int attribute, size_t address)
{
    *(void **)value = &context;
    return attribute == 1 && address ? 0 : 1;
}

int cuCtxSetCurrent(void *current)
{
    return current == &context ? 0 : 201;
}

int cuStreamCreate(void **created, unsigned flags)
{
    *created = &stream;
    return flags == 1 ? 0 : 1;
}

int cuStreamSynchronize(void *which)
{
    return which == &stream ? 0 : 400;
}
