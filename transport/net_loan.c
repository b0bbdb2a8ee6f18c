/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an end knows of the buffer of a launch.
 */
#include "transport/net_loan.h"

#include "transport/net_end.h"

void gf_net_loan_open(struct gf_net_end *end)
{
    enum gf_choice choice = gf_net_config_of(end->c->net)->zero_copy;

    end->loan.on = end->wire->caps.device_memory && (choice == GF_CHOICE_YES || (choice == GF_CHOICE_AUTO && end->slots.device));
}

bool gf_net_end_lend(struct gf_net_end *end, const struct gf_loan *loan)
{
    if (!end->loan.on) {
        return false;
    }
    end->loan.lent = *loan;
    end->loan.buffer = NULL;
    if (!end->flush.no_buffers) {
        const struct gf_net_range range = { .address = loan->buffer, .bytes = loan->bytes, .where = loan->where };

        (void)gf_net_buffers_get(gf_net_buffers_of(end->c->net), end->c->fault, &range, &end->loan.buffer, NULL);
    }
    return true;
}

void gf_net_end_reclaim(struct gf_net_end *end, bool failed)
{
    if (failed && end->loan.buffer) {
        gf_net_end_leave(end);
    }
    if (!end->loan.told && gf_host_observe_flag(&end->loan.agreed)) {
        end->loan.told = true;
        gf_log(gf_net_config_of(end->c->net)->wire.log, GF_LOG_PATH, "net: %s rank %d without copies, where both ends' buffers "
               "are registered", end->c->is_sender ? "to" : "from", end->c->peer);
    }
    gf_net_buffers_put(gf_net_buffers_of(end->c->net), end->loan.buffer, failed);
    end->loan.buffer = NULL;
}

void gf_net_loan_expect(struct gf_net_end *end, const uint64_t *steps)
{
    for (int i = 0; i < end->c->shape.channels; i++) {
        end->loan.first[i] = end->loan.next[i];
        end->loan.next[i] += steps[i];
    }
}

bool gf_net_loan_place(const struct gf_net_end *end, int channel, uint64_t step, struct gf_net_offer *place)
{
    const struct gf_net_loan *loan = &end->loan;

    if (!loan->buffer) {
        return false;
    }
    struct gf_span span = loan->lent.span(loan->lent.ctx, channel, step - loan->first[channel]);

    *place = (struct gf_net_offer){ .address = (uintptr_t)loan->lent.kernel_address + span.at, .bytes = span.bytes };
    return span.bytes > 0;
}
