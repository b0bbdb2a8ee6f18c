/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections between nodes (net.h) over verbs, whole: the two nodes of the unit tests on one adapter. What their wires count has
 * to be what verbs were asked for.
 */
#define _GNU_SOURCE 1      /* RTLD_NEXT */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>

#include <cmocka.h>

#include "tests/unit/net_counts.h"
#include "tests/unit/net_world.h"
#include "transport/verbs_private.h"

/* By all contexts of the process since they were last looked at. */
static struct {
    int (*post_send)(struct ibv_qp *pair, struct ibv_send_wr *send, struct ibv_send_wr **bad);    /* the provider's */
    atomic_ulong writes, lines, notifies, reads, others;
} posted;

static int count_and_post(struct ibv_qp *pair, struct ibv_send_wr *first, struct ibv_send_wr **bad)
{
    for (const struct ibv_send_wr *send = first; send; send = send->next) {
        switch (send->opcode) {
        case IBV_WR_RDMA_WRITE:
            atomic_fetch_add(send->send_flags & IBV_SEND_INLINE ? &posted.lines : &posted.writes, 1);
            break;
        case IBV_WR_RDMA_WRITE_WITH_IMM:
            atomic_fetch_add(&posted.notifies, 1);
            break;
        case IBV_WR_RDMA_READ:
            atomic_fetch_add(&posted.reads, 1);
            break;
        default:
            atomic_fetch_add(&posted.others, 1);
            break;
        }
    }
    return posted.post_send(pair, first, bad);
}

/* Before libibverbs': puts the count between the wire and the provider. */
struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct ibv_context *(*next)(struct ibv_device *) = (struct ibv_context *(*)(struct ibv_device *))dlsym(RTLD_NEXT,
                                                                                                          "ibv_open_device");
    struct ibv_context *context = next(device);

    assert_non_null(context);
    posted.post_send = context->ops.post_send;
    context->ops.post_send = count_and_post;
    return context;
}

/* A credit of up to eight lines is one inline write. */
static void expect_posted(const struct gf_wire_counts *sender, const struct gf_wire_counts *receiver)
{
    assert_int_equal(atomic_exchange(&posted.writes, 0), sender->puts + receiver->puts);
    assert_int_equal(atomic_exchange(&posted.notifies, 0), sender->notifies + receiver->notifies);
    assert_int_equal(atomic_exchange(&posted.lines, 0), sender->line_puts + receiver->line_puts);
    assert_int_equal(atomic_exchange(&posted.reads, 0), sender->flushes + receiver->flushes);
    assert_int_equal(atomic_load(&posted.others), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(net_test_operations_are_counted) };

    net_world_wires[0] = &gf_wire_verbs;
    net_world_wire_config = (struct gf_wire_config){ .adapters = "rxe0", .port = 1, .gid_index = -1 };
    net_counts_also = expect_posted;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
