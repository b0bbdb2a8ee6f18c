/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Publishing and finding cards.
 */
#include "mca_coll_gpufifo/card.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct gf_cards {
    const mca_base_component_t *component;
    struct gf_card mine;
    struct gf_segment page;                        /* the one that the card names */
    size_t ranks;                                  /* of MPI_COMM_WORLD */
    _Atomic unsigned char *sharing;                /* by rank there; enum sharing */
    _Atomic(const struct gf_card *) of[];          /* by rank there; null: not looked up yet */
};

/* What is known of sharing memory with a rank. */
enum sharing { NOT_TRIED, SHARES, SHARES_NOT };

/* Stands for "it has none". */
static const struct gf_card nobodys;

struct gf_cards *gf_cards_publish(const mca_base_component_t *component, const struct gf_config *config)
{
    size_t ranks = ompi_process_info.num_procs;
    struct gf_cards *cards = calloc(1, sizeof *cards + ranks * sizeof cards->of[0]);

    if (!cards) {
        return NULL;
    }
    cards->sharing = calloc(ranks, sizeof *cards->sharing);
    cards->component = component;
    cards->ranks = ranks;
    cards->mine.node.lowest_rank = gf_mpi_lowest_local_rank();
    snprintf(cards->mine.node.name, sizeof cards->mine.node.name, "%s", config->node);
    cards->mine.net = config->net;
    cards->mine.between_nodes = config->between_nodes;
    cards->mine.net_bytes = config->net_bytes;
    cards->mine.deterministic = config->deterministic;
    if (gf_segment_create(1, &cards->page, &cards->mine.page, NULL) != GF_OK) {
        cards->mine.page = (struct gf_segment_name){.bytes = 0};
    }
    if (!cards->sharing || getrandom(cards->mine.cookie, sizeof cards->mine.cookie, 0) != sizeof cards->mine.cookie ||
        !gf_mpi_publish(component, &cards->mine, sizeof cards->mine)) {
        gf_cards_destroy(cards);
        return NULL;
    }
    return cards;
}

void gf_cards_destroy(struct gf_cards *cards)
{
    if (!cards) {
        return;
    }
    for (size_t i = 0; i < cards->ranks; i++) {
        const struct gf_card *card = cards->of[i];

        if (card != &nobodys) {
            free((void *)card);
        }
    }
    gf_segment_close(&cards->page);
    free(cards->sharing);
    free(cards);
}

const struct gf_card *gf_card_mine(const struct gf_cards *cards)
{
    return &cards->mine;
}

static const struct gf_card *look_up(struct gf_cards *cards, const ompi_proc_t *proc)
{
    struct gf_card *card = malloc(sizeof *card);

    if (!card) {
        return &nobodys;
    }
    if (!gf_mpi_look_up(cards->component, proc, card, sizeof *card)) {
        free(card);
        return &nobodys;
    }
    return card;
}

/* Two threads may look up at once; the first answer stays. */
static const struct gf_card *remember(struct gf_cards *cards, size_t rank, const struct gf_card *card)
{
    const struct gf_card *known = NULL;

    if (atomic_compare_exchange_strong(&cards->of[rank], &known, card)) {
        return card;
    }
    if (card != &nobodys) {
        free((void *)card);
    }
    return known;
}

const struct gf_card *gf_card_of(struct gf_cards *cards, ompi_communicator_t *comm, int rank)
{
    const ompi_proc_t *proc = ompi_comm_peer_lookup(comm, rank);
    const struct gf_card *card;
    int world_rank = proc ? gf_mpi_world_rank(proc) : -1;

    if (world_rank < 0 || (size_t)world_rank >= cards->ranks) {
        return NULL;
    }
    card = atomic_load_explicit(&cards->of[world_rank], memory_order_acquire);
    if (!card) {
        card = remember(cards, (size_t)world_rank, look_up(cards, proc));
    }
    return card == &nobodys ? NULL : card;
}

static enum sharing try_to_share(const struct gf_card *card, struct gf_reason *why)
{
    struct gf_segment page;

    if (gf_segment_attach(&card->page, &page, why) != GF_OK) {
        return SHARES_NOT;
    }
    gf_segment_close(&page);
    return SHARES;
}

bool gf_card_shares_memory(struct gf_cards *cards, ompi_communicator_t *comm, int rank, struct gf_reason *why)
{
    const struct gf_card *card = gf_card_of(cards, comm, rank);
    int world_rank = card ? gf_mpi_world_rank(ompi_comm_peer_lookup(comm, rank)) : -1;

    if (world_rank < 0) {
        gf_reason_set(why, "rank %d has told nothing about its memory", rank);
        return false;
    }
    _Atomic unsigned char *known = &cards->sharing[world_rank];

    switch (atomic_load_explicit(known, memory_order_relaxed)) {
    case SHARES:
        return true;
    case SHARES_NOT:
        gf_reason_set(why, "no memory can be shared with rank %d (separate containers, or users?)", rank);
        return false;
    default:
        atomic_store_explicit(known, (unsigned char)try_to_share(card, why), memory_order_relaxed);
        return atomic_load_explicit(known, memory_order_relaxed) == SHARES;
    }
}
