/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packing blocks of 8 bytes at a stride of 64 by what there is else: a kernel that can nothing but this (the floor of
 * gf_kernel_pack), cuMemcpy2D, and a copy for each block. CUDA only; beside test_device_pack.
 *
 * Usage: measure_pack [BLOCKS]     (2^20)
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/gpu/gpu_test.h"
#include "tests/gpu/times.h"

enum { ROUNDS = 21, QUEUED = 20, THREADS = 256, SINGLE = 1000 };

/* A thread a block, whose place is known to the compiler. */
static const char bare_kernel[] =
    ".version 6.0\n.target sm_60\n.address_size 64\n"
    ".visible .entry bare(.param .u64 to, .param .u64 from, .param .u32 count)\n"
    "{\n"
    "  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<8>;\n"
    "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "  mad.lo.s32 %r4, %r1, %r2, %r3;\n"
    "  ld.param.u32 %r5, [count]; setp.ge.u32 %p, %r4, %r5; @%p ret;\n"
    "  ld.param.u64 %d1, [to]; ld.param.u64 %d2, [from];\n"
    "  cvta.to.global.u64 %d1, %d1; cvta.to.global.u64 %d2, %d2;\n"
    "  mul.wide.u32 %d3, %r4, 64; add.s64 %d2, %d2, %d3; ld.global.u64 %d5, [%d2];\n"
    "  mul.wide.u32 %d6, %r4, 8; add.s64 %d1, %d1, %d6; st.global.u64 [%d1], %d5;\n"
    "  ret;\n"
    "}\n";

struct driver {
    CUresult (*cuModuleLoadData)(CUmodule *, const void *);
    CUresult (*cuModuleGetFunction)(CUfunction *, CUmodule, const char *);
    CUresult (*cuLaunchKernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                               void **, void **);
    CUresult (*cuMemcpy2DAsync_v2)(const CUDA_MEMCPY2D *, CUstream);
    CUresult (*cuMemcpyDtoDAsync_v2)(CUdeviceptr, CUdeviceptr, size_t, CUstream);
};

struct measure {
    struct driver driver;
    CUfunction bare;
    CUstream stream;
    CUdeviceptr to, from;
    unsigned blocks;
};

static void find(void *library, const char *name, void *function)
{
    *(void **)function = dlsym(library, name);
    if (!*(void **)function) {
        fprintf(stderr, "measure_pack: the driver has no %s\n", name);
        exit(1);
    }
}

static void find_all(struct driver *driver)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);

    find(library, "cuModuleLoadData", &driver->cuModuleLoadData);
    find(library, "cuModuleGetFunction", &driver->cuModuleGetFunction);
    find(library, "cuLaunchKernel", &driver->cuLaunchKernel);
    find(library, "cuMemcpy2DAsync_v2", &driver->cuMemcpy2DAsync_v2);
    find(library, "cuMemcpyDtoDAsync_v2", &driver->cuMemcpyDtoDAsync_v2);
}

static CUresult run_bare(struct measure *m)
{
    void *arguments[] = {&m->to, &m->from, &m->blocks};

    return m->driver.cuLaunchKernel(m->bare, (m->blocks + THREADS - 1) / THREADS, 1, 1, THREADS, 1, 1, 0, m->stream, arguments,
                                    NULL);
}

static CUresult run_2d(struct measure *m)
{
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = m->from, .srcPitch = 64, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = m->to, .dstPitch = 8, .WidthInBytes = 8, .Height = m->blocks,
    };

    return m->driver.cuMemcpy2DAsync_v2(&copy, m->stream);
}

static CUresult run_singly(struct measure *m)
{
    CUresult result = CUDA_SUCCESS;

    for (unsigned i = 0; i < SINGLE && result == CUDA_SUCCESS; i++) {
        result = m->driver.cuMemcpyDtoDAsync_v2(m->to + 8 * i, m->from + 64 * i, 8, m->stream);
    }
    return result;
}

/* There is nothing to measure where a step fails. */
bool gpu_check(bool ok, const char *format, ...)
{
    if (!ok) {
        va_list arguments;

        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fputs(": failed\n", stderr);
        exit(1);
    }
    return true;
}

static double time_of(struct measure *m, CUresult (*run)(struct measure *), int queued)
{
    double times[ROUNDS];

    for (int round = 0; round < ROUNDS; round++) {
        double start = times_now();

        for (int i = 0; i < queued; i++) {
            CHECK(run(m) == CUDA_SUCCESS);
        }
        CHECK(gpu_app()->cuStreamSynchronize(m->stream) == CUDA_SUCCESS);
        times[round] = (times_now() - start) / queued;
    }
    return times_median(times, ROUNDS);
}

int main(int argc, char **argv)
{
    struct measure m = {.blocks = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1u << 20};
    struct gpu_program program;
    CUmodule module;

    if (m.blocks < SINGLE) {
        fprintf(stderr, "Usage: measure_pack [BLOCKS], at least %d\n", SINGLE);
        return 1;
    }
    gpu_program_start(&program);
    find_all(&m.driver);
    CHECK(m.driver.cuModuleLoadData(&module, bare_kernel) == CUDA_SUCCESS);
    CHECK(m.driver.cuModuleGetFunction(&m.bare, module, "bare") == CUDA_SUCCESS);
    CHECK(gpu_app()->cuStreamCreate(&m.stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    CHECK(gpu_app()->cuMemAlloc_v2(&m.from, (size_t)m.blocks * 64) == CUDA_SUCCESS);
    CHECK(gpu_app()->cuMemAlloc_v2(&m.to, (size_t)m.blocks * 8) == CUDA_SUCCESS);
    printf("%u blocks of 8 bytes at a stride of 64, each of %d queued and alone, us:\n", m.blocks, QUEUED);
    printf("  bare kernel    %8.1f %8.1f\n", time_of(&m, run_bare, QUEUED), time_of(&m, run_bare, 1));
    printf("  cuMemcpy2D     %8.1f %8.1f\n", time_of(&m, run_2d, QUEUED), time_of(&m, run_2d, 1));
    printf("  a copy a block %8.1f (of %d, times %u)\n", time_of(&m, run_singly, 1) / SINGLE * m.blocks, SINGLE,
           m.blocks / SINGLE);
    gpu_program_end(&program);
    return 0;
}
