/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The proxy's thread, its queue and its ladders, without any device: work that several threads bring is never left, an idle
 * thread sleeps, a task that was removed is not touched again, and steps climb a ladder in order whatever its stages answer.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "proxy/place.h"
#include "proxy/proxy.h"
#include "proxy/queue.h"
#include "proxy/stages.h"
#include "tests/unit/scalar.h"

enum { SECONDS = 120, SEED = 20261129 };

/* Every lock that this program takes comes by here (--wrap). */
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
static uint64_t locks;                 /* atomic */

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    __atomic_fetch_add(&locks, 1, __ATOMIC_RELAXED);
    return __real_pthread_mutex_lock(mutex);
}

/* A task whose work is a number that others raise. */
struct worker {
    struct gf_proxy_task task;
    uint64_t wanted, done;             /* atomic; done is the task's */
    uint64_t turns;                    /* atomic */
};

static enum gf_proxy_turn work(void *ctx)
{
    struct worker *w = ctx;

    __atomic_fetch_add(&w->turns, 1, __ATOMIC_RELAXED);
    if (w->done == __atomic_load_n(&w->wanted, __ATOMIC_RELAXED)) {
        return GF_PROXY_IDLE;
    }
    __atomic_store_n(&w->done, w->done + 1, __ATOMIC_RELEASE);
    return GF_PROXY_MOVED;
}

static void init_worker(struct worker *w)
{
    *w = (struct worker){ .task = { .turn = work, .ctx = w } };
}

static void await_done(const struct worker *w, uint64_t value)
{
    while (__atomic_load_n(&w->done, __ATOMIC_ACQUIRE) < value) {
        sched_yield();
    }
}

static void await_sleep(const gf_proxy *proxy, uint64_t sleeps)
{
    while (gf_proxy_sleeps(proxy) <= sleeps) {
        sched_yield();
    }
}

/* Each piece of work is brought while the thread may just be falling asleep: a lost wake would hang the test. From the first
 * piece on, which finds the thread under way, neither side takes a lock. */
static void test_no_wake_is_lost(void **state)
{
    struct worker w;
    gf_proxy *proxy;
    uint64_t before = 0;

    (void)state;
    alarm(SECONDS);
    init_worker(&w);
    assert_int_equal(gf_proxy_create(NULL, &proxy, NULL), GF_OK);
    assert_int_equal(gf_proxy_add(proxy, &w.task, NULL), GF_OK);
    for (uint64_t i = 1; i <= 3000; i++) {
        __atomic_store_n(&w.wanted, i, __ATOMIC_RELAXED);
        gf_proxy_wake(proxy);
        await_done(&w, i);
        before = i == 1 ? __atomic_load_n(&locks, __ATOMIC_RELAXED) : before;
    }
    assert_true(before > 0);
    assert_int_equal(__atomic_load_n(&locks, __ATOMIC_RELAXED), before);
    gf_proxy_remove(proxy, &w.task);
    gf_proxy_destroy(proxy);
}

/* Idle: each wake is worth a turn or two, and time none. */
static void test_idle_thread_sleeps(void **state)
{
    struct worker w;
    gf_proxy *proxy;

    (void)state;
    alarm(SECONDS);
    init_worker(&w);
    assert_int_equal(gf_proxy_create(NULL, &proxy, NULL), GF_OK);
    assert_string_equal(gf_proxy_place(proxy), "");
    assert_int_equal(gf_proxy_add(proxy, &w.task, NULL), GF_OK);
    for (uint64_t i = 1; i <= 5; i++) {
        uint64_t sleeps = gf_proxy_sleeps(proxy);

        __atomic_store_n(&w.wanted, i, __ATOMIC_RELAXED);
        gf_proxy_wake(proxy);
        await_done(&w, i);
        await_sleep(proxy, i == 1 ? 0 : sleeps);
        for (int y = 0; y < 10000; y++) {
            sched_yield();
        }
    }
    assert_in_range(__atomic_load_n(&w.turns, __ATOMIC_RELAXED), 5, 25);
    assert_in_range(gf_proxy_sleeps(proxy), 1, 12);
    gf_proxy_destroy(proxy);
}

/* Adds and removes tasks of its own, again and again; each does some work. After the removal the memory is its own again. */
static void *come_and_go(void *ctx)
{
    gf_proxy *proxy = ctx;

    for (uint64_t i = 0; i < 300; i++) {
        struct worker *w = malloc(sizeof *w);

        init_worker(w);
        w->wanted = i % 3;
        assert_int_equal(gf_proxy_add(proxy, &w->task, NULL), GF_OK);
        if (i % 2) {
            await_done(w, i % 3);
        }
        gf_proxy_remove(proxy, &w->task);
        gf_proxy_remove(proxy, &w->task);      /* a task that is out */
        memset(w, 0xff, sizeof *w);
        free(w);
    }
    return NULL;
}

static void test_tasks_come_and_go(void **state)
{
    pthread_t threads[3];
    gf_proxy *proxy;

    (void)state;
    alarm(SECONDS);
    assert_int_equal(gf_proxy_create(NULL, &proxy, NULL), GF_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, proxy), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    gf_proxy_destroy(proxy);
}

static void test_queue_keeps_the_order(void **state)
{
    struct gf_proxy_task tasks[4] = { { .next = NULL } };
    struct gf_proxy_queue queue = { NULL };

    (void)state;
    assert_null(gf_proxy_queue_take(&queue));
    for (int i = 0; i < 4; i++) {
        gf_proxy_queue_push(&queue, &tasks[i]);
    }
    struct gf_proxy_task *task = gf_proxy_queue_take(&queue);

    for (int i = 0; i < 4; i++, task = task->next) {
        assert_ptr_equal(task, &tasks[i]);
    }
    assert_null(task);
    assert_null(gf_proxy_queue_take(&queue));
    gf_proxy_destroy(NULL);
}

/* A ladder whose stages answer at random. Each stage must get the steps in order, none that has not passed the stage below. */
enum { STAGES = 5, DEPTH = 4 };
struct climber {
    uint64_t random;
    uint64_t passed[STAGES];           /* by stage, in the order of climbing */
    int last;                          /* the last stage */
    gf_status break_with;              /* after `breaks_at` answers; GF_OK: never */
    unsigned answers, breaks_at;
};

static gf_status answer(struct climber *c, int stage, uint64_t step)
{
    static const gf_status answers[] = { GF_OK, GF_OK, GF_IN_PROGRESS, GF_NO_RESOURCE };

    assert_int_equal(step, c->passed[stage]);
    if (stage == 0) {
        assert_true(step < c->passed[c->last] + DEPTH);
    } else {
        assert_true(step < c->passed[stage - 1]);
    }
    if (c->break_with != GF_OK && ++c->answers == c->breaks_at) {
        return c->break_with;
    }
    gf_status status = answers[scalar_random(&c->random) % 4];

    c->passed[stage] += status == GF_OK;
    return status;
}

static gf_status stage0(void *ctx, uint64_t step) { return answer(ctx, 0, step); }
static gf_status stage1(void *ctx, uint64_t step) { return answer(ctx, 1, step); }
static gf_status stage2(void *ctx, uint64_t step) { return answer(ctx, 2, step); }
static gf_status stage3(void *ctx, uint64_t step) { return answer(ctx, 3, step); }
static gf_status stage4(void *ctx, uint64_t step) { return answer(ctx, 4, step); }

static const struct gf_proxy_send_stages send_stages = { .grant = stage0, .fill = stage1, .send = stage2, .finish = stage3 };
static const struct gf_proxy_recv_stages recv_stages = {
    .post = stage0, .arrive = stage1, .flush = stage2, .ready = stage3, .finish = stage4,
};

static void test_send_ladder(void **state)
{
    struct climber c = { .random = SEED, .last = 3 };
    struct gf_proxy_send send = { .stages = &send_stages, .ctx = &c, .depth = DEPTH };

    (void)state;
    for (uint64_t target = 0; target < 400; target += scalar_random(&c.random) % 20) {
        gf_status status = GF_OK;
        enum gf_proxy_turn turn;

        gf_proxy_expect(&send.target, target - send.target);
        do {
            uint64_t before = send.granted + send.filled + send.sent + send.done;

            turn = gf_proxy_send_turn(&send, &status);
            assert_int_equal(status, GF_OK);
            assert_true(gf_proxy_send_holds(&send));
            assert_int_equal(turn == GF_PROXY_MOVED, send.granted + send.filled + send.sent + send.done > before);
            assert_true(turn != GF_PROXY_IDLE || send.done == target);
        } while (turn != GF_PROXY_IDLE);
        assert_int_equal(c.passed[1], target);
    }
    send.done = send.sent + 1;
    assert_false(gf_proxy_send_holds(&send));
    send.done = send.sent;
    send.granted = send.done + DEPTH + 1;
    assert_false(gf_proxy_send_holds(&send));
}

static void test_recv_ladder(void **state)
{
    struct climber c = { .random = SEED, .last = 4 };
    struct gf_proxy_recv recv = { .stages = &recv_stages, .ctx = &c, .depth = DEPTH };
    gf_status status = GF_OK;

    (void)state;
    gf_proxy_expect(&recv.target, 300);
    while (recv.done < 300) {
        assert_true(gf_proxy_recv_turn(&recv, &status) != GF_PROXY_IDLE || recv.done >= 300);
        assert_int_equal(status, GF_OK);
        assert_true(gf_proxy_recv_holds(&recv));
    }
    recv.flushed = recv.arrived + 1;
    assert_false(gf_proxy_recv_holds(&recv));
}

static void test_a_stage_that_fails_ends_the_turn(void **state)
{
    (void)state;
    for (unsigned at = 1; at < 60; at++) {
        struct climber c = { .random = SEED + at, .last = 3, .break_with = GF_ERR_DEVICE, .breaks_at = at };
        struct gf_proxy_send send = { .stages = &send_stages, .ctx = &c, .depth = DEPTH, .target = 1000 };
        gf_status status = GF_OK;

        while (status == GF_OK) {
            gf_proxy_send_turn(&send, &status);
        }
        assert_int_equal(status, GF_ERR_DEVICE);
        assert_int_equal(c.answers, at);
    }
}

/* On a machine that hwloc is told about: two NUMA nodes of four cores. */
static void test_place(void **state)
{
    static const struct { int node; const char *text; } cases[] = {
        { 1, "cores 4-7" }, { 0, "cores 0-3" }, { -1, "not known" }, { 9, "none of them" },
    };

    (void)state;
    setenv("HWLOC_SYNTHETIC", "numa:2 core:4 pu:1", 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[GF_PLACE_TEXT];

        gf_place_self(cases[i].node, text);
        print_message("%s\n", text);
        assert_non_null(strstr(text, cases[i].text));
    }
    unsetenv("HWLOC_SYNTHETIC");
}

/* MPI binds a process to a core or two; the proxy of a device leaves them. */
static void test_leaves_the_programs_core(void **state)
{
    const gf_device device = { .caps = { .numa_node = -1 } };
    struct worker w;
    cpu_set_t before, one;
    gf_proxy *proxy;

    (void)state;
    alarm(SECONDS);
    init_worker(&w);
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &before)) {
            CPU_SET(cpu, &one);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(gf_proxy_create(&device, &proxy, NULL), GF_OK);
    assert_int_equal(gf_proxy_add(proxy, &w.task, NULL), GF_OK);
    await_sleep(proxy, 0);
    print_message("the thread runs %s\n", gf_proxy_place(proxy));
    assert_non_null(strstr(gf_proxy_place(proxy), "all that the job may use"));
    gf_proxy_destroy(proxy);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_wake_is_lost), cmocka_unit_test(test_idle_thread_sleeps),
        cmocka_unit_test(test_tasks_come_and_go), cmocka_unit_test(test_queue_keeps_the_order),
        cmocka_unit_test(test_send_ladder), cmocka_unit_test(test_recv_ladder),
        cmocka_unit_test(test_a_stage_that_fails_ends_the_turn), cmocka_unit_test(test_place),
        cmocka_unit_test(test_leaves_the_programs_core),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
