/* SPDX-License-Identifier: BSD-3-Clause
 *
 * File descriptors that are handed out over a socket.
 */
#define _GNU_SOURCE 1   /* pipe2 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "device/fd_server.h"
#include "tests/support/descriptors.h"

enum { REFUSED = 13, THREADS = 8, ASKS = 50 };

static char context_of_tests;

/* A pipe with both words of the request in it; what[0] REFUSED is refused. */
static int give(void *context, const struct gf_fd_request *request, struct gf_reason *why)
{
    int ends[2];

    if (context != &context_of_tests) {
        return -1;
    }
    if (request->what[0] == REFUSED) {
        gf_reason_set(why, "number %d is not given away", REFUSED);
        return -1;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    if (write(ends[1], request, sizeof *request) != (ssize_t)sizeof *request) {
        close(ends[0]);
        ends[0] = -1;
    }
    close(ends[1]);
    return ends[0];
}

/* 0: as it must be. */
static int ask_once(uint64_t name, uint64_t number)
{
    const struct gf_fd_request request = { { number, ~number } };
    struct gf_fd_request got = { { 0, 0 } };
    struct gf_reason why = { "" };
    int fd = -1, wrong;

    if (gf_fd_ask(name, &request, &fd, &why) != GF_OK) {
        fprintf(stderr, "%s\n", why.text);
        return 1;
    }
    wrong = read(fd, &got, sizeof got) != (ssize_t)sizeof got || memcmp(&got, &request, sizeof got) != 0
        || (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0;
    close(fd);
    return wrong;
}

static uint64_t start(struct gf_fd_server *server)
{
    uint64_t name = 0, again = 0;

    gf_fd_server_init(server, give, &context_of_tests);
    assert_int_equal(gf_fd_server_start(server, &name, NULL), GF_OK);
    assert_int_equal(gf_fd_server_start(server, &again, NULL), GF_OK);
    assert_true(name != 0 && name == again);
    return name;
}

static void test_given(void **state)
{
    struct gf_fd_server server;
    uint64_t name = start(&server);
    int files = gftest_open_descriptors();

    (void)state;
    for (uint64_t i = 100; i < 200; i++) {
        assert_int_equal(ask_once(name, i), 0);
    }
    gf_fd_server_stop(&server);
    assert_true(gftest_open_descriptors() < files);     /* the socket too, and no pipe is left */
}

static void test_refused(void **state)
{
    struct gf_fd_server server;
    const struct gf_fd_request request = { { REFUSED, 0 } };
    struct gf_reason why = { "" };
    uint64_t name = start(&server);
    int fd = 7;

    (void)state;
    assert_int_equal(gf_fd_ask(name, &request, &fd, &why), GF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "number 13 is not given away"));
    assert_int_equal(fd, -1);
    assert_int_equal(gf_fd_ask(name + 1, &request, &fd, &why), GF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "has ended"));
    gf_fd_server_stop(&server);
    assert_int_equal(gf_fd_ask(name, &request, &fd, &why), GF_ERR_UNSUPPORTED);
    assert_int_equal(fd, -1);
}

static void *ask_often(void *name)
{
    uintptr_t wrong = 0;

    for (uint64_t i = 0; i < ASKS; i++) {
        wrong += (uintptr_t)ask_once(*(uint64_t *)name, 1000 + i);
    }
    return (void *)wrong;
}

/* More askers than the server has ears, and one that never says what it wants. */
static void test_many(void **state)
{
    struct gf_fd_server server;
    pthread_t threads[THREADS];
    uint64_t name = start(&server);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "gpufifo-fd-%016" PRIx64, name);
    int silent = socket(AF_UNIX, SOCK_SEQPACKET, 0);

    (void)state;
    assert_int_equal(connect(silent, (struct sockaddr *)&address, (socklen_t)(sizeof address.sun_family + 1 + (size_t)length)),
                     0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &name), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *wrong;

        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    close(silent);
    gf_fd_server_stop(&server);
}

static void test_never_started(void **state)
{
    struct gf_fd_server server;

    (void)state;
    gf_fd_server_init(&server, give, NULL);
    gf_fd_server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_given), cmocka_unit_test(test_refused), cmocka_unit_test(test_many),
        cmocka_unit_test(test_never_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
