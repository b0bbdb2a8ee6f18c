/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arming a communicator, and a device rank's way to the verdict; agree.h has the protocol and its proof.
 */
#include "mca_coll_gpufifo/agree.h"

#include "opal/runtime/opal_progress.h"

#include "mca_coll_gpufifo/agree_nodes.h"
#include "mca_coll_gpufifo/card.h"
#include "mca_coll_gpufifo/flight.h"
#include "mca_coll_gpufifo/mailbox.h"
#include "mca_coll_gpufifo/nodes.h"

/* Why these ranks of several nodes can never be native, or null: differ->text where they have different settings. A rank with
 * another setting than we have looks for no message of another node, asks for a network that we have not got, or takes the net's
 * ring where we send messages. */
static const char *reason_against_nodes(mca_coll_gpufifo_module_t *module, struct gf_reason *differ)
{
    if (gf_nodes_differ(module->comm, differ)) {
        return differ->text;
    }
    if (!gf_nodes_may_be_native()) {
        return "its ranks are on several nodes";
    }
    const struct gf_agree_map *map = gf_agree_map_of(module);
    return map && map->nodes > 0 ? NULL : "its ranks are on several nodes, and are too many or not to be told apart";
}

/* Why this communicator can never be native, or null. All its ranks that ask come to the same answer. Who has published no card
 * does not take part, and would never answer. */
static const char *reason_against(mca_coll_gpufifo_module_t *module, struct gf_reason *differ)
{
    struct gf_cards *cards = mca_coll_gpufifo_component.pt2pt.cards;
    ompi_communicator_t *comm = module->comm;
    bool several = false;

    if (OMPI_COMM_IS_INTER(comm)) {
        return "it is an intercommunicator";
    }
    for (int rank = 0; rank < ompi_comm_size(comm); rank++) {
        if (gf_mpi_world_rank(ompi_comm_peer_lookup(comm, rank)) < 0) {
            return "it has ranks that are not in MPI_COMM_WORLD";
        }
        if (cards && !gf_card_of(cards, comm, rank)) {
            return "a rank of it runs without gpufifo, or without a device";
        }
        several |= !gf_node_is_ours(comm, rank);
    }
    return several ? reason_against_nodes(module, differ) : NULL;
}

static void stage_for_ever(mca_coll_gpufifo_module_t *module, enum gf_agree_failure failure, enum gf_log_level level,
                           const char *why)
{
    uint32_t none = 0;

    if (__atomic_compare_exchange_n(&module->never_native, &none, (uint32_t)failure, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        gf_log(&mca_coll_gpufifo_component.log, level, "%s: staged through host memory, because %s",
               gf_mpi_comm_name(module->comm), why);
    }
}

/* One rank's warning is enough for a person; the others say it where paths are asked for. */
void gf_agree_give_up(mca_coll_gpufifo_module_t *module, const char *why)
{
    stage_for_ever(module, GF_AGREE_UNSEEN, ompi_comm_rank(module->comm) == 0 ? GF_LOG_WARN : GF_LOG_PATH, why);
}

void gf_agree_freed(mca_coll_gpufifo_module_t *module)
{
    stage_for_ever(module, GF_AGREE_FREED, GF_LOG_PATH, "a rank had host memory in a call of it, and has freed it since");
}

/* Can this communicator never be native? Then it is staged from now on. */
static bool can_never_be_native(mca_coll_gpufifo_module_t *module)
{
    struct gf_reason differ;
    const char *why = reason_against(module, &differ);

    if (why == differ.text) {
        gf_agree_give_up(module, why);
    } else if (why) {
        stage_for_ever(module, GF_AGREE_UNSEEN, GF_LOG_PATH, why);     /* nothing is amiss */
    }
    return why != NULL;
}

/* Makes the board known to the calling thread. It may be in a host call right now, whose number we read before or after it was
 * counted: if before, the second reading sees it or the caller saw the board. */
static void show_board(mca_coll_gpufifo_module_t *module, struct gf_agree *agree)
{
    const struct gf_agree_map *map = agree->map;

    agree->board = agree->segment.address;
    agree->mine = &agree->board->lines[map->place];
    agree->bulletin = gf_agree_bulletin(agree->board, map->members);
    gf_bulletin_introduce(&agree->bulletin[map->place]);
    __atomic_store_n(&module->watched, true, __ATOMIC_RELAXED);     /* where threads matter it was so from the start */
    __atomic_store_n(&module->agree, agree, __ATOMIC_RELEASE);
    gf_agree_later_see(&module->later, agree->board, map->members, map->place, &module->calls);
    gf_host_store_before_look();
    gf_agree_later_see(&module->later, agree->board, map->members, map->place, &module->calls);
}

/* Memory of the board, made here or by the leader of this node. */
static gf_status get_board(struct gf_agree *agree, const struct gf_segment_name *theirs, struct gf_reason *why)
{
    size_t bytes = gf_agree_segment_bytes(agree->map->members);
    gf_status status;

    if (theirs == NULL) {
        return gf_segment_create(bytes, &agree->segment, &agree->name, why);
    }
    agree->name = *theirs;
    status = gf_segment_attach(theirs, &agree->segment, why);
    if (status == GF_OK && agree->segment.bytes < bytes) {
        gf_reason_set(why, "the leader's board is too small");
        gf_segment_close(&agree->segment);
        status = GF_ERR_PEER;
    }
    return status;
}

static void free_agree(struct gf_agree *agree)
{
    if (agree) {
        free(agree->ballot);
        free(agree);
    }
}

static gf_status make_board(mca_coll_gpufifo_module_t *module, const struct gf_segment_name *theirs, struct gf_reason *why)
{
    const struct gf_agree_map *map = gf_agree_map_of(module);
    struct gf_agree *agree;
    gf_status status;

    if (module->agree) {
        return GF_OK;
    }
    agree = map && map->nodes > 0 ? calloc(1, sizeof(*agree)) : NULL;
    if (agree) {
        agree->map = map;
        agree->ballot = theirs || map->nodes == 1 ? NULL : gf_agree_nodes_ballot(module);
    }
    if (agree == NULL || (agree->ballot == NULL && !theirs && map->nodes > 1)) {
        free_agree(agree);
        gf_reason_set(why, "host memory is exhausted");
        return GF_ERR_NO_MEMORY;
    }
    status = get_board(agree, theirs, why);
    if (status != GF_OK) {
        free_agree(agree);
        return status;
    }
    show_board(module, agree);
    return GF_OK;
}

gf_status gf_agree_create(mca_coll_gpufifo_module_t *module, struct gf_reason *why)
{
    return make_board(module, NULL, why);
}

gf_status gf_agree_attach(mca_coll_gpufifo_module_t *module, const struct gf_segment_name *name, struct gf_reason *why)
{
    return make_board(module, name, why);
}

void gf_agree_tell_host(mca_coll_gpufifo_module_t *module, uint64_t call)
{
    if (gf_mpi_threads()) {
        /* Another thread may be attaching the board: either it sees our count, or we see its board (show_board). */
        gf_host_store_before_look();
    }
    gf_agree_later_host(&module->later, call);
}

void gf_agree_close(mca_coll_gpufifo_module_t *module)
{
    struct gf_agree *agree = module->agree;

    if (agree) {
        module->agree = NULL;
        module->later.board = NULL;
        gf_segment_close(&agree->segment);
        free_agree(agree);
    }
    gf_agree_map_free(module->map);
    module->map = NULL;
}

/* Waits until this communicator is armed. Null: never, the module says so. */
static struct gf_agree *wait_for_board(mca_coll_gpufifo_module_t *module)
{
    struct gf_agree *agree = __atomic_load_n(&module->agree, __ATOMIC_ACQUIRE);

    if (agree == NULL) {
        if (can_never_be_native(module)) {
            return NULL;
        }
        gf_mailbox_arm(module);
    }
    while (agree == NULL && !__atomic_load_n(&module->never_native, __ATOMIC_ACQUIRE)) {
        opal_progress();
        gf_mailbox_progress();
        agree = __atomic_load_n(&module->agree, __ATOMIC_ACQUIRE);
    }
    return agree;
}

/* enum gf_agree_failure, or 0. */
static uint32_t has_failed(const struct gf_agree *agree)
{
    return atomic_load_explicit(&agree->board->failed, memory_order_acquire);
}

/* For ever. */
static void stage_if_failed(mca_coll_gpufifo_module_t *module, const struct gf_agree *agree)
{
    uint32_t failure = has_failed(agree);

    if (failure == GF_AGREE_FREED) {
        gf_agree_freed(module);
    } else if (failure) {
        gf_agree_give_up(module, "a rank cannot attach the memory that its leader shares (separate containers?)");
    }
}

/* The others usually come within a fraction of a microsecond, less than a turn of MPI's progress takes. */
enum { LOOKS_PER_PROGRESS = 32 };

/* One turn of a wait for the other ranks. */
static gf_status wait_more(mca_coll_gpufifo_module_t *module, struct gf_reason *why)
{
    if (module->agree->ballot) {
        gf_mailbox_progress();
    }
    if (module->device_comm) {
        return gf_comm_poll(module->device_comm, why);
    }
    opal_progress();
    return GF_OK;
}

static enum gf_agree_verdict of_this_node(mca_coll_gpufifo_module_t *module, uint64_t call)
{
    return gf_agree_board_verdict(module->agree->board, module->agree->map->members, call);
}

static enum gf_agree_verdict of_all_nodes(mca_coll_gpufifo_module_t *module, uint64_t call)
{
    return module->agree->ballot ? gf_agree_nodes_verdict(module) : gf_agree_board_decided(module->agree->board, call);
}

/* Looks until the verdict is there, or *error. */
static enum gf_agree_verdict look(mca_coll_gpufifo_module_t *module, uint64_t call,
                                  enum gf_agree_verdict (*verdict_of)(mca_coll_gpufifo_module_t *module, uint64_t call),
                                  gf_status *error, struct gf_reason *why)
{
    enum gf_agree_verdict verdict;

    for (int turn = 1; (verdict = verdict_of(module, call)) == GF_AGREE_UNKNOWN; turn++) {
        if (turn % LOOKS_PER_PROGRESS == 0 && (*error = wait_more(module, why)) != GF_OK) {
            return GF_AGREE_UNKNOWN;
        }
    }
    return verdict;
}

/* All ranks of this node have device buffers: its leader finds out about the other nodes, and the others wait for it. */
static enum gf_agree_verdict look_beyond(mca_coll_gpufifo_module_t *module, uint64_t call, gf_status *error,
                                         struct gf_reason *why)
{
    struct gf_agree *agree = module->agree;
    enum gf_agree_verdict verdict;

    if (agree->ballot) {
        gf_agree_nodes_enter(module, call);
    }
    verdict = look(module, call, of_all_nodes, error, why);
    if (agree->ballot && verdict != GF_AGREE_UNKNOWN) {
        gf_agree_board_decide(agree->board, call, verdict);
    }
    return verdict;
}

/* Publishes the call and finds the verdict, or *error. */
static enum gf_agree_verdict find_verdict(mca_coll_gpufifo_module_t *module, gf_status *error, struct gf_reason *why)
{
    uint64_t call = module->calls + 1;
    struct gf_agree *agree = module->agree;
    const struct gf_agree_map *map = agree->map;
    enum gf_agree_verdict verdict;

    while (!gf_agree_board_has_room(agree->board, map->members, map->place, module->later.device_calls) && !has_failed(agree)) {
        if ((*error = wait_more(module, why)) != GF_OK) {
            return GF_AGREE_UNKNOWN;
        }
    }
    if (has_failed(agree)) {
        return GF_AGREE_STAGE;
    }
    gf_fault_pass(mca_coll_gpufifo_component.config.stages, GF_FAULT_AGREE);
    gf_agree_line_device(agree->mine, module->later.device_calls++, call);
    verdict = look(module, call, of_this_node, error, why);
    if (verdict == GF_AGREE_NATIVE && map->nodes > 1) {
        verdict = look_beyond(module, call, error, why);
    }
    if (verdict == GF_AGREE_UNKNOWN) {
        return verdict;
    }
    gf_agree_line_settle(agree->mine, call);
    /* Not earlier: show_board, if another thread is still in it, takes what is counted for settled. */
    __atomic_store_n(&module->calls, call, __ATOMIC_RELEASE);
    if (agree->ballot) {
        gf_mailbox_progress();            /* other nodes may wait for what we know now */
    }
    return verdict;
}

enum gf_agree_verdict gf_agree_enter_device(mca_coll_gpufifo_module_t *module, gf_status *error, struct gf_reason *why)
{
    struct gf_agree *agree;
    enum gf_agree_verdict verdict;

    gf_flights_land(module);
    const uint64_t call = module->calls + 1;

    if (ompi_comm_size(module->comm) == 1 && !OMPI_COMM_IS_INTER(module->comm)) {
        module->calls = call;
        return GF_AGREE_NATIVE;
    }
    if (__atomic_load_n(&module->never_native, __ATOMIC_ACQUIRE) || (agree = wait_for_board(module)) == NULL) {
        gf_agree_enter_host(module);
        return GF_AGREE_STAGE;
    }
    verdict = find_verdict(module, error, why);
    if (verdict == GF_AGREE_UNKNOWN) {
        return verdict;
    }
    stage_if_failed(module, agree);
    if (module->calls != call) {
        gf_agree_enter_host(module);      /* the board failed before we published */
    }
    return verdict;
}

bool gf_agree_may_enter_later(mca_coll_gpufifo_module_t *module)
{
    if (__atomic_load_n(&module->never_native, __ATOMIC_ACQUIRE)) {
        return false;
    }
    if (module->board_wanted || __atomic_load_n(&module->agree, __ATOMIC_ACQUIRE)) {
        return true;
    }
    if (can_never_be_native(module)) {
        return false;
    }
    module->board_wanted = true;
    gf_mailbox_arm(module);
    return !__atomic_load_n(&module->never_native, __ATOMIC_ACQUIRE);
}

void gf_agree_enter_later(mca_coll_gpufifo_module_t *module, struct gf_agree_ticket *ticket)
{
    __atomic_store_n(&module->watched, true, __ATOMIC_RELAXED);
    gf_agree_later_enter(&module->later, ticket, &module->calls);
}

enum gf_agree_verdict gf_agree_ask_later(mca_coll_gpufifo_module_t *module, struct gf_agree_ticket *ticket)
{
    enum gf_agree_verdict verdict = gf_agree_later_ask(&module->later, ticket);
    const struct gf_agree *agree = __atomic_load_n(&module->agree, __ATOMIC_ACQUIRE);

    if (verdict == GF_AGREE_UNKNOWN && __atomic_load_n(&module->never_native, __ATOMIC_ACQUIRE) && !agree) {
        gf_agree_later_drop(&module->later, ticket);
        return GF_AGREE_STAGE;
    }
    if (verdict == GF_AGREE_STAGE && agree) {
        stage_if_failed(module, agree);
    }
    return verdict;
}

void gf_agree_look_for_board(const mca_coll_gpufifo_module_t *module)
{
    if (!__atomic_load_n(&module->agree, __ATOMIC_ACQUIRE)) {
        gf_mailbox_progress();
    }
}

bool gf_agree_spans_nodes(mca_coll_gpufifo_module_t *module)
{
    const struct gf_agree_map *map;

    if (!gf_nodes_may_be_native() || OMPI_COMM_IS_INTER(module->comm)) {
        return false;
    }
    map = gf_agree_map_of(module);
    return map && map->nodes > 1;
}
