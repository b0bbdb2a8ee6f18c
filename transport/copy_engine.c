/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What sending and receiving ends of copied FIFOs have in common.
 */
#include "transport/copy_engine.h"


#include "transport/failure.h"

gf_status gf_copies_check(struct gf_connector *c, struct gf_reason *why)
{
    if (c->shape.ll_bytes > 0) {
        gf_reason_set(why, "the host copies slots of FIFOs, not lines that carry their own flags");
        return GF_ERR_UNSUPPORTED;
    }
    if (c->shape.sender_buffer) {
        gf_reason_set(why, "the host copies into slots at the receiver: leave the setting simple_buffer at receiver");
        return GF_ERR_UNSUPPORTED;
    }
    if (!c->proxy) {
        gf_reason_set(why, "there is no proxy that could start the copies");
        return GF_ERR_UNSUPPORTED;
    }
    return gf_fault_hits(c->fault, GF_FAULT_PROXY, why) ? GF_ERR_UNSUPPORTED : GF_OK;
}

gf_status gf_copies_open(struct gf_copies *copies, struct gf_connector *c, struct gf_reason *why)
{
    *copies = (struct gf_copies){ .c = c };
    return gf_copy_ring_create(c->device, NULL, &copies->ring, why);
}

void gf_copies_close(struct gf_copies *copies)
{
    gf_copy_ring_destroy(&copies->ring);
}

gf_status gf_copies_start(struct gf_copies *copies, void *to, const void *from, uint32_t bytes, uint64_t *ended)
{
    struct gf_fault *fault = copies->c->fault;

    if (gf_copy_ring_full(&copies->ring) || gf_fault_hits(fault, GF_FAULT_PROXY_STALL, NULL)) {
        return GF_NO_RESOURCE;
    }
    if (gf_fault_hits(fault, GF_FAULT_PROXY_COPY, NULL)) {
        return GF_ERR_DEVICE;
    }
    return gf_copy_ring_start(&copies->ring, to, from, bytes, ended);
}

gf_status gf_copies_collect(struct gf_copies *copies)
{
    void *owner;
    gf_status status;

    while (gf_copy_ring_next(&copies->ring, &owner, &status)) {
        if (status != GF_OK) {
            return status;
        }
        ++*(uint64_t *)owner;
    }
    return GF_OK;
}

bool gf_copies_alive(struct gf_copies *copies)
{
    gf_status status;

    copies->dead = copies->dead || gf_failure_seen(copies->c, &status, NULL);
    return !copies->dead;
}

void gf_copies_fail(struct gf_copies *copies, gf_status status)
{
    copies->dead = true;
    gf_failure_raise(copies->c, status, "a copy of its proxy for", gf_status_string(status));
}

gf_status gf_slots_alloc(struct gf_connector *c, void **slots, struct gf_reason *why)
{
    *slots = NULL;
    if (gf_fault_hits(c->fault, GF_FAULT_DEVICE_ALLOC, why)) {
        return GF_ERR_NO_MEMORY;
    }
    gf_status status = gf_device_alloc(c->device, gf_layout_slots_bytes(&c->shape), slots, why);

    if (status != GF_OK) {
        *slots = NULL;
    }
    return status;
}

gf_status gf_copied_endpoint(struct gf_connector *c, void *slots, char *words, struct gf_reason *why)
{
    char *kernel_slots = gf_device_kernel_address(c->device, slots);
    char *kernel_words = gf_device_kernel_address(c->device, words);

    if (!kernel_slots || !kernel_words) {
        gf_reason_set(why, "kernels cannot reach the memory of the connection with rank %d", c->peer);
        return GF_ERR_UNSUPPORTED;
    }
    c->endpoint = (struct gf_endpoint){
        .memory = c->is_sender ? gf_words_heads(words, &c->shape) : (char *)slots,
        .slots = kernel_slots, .tails = kernel_words, .heads = gf_words_heads(kernel_words, &c->shape),
    };
    return GF_OK;
}
