/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The words by which owners of memory that is mapped here tell that they have freed it (core/buffer.h).
 */
#ifndef GF_CORE_IMPORT_WORDS_H
#define GF_CORE_IMPORT_WORDS_H

#include "core/buffer.h"

struct gf_import_words;            /* those of all owners so far; null: none. One thread at a time */

/* The word of a buffer of that process, until clear. Null: it has none, or it is out of reach. */
const uint64_t *gf_import_word(struct gf_import_words **all, uint64_t process, const struct gf_buffer *buffer);

void gf_import_words_clear(struct gf_import_words **all);

#endif
