/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A team of one thread for the reduction of kernels/.
 */
#include "proxy/host_reduce.h"

#include "kernels/simple.h"

void gf_host_reduce(const void *const *inputs, int input_count, void *out, size_t bytes, enum gf_type type, enum gf_op op)
{
    const struct gf_team alone = { .block = 0, .blocks = 1, .thread = 0, .threads = 1 };
    const struct gf_move move = {
        .a = inputs[0], .b = input_count > 1 ? inputs[1] : NULL,
        .more = inputs + 2, .more_count = input_count > 2 ? (uint32_t)input_count - 2 : 0,
        .out = out, .bytes = bytes,
    };

    gf_move_chunk(&alone, move, type, op);
}
