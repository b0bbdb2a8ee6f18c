/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The emulated device among processes and threads: options, forks, program ends, and many threads at once.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "device/device.h"
#include "gpufifo/device.h"
#include "tests/unit/child.h"

static gf_device *device;

static gf_status open_device(struct gf_reason *why)
{
    gf_driver *driver;
    gf_status status = gf_driver_open("emulated", &driver, why);
    return status == GF_OK ? gf_device_open(driver, 0, &device, why) : status;
}

/* ---- this program as a child: says what it found ---- */

struct finding {
    gf_status status;
    struct gf_device_caps caps;
    struct gf_reason why;
};

static int say(const struct finding *finding)
{
    return write(1, finding, sizeof *finding) == (ssize_t)sizeof *finding ? 0 : 1;
}

static int look(void)
{
    struct finding finding;

    memset(&finding, 0, sizeof finding);
    finding.status = open_device(&finding.why);
    if (finding.status == GF_OK) {
        finding.caps = device->caps;
        gf_device_close(device);
    }
    return say(&finding);
}

/* Ends by returning from main, with a stream, idle workers and memory left over. */
static int leave(void)
{
    gf_stream *stream;
    void *address;

    if (open_device(NULL) != GF_OK || gf_device_stream_create(device, &stream, NULL) != GF_OK
        || gf_device_alloc(device, 1000, &address, NULL) != GF_OK) {
        return 1;
    }
    return gf_device_fill(device, stream, address, 1, 1000) == GF_OK ? 0 : 1;
}

static struct finding look_with(const char *options)
{
    struct child child = child_exec("look", options);
    struct finding finding;

    assert_int_equal(read(child.from, &finding, sizeof finding), sizeof finding);
    assert_int_equal(child_wait(&child), 0);
    return finding;
}

static void options_become_capabilities(void **state)
{
    (void)state;
    struct finding plain = look_with("");
    assert_int_equal(plain.status, GF_OK);
    assert_true(plain.caps.ipc && plain.caps.concurrent_processes && plain.caps.line128_atomic);
    assert_int_equal(plain.caps.blocks, 8);
    assert_int_equal(plain.caps.numa_node, -1);
    assert_false(look_with("noipc").caps.ipc);
    assert_false(look_with("solo").caps.concurrent_processes);
    assert_false(look_with("torn").caps.line128_atomic);
    assert_int_equal(look_with("blocks=3").caps.blocks, 3);
}

static void a_wrong_option_is_told_when_the_device_is_opened(void **state)
{
    (void)state;
    struct finding finding = look_with("weak,stronk");
    assert_int_equal(finding.status, GF_ERR_INVALID);
    assert_non_null(strstr(finding.why.text, "\"stronk\""));
}

static void all_processes_of_a_host_share_the_device(void **state)
{
    static const unsigned char nothing[16];

    (void)state;
    struct finding other = look_with("");
    assert_memory_equal(other.caps.uuid, device->caps.uuid, 16);
    assert_memory_not_equal(other.caps.uuid, nothing, 16);
    assert_memory_not_equal(other.caps.uuid + 8, nothing, 8);
}

static void a_program_may_end_without_closing(void **state)
{
    (void)state;
    setenv("TSAN_OPTIONS", "report_thread_leaks=0", 0);
    struct child child = child_exec("leave", "");
    assert_int_equal(child_wait(&child), 0);
}

/* ---- fork ---- */

static void use_in_child(void *argument)
{
    struct gf_reason why = {""};
    struct gf_pointer info;
    gf_driver *driver;
    gf_stream *stream;
    void *address, *pointer = argument;
    int on_stack;

    CHILD_CHECK(gf_device_alloc(device, 10, &address, &why) == GF_ERR_DEVICE);
    CHILD_CHECK(strstr(why.text, "forked") && strstr(why.text, "exec"));
    CHILD_CHECK(gf_device_pinned_alloc(device, 10, &address, NULL) == GF_ERR_DEVICE);
    CHILD_CHECK(gf_device_free(device, pointer) == GF_ERR_DEVICE);
    CHILD_CHECK(gf_device_stream_create(device, &stream, &why) == GF_ERR_DEVICE);
    CHILD_CHECK(gf_device_sync(device) == GF_ERR_DEVICE);
    CHILD_CHECK(gf_driver_open("emulated", &driver, &why) == GF_ERR_DEVICE);
    CHILD_CHECK(gf_driver_pointer(device->driver, &on_stack, &info) == GF_OK && info.kind == GF_MEMORY_HOST);
    CHILD_CHECK(gf_driver_pointer(device->driver, pointer, &info) == GF_OK && info.kind == GF_MEMORY_DEVICE);
    gf_device_close(device);
}

static void touch_in_child(void *argument)
{
    *(volatile char *)argument = 1;
}

/* The new program must have no descriptor of the device's memory: a failed grep is what we want. */
static void exec_in_child(void *argument)
{
    (void)argument;
    execl("/bin/sh", "sh", "-c", "! ls -l /proc/self/fd | grep -q gpufifo-emulated", (char *)NULL);
}

static void a_forked_child_can_exec_and_the_parent_goes_on(void **state)
{
    gf_stream *stream;
    char *pointer, *pinned, result[100];

    (void)state;
    gf_device_stream_create(device, &stream, NULL);
    gf_device_alloc(device, 100, (void **)&pointer, NULL);
    gf_device_pinned_alloc(device, 100, (void **)&pinned, NULL);
    gf_device_fill(device, stream, pointer, 9, 100);
    assert_int_equal(gf_device_stream_sync(device, stream), GF_OK);

    assert_int_equal(child_fork(use_in_child, pointer), 0);
    assert_int_equal(child_fork(exec_in_child, NULL), 0);
    assert_true(child_died_by(child_fork(touch_in_child, pointer), SIGSEGV));
    assert_int_equal(child_fork(touch_in_child, pinned), 0);
    assert_int_equal(pinned[0], 0);            /* the child's is a copy */

    assert_int_equal(gf_device_copy(device, stream, result, pointer, 100), GF_OK);
    assert_int_equal(result[99], 9);
    assert_int_equal(gf_device_free(device, pointer), GF_OK);
    assert_int_equal(gf_device_pinned_free(device, pinned), GF_OK);
    gf_device_stream_destroy(device, stream);
}

static void *fork_often(void *argument)
{
    bool *right = argument;
    for (int i = 0; i < 30; i++) {
        *right &= child_fork(exec_in_child, NULL) == 0;
    }
    return NULL;
}

static void forks_and_allocations_do_not_disturb_each_other(void **state)
{
    pthread_t thread;
    bool right = true;
    void *address;

    (void)state;
    pthread_create(&thread, NULL, fork_often, &right);
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(gf_device_alloc(device, 5000, &address, NULL), GF_OK);
        assert_int_equal(gf_device_free(device, address), GF_OK);
    }
    pthread_join(thread, NULL);
    assert_true(right);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 150, BYTES = 3000 };

static bool round_of_one(gf_stream *stream, char *registered, int round, int byte)
{
    struct gf_pointer info, on_stack;
    char *a, *b, result[BYTES];
    bool right = gf_device_alloc(device, BYTES, (void **)&a, NULL) == GF_OK
              && gf_device_pinned_alloc(device, BYTES, (void **)&b, NULL) == GF_OK
              && gf_device_host_register(device, registered, 4096, NULL) == GF_OK;

    right = right && gf_device_fill(device, stream, a, byte, BYTES) == GF_OK
         && gf_device_copy(device, stream, b, a, BYTES) == GF_OK;
    right = right && gf_driver_pointer(device->driver, a + round % BYTES, &info) == GF_OK && info.base == a
         && info.kind == GF_MEMORY_DEVICE;
    right = right && gf_driver_pointer(device->driver, registered + 4095, &info) == GF_OK && info.base == registered
         && info.kind == GF_MEMORY_PINNED && info.size == 4096;
    right = right && gf_driver_pointer(device->driver, result, &on_stack) == GF_OK && on_stack.kind == GF_MEMORY_HOST;
    right = right && gf_device_copy(device, stream, result, b, BYTES) == GF_OK;
    for (int i = 0; right && i < BYTES; i++) {
        right = result[i] == (char)byte && b[i] == (char)byte;
    }
    return right && gf_device_host_unregister(device, registered) == GF_OK && gf_device_free(device, a) == GF_OK
        && gf_device_pinned_free(device, b) == GF_OK;
}

static void *hammer(void *argument)
{
    int number = (int)(intptr_t)argument;
    char *registered = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    gf_stream *stream;
    bool right = true;

    for (int round = 0; right && round < ROUNDS; round++) {
        right = gf_device_stream_create(device, &stream, NULL) == GF_OK;
        right = right && round_of_one(stream, registered, round, 16 * number + round % 16);
        gf_device_stream_destroy(device, stream);
    }
    munmap(registered, 4096);
    return right ? argument : NULL;
}

static void many_threads_do_everything_at_once(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    for (intptr_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, (void *)(i + 1)), 0);
    }
    for (intptr_t i = 0; i < THREADS; i++) {
        void *right;
        pthread_join(threads[i], &right);
        assert_ptr_equal(right, (void *)(i + 1));
    }
}

static void *copy_through_one_handle(void *argument)
{
    gpufifo_device *shared = argument;
    char source[500], result[500];
    void *pointer = NULL;
    bool right = gpufifo_alloc(shared, GPUFIFO_MEMORY_DEVICE, sizeof source, &pointer) == 0;

    for (int round = 0; right && round < ROUNDS; round++) {
        memset(source, round, sizeof source);
        right = gpufifo_copy(shared, pointer, source, sizeof source) == 0
             && gpufifo_copy(shared, result, pointer, sizeof result) == 0 && memcmp(source, result, sizeof result) == 0;
    }
    return right && gpufifo_free(shared, pointer) == 0 ? argument : NULL;
}

static void threads_may_share_a_device_of_the_public_header(void **state)
{
    pthread_t threads[THREADS];
    gpufifo_device *shared;

    (void)state;
    assert_int_equal(gpufifo_device_open("emulated", 0, &shared), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, copy_through_one_handle, shared);
    }
    for (int i = 0; i < THREADS; i++) {
        void *right;
        pthread_join(threads[i], &right);
        assert_ptr_equal(right, shared);
    }
    gpufifo_device_close(shared);
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        return strcmp(argv[1], "look") == 0 ? look() : leave();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_become_capabilities),
        cmocka_unit_test(a_wrong_option_is_told_when_the_device_is_opened),
        cmocka_unit_test(all_processes_of_a_host_share_the_device),
        cmocka_unit_test(a_program_may_end_without_closing),
        cmocka_unit_test(a_forked_child_can_exec_and_the_parent_goes_on),
        cmocka_unit_test(forks_and_allocations_do_not_disturb_each_other),
        cmocka_unit_test(many_threads_do_everything_at_once),
        cmocka_unit_test(threads_may_share_a_device_of_the_public_header),
    };
    unsetenv("GPUFIFO_EMULATED");
    alarm(300);
    if (open_device(NULL) != GF_OK) {
        return 1;
    }
    int failed = cmocka_run_group_tests_name("emulated_process", tests, NULL, NULL);
    gf_device_close(device);
    return failed;
}
