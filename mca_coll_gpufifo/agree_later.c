/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tickets in the order of their calls, and what this rank's line shows of them.
 */
#include "mca_coll_gpufifo/agree_later.h"

void gf_agree_later_init(struct gf_agree_later *later)
{
    *later = (struct gf_agree_later){ .board = NULL };
    pthread_mutex_init(&later->lock, NULL);
}

void gf_agree_later_destroy(struct gf_agree_later *later)
{
    pthread_mutex_destroy(&later->lock);
}

/* Null: the board is not there. */
static struct gf_agree_line *line_of(const struct gf_agree_later *later)
{
    struct gf_agree_board *board = __atomic_load_n(&later->board, __ATOMIC_ACQUIRE);

    return board ? &board->lines[later->me] : NULL;
}

static bool has_failed(const struct gf_agree_later *later)
{
    const struct gf_agree_board *board = __atomic_load_n(&later->board, __ATOMIC_ACQUIRE);

    return board && atomic_load_explicit(&board->failed, memory_order_acquire) != 0;
}

/* Shows what there is room for. Ranks enter their calls in order: what is behind a call that is not shown is not shown either. */
static void show(struct gf_agree_later *later)
{
    struct gf_agree_line *mine = line_of(later);
    struct gf_agree_ticket *ticket = later->first;

    if (!mine) {
        return;
    }
    while (ticket && (ticket->shown || gf_agree_board_has_room(later->board, later->ranks, later->me, later->device_calls))) {
        if (!ticket->shown) {
            gf_agree_line_device(mine, later->device_calls++, ticket->call);
            ticket->shown = true;
        }
        ticket = ticket->next;
    }
    gf_agree_line_enter(mine, ticket ? ticket->call - 1 : later->last);
}

/* Settled is all before the first call without a verdict. The last ticket goes last: without any, the line is written without the
 * lock. */
static void take_out(struct gf_agree_later *later, struct gf_agree_ticket *ticket)
{
    struct gf_agree_ticket **link = &later->first;

    while (*link != ticket) {
        link = &(*link)->next;
    }
    const struct gf_agree_ticket *first = ticket == later->first ? ticket->next : later->first;
    struct gf_agree_line *mine = line_of(later);

    if (mine) {
        gf_agree_line_settle(mine, first ? first->call - 1 : later->last);
    }
    __atomic_store_n(link, ticket->next, __ATOMIC_RELEASE);
}

void gf_agree_later_see(struct gf_agree_later *later, struct gf_agree_board *board, int ranks, int me, const uint64_t *calls)
{
    pthread_mutex_lock(&later->lock);
    uint64_t before = later->first ? later->first->call - 1 : __atomic_load_n(calls, __ATOMIC_RELAXED);

    gf_agree_line_history(&board->lines[me], before);
    later->ranks = ranks;
    later->me = me;
    __atomic_store_n(&later->board, board, __ATOMIC_RELEASE);
    if (later->first) {
        show(later);
    }
    pthread_mutex_unlock(&later->lock);
}

/* Counted under the lock: who comes to see the board must not take it for settled. */
void gf_agree_later_enter(struct gf_agree_later *later, struct gf_agree_ticket *ticket, uint64_t *calls)
{
    pthread_mutex_lock(&later->lock);
    uint64_t call = *calls + 1;
    struct gf_agree_ticket **end = &later->first;

    *ticket = (struct gf_agree_ticket){ .call = call };

    while (*end) {
        end = &(*end)->next;
    }
    __atomic_store_n(end, ticket, __ATOMIC_RELAXED);
    later->last = call;
    __atomic_store_n(calls, call, __ATOMIC_RELEASE);
    show(later);
    pthread_mutex_unlock(&later->lock);
}

void gf_agree_later_host(struct gf_agree_later *later, uint64_t call)
{
    struct gf_agree_line *mine;

    if (__builtin_expect(__atomic_load_n(&later->first, __ATOMIC_ACQUIRE) == NULL, 1)) {
        mine = line_of(later);
        if (mine) {
            gf_agree_line_host(mine, call);
        }
        return;
    }
    pthread_mutex_lock(&later->lock);
    later->last = call;
    mine = line_of(later);
    if (later->first) {
        show(later);
    } else if (mine) {
        gf_agree_line_host(mine, call);
    }
    pthread_mutex_unlock(&later->lock);
}

enum gf_agree_verdict gf_agree_later_ask(struct gf_agree_later *later, struct gf_agree_ticket *ticket)
{
    enum gf_agree_verdict verdict = GF_AGREE_UNKNOWN;

    pthread_mutex_lock(&later->lock);
    show(later);
    if (ticket->shown) {       /* on the board, hence there is one */
        verdict = gf_agree_board_verdict(later->board, later->ranks, ticket->call);
    } else if (has_failed(later)) {
        verdict = GF_AGREE_STAGE;        /* there may never be room: who cannot see the board settles nothing there */
    }
    if (verdict != GF_AGREE_UNKNOWN) {
        take_out(later, ticket);
    }
    pthread_mutex_unlock(&later->lock);
    return verdict;
}

void gf_agree_later_drop(struct gf_agree_later *later, struct gf_agree_ticket *ticket)
{
    pthread_mutex_lock(&later->lock);
    take_out(later, ticket);
    pthread_mutex_unlock(&later->lock);
}
