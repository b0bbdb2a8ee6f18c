/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls with device buffers that are entered without waiting for the verdict; agree.h has the meaning and the proof.
 */
#include "mca_coll_gpufifo/agree.h"

bool gf_agree_may_enter_later(mca_coll_gpufifo_module_t *module)
{
    const struct gf_agree *agree = __atomic_load_n(&module->agree, __ATOMIC_ACQUIRE);

    return agree && !__atomic_load_n(&module->never_native, __ATOMIC_ACQUIRE) &&
           gf_agree_board_has_room(agree->board, agree->map->members, agree->map->place, agree->device_calls);
}

static uint64_t *place_of(struct gf_agree_later *later, uint64_t call)
{
    uint64_t *place = later->calls;

    while (*place != call) {
        place++;
    }
    return place;
}

uint64_t gf_agree_enter_later(mca_coll_gpufifo_module_t *module)
{
    uint64_t call = module->calls + 1;
    struct gf_agree *agree = module->agree;

    pthread_mutex_lock(&agree->later.lock);
    *place_of(&agree->later, 0) = call;
    __atomic_store_n(&agree->later.count, agree->later.count + 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&agree->later.lock);
    gf_agree_line_device(agree->mine, agree->device_calls++, call);
    __atomic_store_n(&module->calls, call, __ATOMIC_RELEASE);
    return call;
}

/* Up to before the first call without a verdict; or all that has been entered. */
static uint64_t settled_calls(const struct gf_agree *agree)
{
    uint64_t settled = atomic_load_explicit(&agree->mine->entered, memory_order_relaxed);

    for (int i = 0; i < GF_AGREE_RING; i++) {
        if (agree->later.calls[i] != 0 && agree->later.calls[i] <= settled) {
            settled = agree->later.calls[i] - 1;
        }
    }
    return settled;
}

enum gf_agree_verdict gf_agree_ask(struct gf_agree *agree, uint64_t call)
{
    enum gf_agree_verdict verdict = gf_agree_board_verdict(agree->board, agree->map->members, call);

    if (verdict != GF_AGREE_UNKNOWN) {
        pthread_mutex_lock(&agree->later.lock);
        *place_of(&agree->later, call) = 0;
        gf_agree_line_settle(agree->mine, settled_calls(agree));
        __atomic_store_n(&agree->later.count, agree->later.count - 1, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&agree->later.lock);
    }
    return verdict;
}

void gf_agree_publish_host(struct gf_agree *agree, uint64_t call)
{
    if (__builtin_expect(__atomic_load_n(&agree->later.count, __ATOMIC_ACQUIRE) == 0, 1)) {
        gf_agree_line_host(agree->mine, call);
        return;
    }
    pthread_mutex_lock(&agree->later.lock);
    if (agree->later.count == 0) {
        gf_agree_line_settle(agree->mine, call);
    }
    gf_agree_line_enter(agree->mine, call);
    pthread_mutex_unlock(&agree->later.lock);
}
