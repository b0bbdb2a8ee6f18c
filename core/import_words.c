/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A list of segments. A process has one for each of its devices.
 */
#include "core/import_words.h"

#include <stdlib.h>

struct gf_import_words {
    struct gf_import_words *next;
    uint64_t process, inode;
    struct gf_segment segment;
};

static struct gf_import_words *attach(uint64_t process, const struct gf_segment_name *name)
{
    struct gf_import_words *words = calloc(1, sizeof *words);

    if (words && gf_segment_attach(name, &words->segment, NULL) != GF_OK) {
        free(words);
        return NULL;
    }
    if (words) {
        words->process = process;
        words->inode = name->inode;
    }
    return words;
}

const uint64_t *gf_import_word(struct gf_import_words **all, uint64_t process, const struct gf_buffer *buffer)
{
    struct gf_import_words *words = *all;

    if (buffer->words.bytes == 0) {
        return NULL;
    }
    while (words && (words->process != process || words->inode != buffer->words.inode)) {
        words = words->next;
    }
    if (!words) {
        words = attach(process, &buffer->words);
        if (!words) {
            return NULL;
        }
        words->next = *all;
        *all = words;
    }
    return buffer->word < words->segment.bytes / sizeof(uint64_t) ? (uint64_t *)words->segment.address + buffer->word : NULL;
}

void gf_import_words_clear(struct gf_import_words **all)
{
    while (*all) {
        struct gf_import_words *words = *all;

        *all = words->next;
        gf_segment_close(&words->segment);
        free(words);
    }
}
