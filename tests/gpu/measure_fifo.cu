/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The FIFO protocols between two kernels on a GPU, or on two with NVLink, in one process and without MPI: are lines of 128 bytes
 * torn, how long does a hop take, how much of what a bare copy kernel moves does a FIFO of as many blocks move. The protocols are
 * those of kernels/, built into this program.
 *
 *   measure_fifo lines     a writer that never waits, a reader that looks: every line must be of one piece. As a control, words
 *                          that are stored one by one must be seen torn.
 *   measure_fifo hops      LL and LL128 lines to and fro
 *   measure_fifo fifo      Simple, slots at the receiver and at the sender, 1 to 32 blocks; what arrives is compared
 *
 * Ends with 0 if all was right; times are told, not judged.
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_profiler_api.h>

#include "kernels/fifo.h"
#include "kernels/ll128.h"

enum { WRITER_BLOCKS = 16, LINES = WRITER_BLOCKS * GF_BLOCK_THREADS / GF_LINE_LANES, HOPS = 20000, MOST_BLOCKS = 32, LAPS = 4 };
static const size_t slot_bytes = 128 << 10, buffer_bytes = (size_t)256 << 20;

static void need(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "measure_fifo: %s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

/* ---- lines ---- */

__global__ void write_lines(char *lines, uint32_t rounds, bool word_by_word)
{
    struct gf_team team = gf_team_self();
    uint32_t lane = team.thread % GF_LINE_LANES;
    char *line = lines + ((size_t)team.block * team.threads + team.thread) / GF_LINE_LANES * GF_LINE;
    for (uint64_t round = 1; round <= rounds; round++) {
        struct gf_line_part part = {{round, round}};
        gf_lanes_meet(&team);
        if (!word_by_word) {
            gf_store_line(&team, line, lane, part);
        } else {
            gf_store_relaxed64(&team, (uint64_t *)(line + lane * sizeof part), round);
            gf_store_relaxed64(&team, (uint64_t *)(line + lane * sizeof part) + 1, round);
        }
    }
}

/* Until it has seen the last round, or long enough. seen[0]: lines looked at; [1]: torn ones; [2]: new rounds noticed. */
__global__ void read_lines(const char *lines, uint32_t rounds, uint32_t most, unsigned long long *seen)
{
    struct gf_team team = gf_team_self();
    uint32_t lane = team.thread % GF_LINE_LANES, looked = 0, torn = 0, changes = 0;
    const char *line = lines + ((size_t)team.block * team.threads + team.thread) / GF_LINE_LANES * GF_LINE;
    uint64_t last = 0;
    while (last < rounds && looked < most) {
        gf_lanes_meet(&team);
        struct gf_line_part part = gf_load_line(line, lane);
        uint64_t flag = __shfl_sync(gf_line_mask(&team), part.words[1], GF_LINE_LANES - 1, GF_LINE_LANES);
        torn += !gf_lanes_all(&team, part.words[0] == flag && part.words[1] == flag);
        changes += flag != last;
        last = flag;
        looked++;
    }
    if (lane == 0) {
        atomicAdd(&seen[0], (unsigned long long)looked);
        atomicAdd(&seen[1], (unsigned long long)torn);
        atomicAdd(&seen[2], (unsigned long long)changes);
    }
}

/* ---- hops ---- */

/* One warp a rank; nanoseconds of all hops go to *spent. Rank 0 begins. */
__global__ void hop(uint32_t rank, char *to, const char *from, bool ll128, uint64_t *spent)
{
    struct gf_team team = gf_team_self();
    uint64_t began = gf_clock_ns(), data = 0;
    struct gf_unit_part part;
    memset(&part, 0, sizeof part);
    for (uint32_t round = 1; round <= HOPS; round++)
        for (uint32_t turn = 0; turn < 2; turn++) {
            if (ll128 && turn == rank)
                gf_store_unit(&team, to, team.thread, &part, round);
            else if (ll128)
                while (!gf_load_unit(&team, from, team.thread, &part, round)) {}
            else if (turn == rank)
                gf_store_ll_line(&team, to, data + round, round);
            else
                while (!gf_load_ll_line(from, &data, round)) {}
        }
    if (team.thread == 0)
        *spent = gf_clock_ns() - began;
}

/* ---- fifo ---- */

/* Block c moves its part of the buffer through connection c, LAPS times. */
__global__ void stream(struct gf_task task, struct gf_conn *conns, bool sends, char *buffer)
{
    struct gf_team team = gf_team_self();
    struct gf_conn conn = conns[team.block];
    struct gf_range range = gf_block_range(&team, buffer_bytes);
    struct gf_conn *recv = sends ? NULL : &conn, *send = sends ? &conn : NULL;
    for (uint32_t lap = 0; lap < LAPS; lap++)
        for (uint64_t at = range.begin; at < range.end; at += slot_bytes) {
            uint32_t bytes = (uint32_t)(range.end - at < slot_bytes ? range.end - at : slot_bytes);
            if (!gf_fifo_begin(&team, &task, recv, send, bytes))
                return;
            if (sends)
                gf_copy_bytes(&team, gf_fifo_slot(&conn), buffer + at, bytes);
            else
                gf_copy_bytes(&team, buffer + at, gf_fifo_slot(&conn), bytes);
            gf_fifo_end(&team, recv, send, bytes);
        }
}

__global__ void bare_copy(char *to, const char *from)
{
    struct gf_team team = gf_team_self();
    struct gf_range range = gf_block_range(&team, buffer_bytes);
    for (uint32_t lap = 0; lap < LAPS; lap++)
        gf_copy_bytes(&team, to + range.begin, from + range.begin, range.end - range.begin);
}

/* Two ends: the GPU and a stream of each, 0 sends. */
struct pair {
    int gpu[2];
    cudaStream_t stream[2];
    uint32_t *words;                /* pinned: abort, and error on a line of its own */
    uint64_t *spent;                /* pinned */
    int failures;
};

static void on(const struct pair *p, int end)
{
    need(cudaSetDevice(p->gpu[end]), "cudaSetDevice");
}

static char *zeroed(const struct pair *p, int end, size_t bytes)
{
    char *memory;
    on(p, end);
    need(cudaMalloc(&memory, bytes), "cudaMalloc");
    need(cudaMemset(memory, 0, bytes), "cudaMemset");
    need(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return memory;
}

static void wait(const struct pair *p)
{
    for (int end = 0; end < 2; end++) {
        on(p, end);
        need(cudaStreamSynchronize(p->stream[end]), "a kernel");
    }
}

static void check(struct pair *p, bool right, const char *what)
{
    if (!right)
        printf("FAILED: %s\n", what);
    p->failures += !right;
}

static void test_lines(struct pair *p)
{
    enum { ROUNDS = 2000000 };
    unsigned long long *seen;
    need(cudaMallocHost(&seen, 3 * sizeof *seen), "cudaMallocHost");
    for (int control = 0; control < 2; control++) {
        char *lines = zeroed(p, 1, LINES * GF_LINE);
        memset(seen, 0, 3 * sizeof *seen);
        on(p, 1);
        read_lines<<<WRITER_BLOCKS, GF_BLOCK_THREADS, 0, p->stream[1]>>>(lines, ROUNDS, 4 * ROUNDS, seen);
        on(p, 0);
        write_lines<<<WRITER_BLOCKS, GF_BLOCK_THREADS, 0, p->stream[0]>>>(lines, ROUNDS, control == 1);
        wait(p);
        printf("lines of GPU %d at GPU %d, %s: %llu looked at, %llu new ones, %llu torn\n", p->gpu[0], p->gpu[1],
               control ? "word by word" : "at once", seen[0], seen[2], seen[1]);
        check(p, seen[2] > LINES, "the reader saw too few new lines to tell");
        check(p, control ? seen[1] > 0 : seen[1] == 0, control ? "torn lines are not noticed" : "lines of 128 bytes are torn");
        on(p, 1);
        need(cudaFree(lines), "cudaFree");
    }
    need(cudaFreeHost(seen), "cudaFreeHost");
}

static void test_hops(struct pair *p)
{
    for (int ll128 = 0; ll128 < 2; ll128++) {
        char *slot[2] = {zeroed(p, 0, GF_UNIT_BYTES), zeroed(p, 1, GF_UNIT_BYTES)};
        for (int end = 1; end >= 0; end--) {
            on(p, end);
            hop<<<1, ll128 ? GF_LINE_LANES : 1, 0, p->stream[end]>>>((uint32_t)end, slot[!end], slot[end], ll128 == 1,
                                                                     &p->spent[end]);
        }
        wait(p);
        printf("hop GPU %d to GPU %d, %s: %.2f us\n", p->gpu[0], p->gpu[1], ll128 ? "LL128" : "LL", p->spent[0] / 2e3 / HOPS);
        for (int end = 0; end < 2; end++) {
            on(p, end);
            need(cudaFree(slot[end]), "cudaFree");
        }
    }
}

static double seconds(void)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static double gigabytes_a_second(double since)
{
    return LAPS * (double)buffer_bytes / (seconds() - since) / 1e9;
}

static double time_fifo(struct pair *p, int blocks, bool at_sender, char *in, char *out)
{
    char *slots = zeroed(p, at_sender ? 0 : 1, blocks * GF_FIFO_DEPTH * slot_bytes);
    char *heads = zeroed(p, 0, MOST_BLOCKS * GF_LINE), *tails = zeroed(p, 1, 2 * MOST_BLOCKS * GF_LINE);
    struct gf_conn *conns, one;
    struct gf_task task;
    memset(&task, 0, sizeof task);
    task.abort = p->words;
    task.error = p->words + GF_LINE / sizeof *p->words;
    task.deadline_ns = 10000000000u;
    need(cudaMallocHost(&conns, MOST_BLOCKS * sizeof one), "cudaMallocHost");
    for (int c = 0; c < blocks; c++) {
        memset(&one, 0, sizeof one);
        one.head = (uint64_t *)(heads + c * GF_LINE);
        one.tail = (uint64_t *)(tails + 2 * c * GF_LINE);
        one.size = (uint32_t *)(tails + (2 * c + 1) * GF_LINE);
        one.slots = slots + c * GF_FIFO_DEPTH * slot_bytes;
        one.slot_bytes = slot_bytes;
        conns[c] = one;
    }
    if (blocks == MOST_BLOCKS)    /* a profiler that is told when to look sees the largest */
        need(cudaProfilerStart(), "cudaProfilerStart");
    double began = seconds();
    for (int end = 0; end < 2; end++) {
        on(p, end);
        stream<<<blocks, GF_BLOCK_THREADS, 0, p->stream[end]>>>(task, conns, end == 0, end == 0 ? in : out);
    }
    wait(p);
    double speed = gigabytes_a_second(began);
    if (blocks == MOST_BLOCKS)
        need(cudaProfilerStop(), "cudaProfilerStop");
    check(p, *task.error == GF_KERNEL_OK, "a kernel gave up");
    on(p, 0);
    need(cudaFree(heads), "cudaFree");
    need(cudaFree(slots), "cudaFree");
    need(cudaFree(tails), "cudaFree");
    need(cudaFreeHost(conns), "cudaFreeHost");
    return speed;
}

static void test_fifo(struct pair *p)
{
    char *in = zeroed(p, 0, buffer_bytes), *out = zeroed(p, 1, buffer_bytes);
    unsigned char *host = (unsigned char *)malloc(buffer_bytes), *got = (unsigned char *)malloc(buffer_bytes);
    for (size_t i = 0; i < buffer_bytes; i++)
        host[i] = (unsigned char)(i * 7 + i / 4093);
    need(cudaMemcpy(in, host, buffer_bytes, cudaMemcpyDefault), "cudaMemcpy");
    printf("GPU %d to GPU %d, GB/s: blocks, bare copy, FIFO with slots at the receiver, at the sender (share of the bare copy)\n",
           p->gpu[0], p->gpu[1]);
    for (int blocks = 1; blocks <= MOST_BLOCKS; blocks *= 2) {
        double speed[2], bare = 0;
        for (int again = 0; again < 2; again++) {
            on(p, 1);
            double began = seconds();
            bare_copy<<<blocks, GF_BLOCK_THREADS, 0, p->stream[1]>>>(out, in);
            wait(p);
            bare = gigabytes_a_second(began);
        }
        for (int at_sender = 0; at_sender < 2; at_sender++) {
            need(cudaMemset(out, 0, buffer_bytes), "cudaMemset");
            need(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
            speed[at_sender] = time_fifo(p, blocks, at_sender == 1, in, out);
            need(cudaMemcpy(got, out, buffer_bytes, cudaMemcpyDefault), "cudaMemcpy");
            check(p, memcmp(host, got, buffer_bytes) == 0,
                  at_sender ? "slots at the sender: wrong bytes" : "slots at the receiver: wrong bytes");
        }
        printf("%6d %8.1f %8.1f %8.1f (%.0f %%, %.0f %%)\n", blocks, bare, speed[0], speed[1], 100 * speed[0] / bare,
               100 * speed[1] / bare);
    }
    need(cudaFree(in), "cudaFree");
    need(cudaFree(out), "cudaFree");
    free(host);
    free(got);
}

static void make_pair(struct pair *p, int sender, int receiver)
{
    memset(p, 0, sizeof *p);
    p->gpu[0] = sender;
    p->gpu[1] = receiver;
    for (int end = 0; end < 2; end++) {
        on(p, end);
        need(cudaStreamCreateWithFlags(&p->stream[end], cudaStreamNonBlocking), "cudaStreamCreate");
        if (sender != receiver)
            need(cudaDeviceEnablePeerAccess(p->gpu[!end], 0), "cudaDeviceEnablePeerAccess");
    }
    need(cudaMallocHost(&p->words, 2 * GF_LINE), "cudaMallocHost");
    need(cudaMallocHost(&p->spent, 2 * sizeof *p->spent), "cudaMallocHost");
    memset(p->words, 0, 2 * GF_LINE);
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    void (*test)(struct pair *) = !strcmp(what, "lines") ? test_lines : !strcmp(what, "hops") ? test_hops
                                : !strcmp(what, "fifo") ? test_fifo : NULL;
    int gpus = 0, reach = 0, failures = 0;
    if (!test) {
        fprintf(stderr, "measure_fifo: say what: lines, hops or fifo\n");
        return 2;
    }
    /* A kernel that is loaded late would wait for one that spins. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    need(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
    if (gpus > 1)
        need(cudaDeviceCanAccessPeer(&reach, 0, 1), "cudaDeviceCanAccessPeer");
    for (int other = 0; other <= reach; other++) {
        struct pair p;
        make_pair(&p, 0, other);
        test(&p);
        failures += p.failures;
    }
    printf("measure_fifo %s: %d failed\n", what, failures);
    return failures != 0;
}
