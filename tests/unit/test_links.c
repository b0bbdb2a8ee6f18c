/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How two processes come to a link for messages between nodes, or agree to go without. Both are played in turn by this one; the
 * PML and the carrier are the test's: greetings come when it wants, and a lane knows whether it was connected.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mca_coll_gpufifo/card.h"
#include "mca_coll_gpufifo/freed.h"
#include "mca_coll_gpufifo/pt2pt/links_private.h"
#include "mca_coll_gpufifo/pt2pt/pml_request.h"

enum { SENDER, RECEIVER, PROCESSES, MAILS = 8, BYTES = 1 << 20, ROUNDS = 5 };

mca_coll_gpufifo_component_t mca_coll_gpufifo_component;

struct gf_carrier {
    int process;
};

struct gf_carrier_lane {
    bool connected;
    int sent;                          /* messages */
};

/* One send or receive of the PML. */
struct mail {
    ompi_request_t request;
    int from, to, tag;
    const void *said;                  /* null: a receive */
    void *heard;
    size_t bytes;
    bool met;                          /* its other half was there */
};

static struct {
    int process;                       /* who is being played */
    struct gf_links *links[PROCESSES];
    struct gf_carrier carriers[PROCESSES];
    struct gf_carrier_lane lanes[PROCESSES];
    const char *wires[PROCESSES];      /* null: that process has no network */
    int adapters[PROCESSES];           /* of its wire */
    int chosen[PROCESSES];             /* of how many its last lane goes by one */
    bool holds_sends;                  /* they arrive, but do not complete */
    struct mail mails[MAILS];
    int mail_count, cancelled, progressed;
} world;

static void complete(struct mail *mail)
{
    mail->request.req_complete = REQUEST_COMPLETED;
}

static int forget(ompi_request_t **request)
{
    *request = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

static int cancel(ompi_request_t *request, int flag)
{
    (void)flag;
    world.cancelled++;
    request->req_status._cancelled = 1;
    request->req_complete = REQUEST_COMPLETED;
    return OMPI_SUCCESS;
}

static void meet(struct mail *send, struct mail *receive)
{
    if (send->said && !receive->said && !send->met && !receive->met && send->from == receive->from && send->to == receive->to &&
        send->tag == receive->tag) {
        assert_int_equal(send->bytes, receive->bytes);
        memcpy(receive->heard, send->said, send->bytes);
        send->met = receive->met = true;
        complete(receive);
        receive->request.req_status._ucount = send->bytes;
    }
}

static int post(struct mail mail, ompi_request_t **request)
{
    struct mail *posted = &world.mails[world.mail_count++];

    assert_true(world.mail_count <= MAILS);
    *posted = mail;
    posted->request.req_complete = REQUEST_PENDING;
    posted->request.req_free = forget;
    posted->request.req_cancel = cancel;
    if (mail.said && !world.holds_sends) {
        complete(posted);
    }
    for (int i = 0; i < world.mail_count; i++) {
        meet(posted, &world.mails[i]);
        meet(&world.mails[i], posted);
    }
    *request = &posted->request;
    return OMPI_SUCCESS;
}

static int fake_isend(const void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag, mca_pml_base_send_mode_t mode,
                      ompi_communicator_t *comm, ompi_request_t **request)
{
    (void)type, (void)mode, (void)comm;
    return post((struct mail){.from = world.process, .to = peer, .tag = tag, .said = buffer, .bytes = count}, request);
}

static int fake_irecv(void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag, ompi_communicator_t *comm,
                      ompi_request_t **request)
{
    (void)type, (void)comm;
    return post((struct mail){.from = peer, .to = world.process, .tag = tag, .heard = buffer, .bytes = count}, request);
}

/* In the place of the component's and the transport's. */

void opal_progress(void) { world.progressed++; }

gf_device *gf_component_device(int ordinal, struct gf_reason *why)
{
    static int device;

    (void)ordinal, (void)why;
    return (gf_device *)(void *)&device;
}

struct gf_net *gf_component_new_net(gf_device *device)
{
    return (struct gf_net *)(void *)device;
}

void gf_net_destroy(struct gf_net *net) { (void)net; }
void gf_freed_watch(void) {}

const struct gf_card *gf_card_of(struct gf_cards *cards, ompi_communicator_t *comm, int rank)
{
    static const struct gf_card card = {.net = GF_NET_UCX};

    (void)cards, (void)comm, (void)rank;
    return &card;
}

gf_status gf_memory_query(const void *address, struct gf_pointer *info, struct gf_reason *why)
{
    (void)address, (void)why;
    *info = (struct gf_pointer){.kind = GF_MEMORY_DEVICE};
    return GF_OK;
}

gf_status gf_carrier_create(const struct gf_carrier_config *config, struct gf_carrier **carrier, struct gf_reason *why)
{
    (void)config;
    *carrier = &world.carriers[world.process];
    if (!world.wires[world.process]) {
        gf_reason_set(why, "process %d has no network", world.process);
        return GF_ERR_UNSUPPORTED;
    }
    (*carrier)->process = world.process;
    return GF_OK;
}

void gf_carrier_destroy(struct gf_carrier *carrier) { (void)carrier; }
void gf_carrier_progress(struct gf_carrier *carrier) { (void)carrier; }
const char *gf_carrier_wire(const struct gf_carrier *carrier) { return world.wires[carrier->process]; }

bool gf_carrier_reaches_device(const struct gf_carrier *carrier, bool receives, struct gf_reason *why)
{
    (void)carrier, (void)receives, (void)why;
    return true;
}

int gf_carrier_adapters(const struct gf_carrier *carrier) { return world.adapters[carrier->process]; }

gf_status gf_carrier_lane_create(struct gf_carrier *carrier, int peer, bool sends, int adapters, struct gf_carrier_lane **lane,
                                 struct gf_wire_address *mine, struct gf_reason *why)
{
    world.chosen[carrier->process] = adapters;
    (void)why;
    assert_int_equal(peer, 1 - carrier->process);
    assert_int_equal(sends, carrier->process == SENDER);
    *lane = &world.lanes[carrier->process];
    memset(mine, carrier->process + 1, sizeof *mine);
    return GF_OK;
}

gf_status gf_carrier_lane_connect(struct gf_carrier_lane *lane, const struct gf_wire_address *theirs, struct gf_reason *why)
{
    struct gf_wire_address expected;

    (void)why;
    memset(&expected, lane == &world.lanes[SENDER] ? RECEIVER + 1 : SENDER + 1, sizeof expected);
    assert_memory_equal(theirs, &expected, sizeof expected);
    lane->connected = true;
    return GF_OK;
}

void gf_carrier_lane_describe(struct gf_carrier_lane *lane, struct gf_reason *how)
{
    gf_reason_set(how, "lane %d", (int)(lane - world.lanes));
}

gf_status gf_carrier_send(struct gf_carrier_lane *lane, uint64_t id, const struct gf_carrier_data *data,
                          struct gf_carrier_out *message, struct gf_reason *how)
{
    (void)id, (void)data, (void)message, (void)how;
    assert_true(lane == &world.lanes[SENDER] && lane->connected);
    lane->sent++;
    return GF_OK;
}

gf_status gf_carrier_send_poll(const struct gf_carrier_out *message, struct gf_reason *why)
{
    (void)message, (void)why;
    return GF_OK;
}

void gf_carrier_send_withdraw(struct gf_carrier_lane *lane, struct gf_carrier_out *message) { (void)lane, (void)message; }
void gf_carrier_refuse(struct gf_carrier_lane *lane, uint64_t id, bool elsewhere) { (void)lane, (void)id, (void)elsewhere; }

gf_status gf_carrier_receive(struct gf_carrier_lane *lane, uint64_t id, const struct gf_carrier_data *data,
                             struct gf_carrier_in *message, struct gf_reason *how)
{
    (void)lane, (void)id, (void)data, (void)message, (void)how;
    return GF_OK;
}

/* Who calls from now on. */
static struct gf_links *play(int process)
{
    world.process = process;
    ompi_mpi_comm_world.comm.c_my_rank = process;
    return world.links[process];
}

static void exchange(void)
{
    for (int i = 0; i < ROUNDS * PROCESSES; i++) {
        gf_links_exchange(play(i % PROCESSES));
    }
}

static gf_status offer(bool *greets, struct gf_reason *why)
{
    struct gf_link_offer offered;
    struct gf_link_name name;
    gf_status status = gf_links_offer(play(SENDER), 0, world.lanes, BYTES, RECEIVER, &offered, &name, greets, why);

    if (status == GF_OK) {
        assert_int_equal(gf_links_offer_poll(&offered, why), GF_OK);
    }
    return status;
}

/* The first message, whose RTS says that a greeting comes. */
static void begin(void)
{
    struct gf_reason why = {""};
    bool greets;

    assert_int_equal(offer(&greets, &why), GF_ERR_UNSUPPORTED);
    assert_true(greets);
    gf_links_greet(play(SENDER), RECEIVER, 0);
    gf_links_expect(play(RECEIVER), SENDER, 0);
}

static int open_world(void **state)
{
    mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;

    (void)state;
    memset(&world, 0, sizeof world);
    world.wires[SENDER] = world.wires[RECEIVER] = "a wire";
    world.adapters[SENDER] = world.adapters[RECEIVER] = 1;
    component->config.net = GF_NET_UCX;
    component->net_params.messages = GF_MESSAGES_NET;
    component->pt2pt.saved.pml_isend = fake_isend;
    component->pt2pt.saved.pml_irecv = fake_irecv;
    ompi_process_info.num_procs = PROCESSES;
    for (int i = 0; i < PROCESSES; i++) {
        world.links[i] = gf_links_create();
        assert_non_null(world.links[i]);
    }
    return 0;
}

/* Nothing is under way any more: looking costs nothing, and MPI_Finalize waits for nothing. */
static int close_world(void **state)
{
    (void)state;
    world.progressed = 0;
    for (int i = 0; i < PROCESSES; i++) {
        gf_links_settle(play(i));
        assert_int_equal(world.links[i]->pending, 0);
        gf_links_destroy(world.links[i]);
    }
    assert_int_equal(world.progressed, 0);
    return 0;
}

static void test_a_link_opens(void **state)
{
    struct gf_reason why = {""};
    bool greets;

    (void)state;
    begin();
    assert_int_equal(offer(&greets, &why), GF_ERR_UNSUPPORTED);    /* it is being made */
    assert_false(greets);
    assert_null(gf_links_from(play(RECEIVER), SENDER));
    exchange();
    assert_int_equal(offer(&greets, &why), GF_OK);
    assert_int_equal(world.lanes[SENDER].sent, 1);
    assert_ptr_equal(gf_links_from(play(RECEIVER), SENDER), &world.lanes[RECEIVER]);
    assert_true(world.lanes[RECEIVER].connected);
    assert_null(gf_links_from(play(SENDER), RECEIVER));            /* one way */
}

/* Lanes go by adapters that both ends have, though the sender greets before it knows how many these are. */
static void test_unequal_adapters(void **state)
{
    static const int cases[][PROCESSES] = { { 2, 2 }, { 1, 4 }, { 3, 1 }, { 8, 2 } };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gf_reason why = {""};
        int both = cases[i][SENDER] < cases[i][RECEIVER] ? cases[i][SENDER] : cases[i][RECEIVER];
        bool greets;

        close_world(state);
        open_world(state);
        memcpy(world.adapters, cases[i], sizeof world.adapters);
        begin();
        exchange();
        exchange();
        assert_int_equal(offer(&greets, &why), GF_OK);
        assert_int_equal(world.chosen[SENDER], both);
        assert_int_equal(world.chosen[RECEIVER], both);
    }
}

/* Messages may come while the answer, as far as the receiver knows, is still under way. */
static void test_messages_overtake_the_answer(void **state)
{
    struct gf_reason why = {""};
    bool greets;

    (void)state;
    begin();
    gf_links_exchange(play(SENDER));
    gf_links_exchange(play(RECEIVER));
    world.holds_sends = true;
    exchange();
    assert_int_equal(offer(&greets, &why), GF_OK);
    assert_int_equal(world.links[RECEIVER]->pending, 1);
    assert_ptr_equal(gf_links_from(play(RECEIVER), SENDER), &world.lanes[RECEIVER]);
    for (int i = 0; i < world.mail_count; i++) {
        complete(&world.mails[i]);
    }
    exchange();
}

/* One of them cannot: both know, for good, and no message goes to the lane of the one who could. */
static void refused_by(int who, const char *sentence)
{
    struct gf_reason why = {""};
    bool greets;

    begin();
    exchange();
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(offer(&greets, &why), GF_ERR_UNSUPPORTED);
        assert_false(greets);
        assert_non_null(strstr(why.text, sentence));
    }
    assert_null(gf_links_from(play(RECEIVER), SENDER));
    assert_int_equal(world.lanes[SENDER].sent, 0);
    assert_false(world.lanes[1 - who].connected);
}

static void test_the_receiver_refuses(void **state)
{
    (void)state;
    world.wires[RECEIVER] = NULL;
    refused_by(RECEIVER, "rank 1 of MPI_COMM_WORLD: process 1 has no network");
}

static void test_the_sender_refuses(void **state)
{
    (void)state;
    world.wires[SENDER] = NULL;
    refused_by(SENDER, "process 0 has no network");
}

static void test_wires_differ(void **state)
{
    (void)state;
    world.wires[RECEIVER] = "another";
    refused_by(RECEIVER, "another");
}

/* The peer of a greeting has gone: MPI_Finalize waits for a while, and not for ever. */
static void test_a_greeting_never_comes(void **state)
{
    (void)state;
    gf_links_expect(play(RECEIVER), SENDER, 0);
    exchange();
    assert_int_equal(world.links[RECEIVER]->pending, 1);
    gf_links_settle(play(RECEIVER));
    assert_int_equal(world.cancelled, 1);
    assert_null(gf_links_from(play(RECEIVER), SENDER));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_link_opens, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_unequal_adapters, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_messages_overtake_the_answer, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_the_receiver_refuses, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_the_sender_refuses, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_wires_differ, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_a_greeting_never_comes, open_world, close_world),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
