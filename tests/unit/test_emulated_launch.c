/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels on the emulated device: every thread of every kernel runs at once, within a process, and never beside another process
 * under the option solo. What could hang is ended by an alarm.
 */
#include <dirent.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "device/emulated_copy.h"
#include "device/emulated_launch.h"
#include "device/emulated_stream.h"
#include "tests/unit/child.h"

enum { WATCHDOG_SECONDS = 300, BLOCKS = 8 };

static void init(struct gf_emulated_queues *queues, const char *text)
{
    struct gf_emulated_options options;

    assert_int_equal(gf_emulated_options_parse(text, &options, NULL), GF_OK);
    assert_int_equal(gf_emulated_queues_init(queues, &options, NULL), GF_OK);
}

static gf_stream *create(struct gf_emulated_queues *queues)
{
    gf_stream *stream;
    assert_int_equal(gf_emulated_stream_create(queues, &stream, NULL), GF_OK);
    return stream;
}

static void wait_for_flag(void *argument)
{
    atomic_int *flag = argument;
    while (!atomic_load(flag)) {
        sched_yield();
    }
}

struct meeting {
    atomic_int *arrived;
    int expected;
};

/* Each thread waits until all have come. */
static void meet(const struct gf_team *team, const void *work)
{
    const struct meeting *meeting = work;

    atomic_fetch_add(meeting->arrived, 1);
    while (atomic_load(meeting->arrived) < meeting->expected) {
        gf_block_pause(team->shared, team->thread);
    }
}

static void all_threads_of_a_launch_run_at_once(void **state)
{
    struct gf_emulated_queues queues;
    gf_stream *stream;

    (void)state;
    init(&queues, "team=3");
    stream = create(&queues);
    for (int blocks = 1; blocks <= BLOCKS; blocks++) {
        atomic_int arrived = 0;
        struct meeting meeting = {&arrived, 3 * blocks};
        assert_int_equal(gf_emulated_launch(stream, meet, blocks, &meeting, sizeof meeting, NULL), GF_OK);
        gf_emulated_stream_wait(stream);
        assert_int_equal(atomic_load(&arrived), 3 * blocks);
    }
    gf_emulated_stream_destroy(stream);
    gf_emulated_queues_clear(&queues);
}

static void kernels_of_all_streams_run_at_once(void **state)
{
    static const char *const options[] = {"", "solo"};       /* solo says nothing about one process alone */

    (void)state;
    for (int o = 0; o < 2; o++) {
        struct gf_emulated_queues queues;
        gf_stream *streams[6];
        atomic_int arrived = 0;
        struct meeting meeting = {&arrived, 6 * BLOCKS};
        init(&queues, options[o]);
        for (int i = 0; i < 6; i++) {
            streams[i] = create(&queues);
            assert_int_equal(gf_emulated_launch(streams[i], meet, BLOCKS, &meeting, sizeof meeting, NULL), GF_OK);
        }
        for (int i = 5; i >= 0; i--) {
            gf_emulated_stream_destroy(streams[i]);
        }
        assert_int_equal(atomic_load(&arrived), 6 * BLOCKS);
        gf_emulated_queues_clear(&queues);
    }
}

struct roll {
    atomic_int *seen;              /* [blocks * threads] */
    int blocks, threads;
    atomic_int *wrong;
    uint64_t padding[64];
};

static void note_identity(const struct gf_team *team, const void *work)
{
    const struct roll *roll = work;
    bool right = team->blocks == (uint32_t)roll->blocks && team->threads == (uint32_t)roll->threads && team->block < team->blocks
              && team->thread < team->threads && gf_block_threads(team->shared) == team->threads
              && (uintptr_t)work % _Alignof(max_align_t) == 0 && roll->padding[63] == 63;

    gf_team_barrier(team);
    if (!right) {
        atomic_fetch_add(roll->wrong, 1);
    } else {
        atomic_fetch_add(&roll->seen[team->block * team->threads + team->thread], 1);
    }
}

static void every_thread_has_its_own_number_and_the_same_work(void **state)
{
    struct gf_emulated_queues queues;
    gf_stream *stream;
    atomic_int seen[20] = {0}, wrong = 0, go = 0;
    struct roll roll = {seen, 5, 4, &wrong, {[63] = 63}};

    (void)state;
    init(&queues, "team=4,blocks=5");
    stream = create(&queues);
    gf_emulated_call(stream, wait_for_flag, &go);
    for (int i = 0; i < 10; i++) {
        static struct roll reused;           /* the work is copied: what becomes of the caller's does not matter */
        reused = roll;
        assert_int_equal(gf_emulated_launch(stream, note_identity, 5, &reused, sizeof reused, NULL), GF_OK);
        memset(&reused, 0, sizeof reused);
    }
    atomic_store(&go, 1);
    gf_emulated_stream_wait(stream);
    assert_int_equal(atomic_load(&wrong), 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(atomic_load(&seen[i]), 10);
    }
    gf_emulated_stream_destroy(stream);
    gf_emulated_queues_clear(&queues);
}

static void impossible_launches_are_refused(void **state)
{
    struct gf_emulated_queues queues;
    gf_stream *stream;
    atomic_int arrived = 0;
    struct meeting meeting = {&arrived, 0};
    struct gf_reason why = {""};
    static char large[4097];

    (void)state;
    init(&queues, "blocks=3");
    stream = create(&queues);
    assert_int_equal(gf_emulated_launch(stream, meet, 4, &meeting, sizeof meeting, &why), GF_ERR_INVALID);
    assert_non_null(strstr(why.text, "4 blocks cannot run at once: the emulated device has 3"));
    assert_int_equal(gf_emulated_launch(stream, meet, 0, &meeting, sizeof meeting, &why), GF_ERR_INVALID);
    assert_int_equal(gf_emulated_launch(stream, meet, -1, &meeting, sizeof meeting, &why), GF_ERR_INVALID);
    assert_int_equal(gf_emulated_launch(stream, meet, 1, NULL, sizeof meeting, &why), GF_ERR_INVALID);
    assert_int_equal(gf_emulated_launch(stream, meet, 1, &meeting, 0, &why), GF_ERR_INVALID);
    assert_int_equal(gf_emulated_launch(stream, meet, 1, large, sizeof large, &why), GF_ERR_INVALID);
    assert_true(gf_emulated_stream_idle(stream));
    assert_int_equal(atomic_load(&arrived), 0);
    gf_emulated_stream_destroy(stream);
    gf_emulated_queues_clear(&queues);
}

static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;

    for (struct dirent *entry; (entry = readdir(tasks));) {
        count += entry->d_name[0] != '.';
    }
    closedir(tasks);
    return count;
}

static void no_thread_is_made_once_a_stream_is_warm(void **state)
{
    struct gf_emulated_queues queues;
    int before = count_threads();
    gf_stream *stream;
    atomic_int arrived = 0;
    struct meeting meeting = {&arrived, 2 * BLOCKS};

    (void)state;
    init(&queues, "team=2");
    stream = create(&queues);
    assert_int_equal(gf_emulated_launch(stream, meet, BLOCKS, &meeting, sizeof meeting, NULL), GF_OK);
    int warm = count_threads();
    assert_int_equal(warm, before + 2 * BLOCKS);
    for (int i = 0; i < 200; i++) {
        gf_emulated_launch(stream, meet, 1 + i % BLOCKS, &meeting, sizeof meeting, NULL);
    }
    gf_emulated_stream_destroy(stream);
    stream = create(&queues);                 /* the next stream takes over the threads */
    gf_emulated_launch(stream, meet, BLOCKS, &meeting, sizeof meeting, NULL);
    assert_int_equal(count_threads(), warm);
    gf_emulated_stream_destroy(stream);
    gf_emulated_queues_clear(&queues);
}

static void store_all(const struct gf_team *team, const void *work)
{
    uint64_t *words = *(uint64_t *const *)work;

    for (uint32_t i = team->thread; i < 100; i += team->threads) {
        gf_block_store_word(team->shared, team->thread, &words[100 * team->block + i], 100 * team->block + i + 1);
    }
}

static void the_end_of_a_kernel_completes_weak_stores(void **state)
{
    struct gf_emulated_queues queues;
    gf_stream *stream;

    (void)state;
    init(&queues, "weak,team=2,seed=5");
    stream = create(&queues);
    for (int round = 0; round < 20; round++) {
        uint64_t words[100 * BLOCKS] = {0}, *work = words;
        assert_int_equal(gf_emulated_launch(stream, store_all, BLOCKS, &work, sizeof work, NULL), GF_OK);
        gf_emulated_stream_wait(stream);
        for (uint64_t i = 0; i < 100 * BLOCKS; i++) {
            assert_int_equal(words[i], i + 1);
        }
    }
    gf_emulated_stream_destroy(stream);
    gf_emulated_queues_clear(&queues);
}

/* ---- option solo ---- */

struct alone {
    atomic_int *inside;                /* processes that have a kernel running, in memory that they share */
    atomic_int *wrong;
};

static void be_alone(const struct gf_team *team, const void *work)
{
    const struct alone *alone = work;

    (void)team;
    if (atomic_fetch_add(alone->inside, 1) != 0) {
        atomic_fetch_add(alone->wrong, 1);
    }
    for (int i = 0; i < 20; i++) {
        sched_yield();
    }
    atomic_fetch_sub(alone->inside, 1);
}

static void run_alone(void *argument)
{
    const struct alone *alone = argument;
    struct gf_emulated_options options;
    struct gf_emulated_queues queues;
    gf_stream *stream;

    CHILD_CHECK(gf_emulated_options_parse("solo", &options, NULL) == GF_OK);
    CHILD_CHECK(gf_emulated_queues_init(&queues, &options, NULL) == GF_OK);
    CHILD_CHECK(gf_emulated_stream_create(&queues, &stream, NULL) == GF_OK);
    for (int i = 0; i < 100; i++) {
        CHILD_CHECK(gf_emulated_launch(stream, be_alone, 1, alone, sizeof *alone, NULL) == GF_OK);
    }
    gf_emulated_stream_destroy(stream);
    gf_emulated_queues_clear(&queues);
}

static void run_two_alone(void *argument)
{
    pid_t other = fork();
    int status = -1;

    run_alone(argument);
    if (other == 0) {
        _exit(0);
    }
    CHILD_CHECK(waitpid(other, &status, 0) == other && status == 0);
}

static void solo_kernels_of_two_processes_never_overlap(void **state)
{
    atomic_int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct alone alone = {&shared[0], &shared[1]};

    (void)state;
    assert_int_equal(child_fork(run_two_alone, &alone), 0);
    assert_int_equal(atomic_load(alone.wrong), 0);
    assert_int_equal(atomic_load(alone.inside), 0);
    munmap(shared, 4096);
}

struct filling {
    atomic_int *end, *arrived;
    int seen;                          /* of arrived, when it ends */
};

static void fill_device(void *argument)
{
    struct filling *filling = argument;

    wait_for_flag(filling->end);
    filling->seen = atomic_load(filling->arrived);
}

static void a_function_of_the_program_fills_the_device(void **state)
{
    enum { TURNS = 1000 };
    struct gf_emulated_queues queues;
    gf_stream *filled, *stream;
    atomic_int end = 0, arrived = 0;
    struct filling filling = {&end, &arrived, -1};
    struct meeting meeting = {&arrived, 1};

    (void)state;
    init(&queues, "filled");
    filled = create(&queues);
    stream = create(&queues);
    assert_int_equal(gf_emulated_call(filled, fill_device, &filling), GF_OK);
    while (__atomic_load_n(&queues.kernels, __ATOMIC_ACQUIRE) == 0) {
        sched_yield();
    }
    assert_int_equal(gf_emulated_launch(stream, meet, 1, &meeting, sizeof meeting, NULL), GF_OK);
    for (int turn = 0; turn < TURNS; turn++) {
        sched_yield();
    }
    atomic_store(&end, 1);
    gf_emulated_stream_wait(stream);
    gf_emulated_stream_wait(filled);
    assert_int_equal(filling.seen, 0);
    assert_int_equal(atomic_load(&arrived), 1);
    gf_emulated_stream_destroy(stream);
    gf_emulated_stream_destroy(filled);
    gf_emulated_queues_clear(&queues);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_threads_of_a_launch_run_at_once),
        cmocka_unit_test(kernels_of_all_streams_run_at_once),
        cmocka_unit_test(every_thread_has_its_own_number_and_the_same_work),
        cmocka_unit_test(impossible_launches_are_refused),
        cmocka_unit_test(no_thread_is_made_once_a_stream_is_warm),
        cmocka_unit_test(the_end_of_a_kernel_completes_weak_stores),
        cmocka_unit_test(a_function_of_the_program_fills_the_device),
        cmocka_unit_test(solo_kernels_of_two_processes_never_overlap),
    };
    alarm(WATCHDOG_SECONDS);
    return cmocka_run_group_tests_name("emulated_launch", tests, NULL, NULL);
}
