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
    size_t ranks;                                  /* of MPI_COMM_WORLD */
    _Atomic(const struct gf_card *) of[];          /* by rank there; null: not looked up yet */
};

/* Stands for "it has none". */
static const struct gf_card nobodys;

struct gf_cards *gf_cards_publish(const mca_base_component_t *component)
{
    size_t ranks = ompi_process_info.num_procs;
    struct gf_cards *cards = calloc(1, sizeof *cards + ranks * sizeof cards->of[0]);

    if (!cards) {
        return NULL;
    }
    cards->component = component;
    cards->ranks = ranks;
    if (getrandom(cards->mine.cookie, sizeof cards->mine.cookie, 0) != sizeof cards->mine.cookie ||
        !gf_mpi_publish(component, &cards->mine, sizeof cards->mine)) {
        free(cards);
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
