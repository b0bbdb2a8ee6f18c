/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The stencil on a GPU: one block a row. Plain CUDA of an application; nothing here knows about MPI or gpufifo.
 */
#include <cuda_runtime.h>

#include "examples/jacobi_kernels.h"

enum { THREADS = 256 };

static __global__ void jacobi_rows(struct jacobi_work work)
{
    __shared__ double part[THREADS];

    part[threadIdx.x] = jacobi_row(&work, blockIdx.x, threadIdx.x, THREADS);
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            part[threadIdx.x] += part[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        atomicAdd(work.change, part[0]);
    }
}

extern "C" const char *jacobi_cuda_step(const struct jacobi_work *work)
{
    cudaError_t error = cudaMemsetAsync(work->change, 0, sizeof *work->change);

    if (error == cudaSuccess) {
        jacobi_rows<<<work->rows, THREADS>>>(*work);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) {
        error = cudaDeviceSynchronize();
    }
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}
