/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The board's functions; agree.h has the meaning and the proof.
 */
#include "mca_coll_gpufifo/agree_board.h"

static void raise_to(_Atomic uint64_t *word, uint64_t value)
{
    uint64_t now = atomic_load(word);

    while (now < value && !atomic_compare_exchange_weak(word, &now, value)) {
    }
}

void gf_agree_line_history(struct gf_agree_line *mine, uint64_t calls)
{
    raise_to(&mine->settled, calls);
    raise_to(&mine->entered, calls);
}

bool gf_agree_board_has_room(const struct gf_agree_board *board, int ranks, int me, uint64_t device_call)
{
    const _Atomic uint64_t *entry = &board->lines[me].device_calls[device_call % GF_AGREE_RING];
    uint64_t overwritten = atomic_load_explicit(entry, memory_order_relaxed);

    for (int rank = 0; rank < ranks && overwritten != 0; rank++) {
        if (atomic_load_explicit(&board->lines[rank].settled, memory_order_acquire) < overwritten) {
            return false;
        }
    }
    return true;
}

/* The number first, then that we have entered: who sees the second sees the first. */
void gf_agree_line_device(struct gf_agree_line *mine, uint64_t device_call, uint64_t call)
{
    atomic_store_explicit(&mine->device_calls[device_call % GF_AGREE_RING], call, memory_order_relaxed);
    atomic_store_explicit(&mine->entered, call, memory_order_release);
}

static bool has_device_call(const struct gf_agree_line *line, uint64_t call)
{
    for (int i = 0; i < GF_AGREE_RING; i++) {
        if (atomic_load_explicit(&line->device_calls[i], memory_order_relaxed) == call) {
            return true;
        }
    }
    return false;
}

enum gf_agree_verdict gf_agree_board_verdict(const struct gf_agree_board *board, int ranks, uint64_t call)
{
    enum gf_agree_verdict verdict = GF_AGREE_NATIVE;

    if (atomic_load_explicit(&board->failed, memory_order_acquire)) {
        return GF_AGREE_STAGE;
    }
    for (int rank = 0; rank < ranks; rank++) {
        const struct gf_agree_line *line = &board->lines[rank];
        if (atomic_load_explicit(&line->entered, memory_order_acquire) < call) {
            verdict = GF_AGREE_UNKNOWN;
        } else if (!has_device_call(line, call)) {
            return GF_AGREE_STAGE;
        }
    }
    return verdict;
}

void gf_agree_board_decide(struct gf_agree_board *board, uint64_t call, enum gf_agree_verdict verdict)
{
    atomic_store_explicit(&board->decided, 2 * call + (verdict == GF_AGREE_NATIVE), memory_order_release);
}

enum gf_agree_verdict gf_agree_board_decided(const struct gf_agree_board *board, uint64_t call)
{
    /* First: who marks the board tells of no call afterwards that it is native. */
    bool failed = atomic_load_explicit(&board->failed, memory_order_acquire) != 0;
    uint64_t decided = atomic_load_explicit(&board->decided, memory_order_acquire);

    if (decided / 2 == call) {
        return decided % 2 ? GF_AGREE_NATIVE : GF_AGREE_STAGE;
    }
    return failed ? GF_AGREE_STAGE : GF_AGREE_UNKNOWN;
}
