/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A TCP connection whose peer's process takes nothing is not silent: its kernel answers. Nor is one that was idle before. What
 * becomes of a silent one, shows tests/netns/netns.sh.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "transport/ucx_private.h"

/* Both ends of a connection over the loopback interface. */
static void connect_pair(int pair[2])
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t bytes = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
    pair[0] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(pair[0], (struct sockaddr *)&address, bytes), 0);
    pair[1] = accept(listener, NULL, NULL);
    assert_true(pair[1] >= 0);
    close(listener);
}

static struct tcp_info info_of(int descriptor)
{
    struct tcp_info info;
    socklen_t bytes = sizeof info;

    assert_int_equal(getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &bytes), 0);
    return info;
}

/* Its buffers are full, and it is asked for room, again and again. */
static void test_a_peer_that_takes_nothing(void **state)
{
    static char data[65536];
    int pair[2];

    (void)state;
    connect_pair(pair);
    assert_false(gf_ucx_socket_is_silent(pair[0], 1));
    while (send(pair[0], data, sizeof data, MSG_DONTWAIT) > 0) {
    }
    assert_int_equal(errno, EAGAIN);
    for (int i = 0; i < 300; i++) {
        assert_false(gf_ucx_socket_is_silent(pair[0], 1));
        assert_true(info_of(pair[0]).tcpi_probes < 3);
        usleep(10000);
    }
    close(pair[0]);
    close(pair[1]);
}

/* Its silence begins with what is sent, however long nothing was. The other end drops all before it acknowledges. */
static void test_idle_time_is_no_silence(void **state)
{
    enum { SILENCE_MS = 2000, CLOCK_MS = 50 };
    struct sock_filter drop = { .code = BPF_RET | BPF_K, .k = 0 };
    struct sock_fprog program = { .len = 1, .filter = &drop };
    int pair[2];

    (void)state;
    connect_pair(pair);
    assert_int_equal(setsockopt(pair[1], SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), 0);
    while (info_of(pair[0]).tcpi_last_ack_recv < SILENCE_MS) {
        assert_false(gf_ucx_socket_is_silent(pair[0], SILENCE_MS));
        usleep(10000);
    }
    uint64_t sent_ns = gf_now_ns();

    assert_int_equal(send(pair[0], "", 1, 0), 1);
    while (!gf_ucx_socket_is_silent(pair[0], SILENCE_MS)) {
        usleep(10000);
    }
    assert_true(gf_now_ns() - sent_ns >= (uint64_t)(SILENCE_MS - CLOCK_MS) * 1000000);
    close(pair[0]);
    close(pair[1]);
}

/* Nor is what is not connected, or no socket. */
static void test_other_descriptors(void **state)
{
    int other[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
    assert_false(gf_ucx_socket_is_silent(other[0], 0));
    assert_false(gf_ucx_socket_is_silent(STDIN_FILENO, 0));
    close(other[0]);
    assert_false(gf_ucx_socket_is_silent(other[0], 0));
    close(other[1]);
    other[0] = socket(AF_INET, SOCK_STREAM, 0);
    assert_false(gf_ucx_socket_is_silent(other[0], 0));
    close(other[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_peer_that_takes_nothing), cmocka_unit_test(test_idle_time_is_no_silence),
        cmocka_unit_test(test_other_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
