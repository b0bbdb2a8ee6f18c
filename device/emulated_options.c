/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads GPUFIFO_EMULATED.
 */
#include "device/emulated_options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORDS "weak, solo, noipc, queued, filled, lingering, torn, team=N, blocks=N, streams=N, memory=BYTES, gpu=N, seed=N"

enum { MAX_TEAM = 64, MAX_BLOCKS = 256, MAX_STREAMS = 1000000, MAX_GPU = 255, WORD_BYTES = 64 };
static const unsigned long long min_memory = 1ull << 20, max_memory = 1ull << 40;

/* The number at text, which must be all of it but for a unit where those are allowed. False if it is none. */
static bool read_number(const char *text, bool units, unsigned long long *number)
{
    static const char unit_names[] = "KMGT";
    char *end;

    if (!isdigit((unsigned char)*text)) {
        return false;
    }
    errno = 0;
    *number = strtoull(text, &end, 0);
    if (errno) {
        return false;
    }
    if (units && *end) {
        const char *unit = strchr(unit_names, toupper((unsigned char)*end));
        int shift = unit ? 10 * (int)(unit - unit_names + 1) : 0;
        if (!unit || (*number << shift) >> shift != *number) {
            return false;
        }
        *number <<= shift;
        end++;
    }
    return *end == '\0';
}

static bool set_flag(struct gf_emulated_options *options, const char *name)
{
    bool *flag = strcmp(name, "weak") == 0  ? &options->weak
               : strcmp(name, "solo") == 0  ? &options->solo
               : strcmp(name, "noipc") == 0 ? &options->noipc
               : strcmp(name, "queued") == 0 ? &options->queued
               : strcmp(name, "filled") == 0 ? &options->filled
               : strcmp(name, "lingering") == 0 ? &options->lingering
               : strcmp(name, "torn") == 0  ? &options->torn
                                            : NULL;
    if (flag) {
        *flag = true;
    }
    return flag != NULL;
}

static gf_status out_of_range(const char *name, const char *value, const char *range, struct gf_reason *why)
{
    gf_reason_set(why, "GPUFIFO_EMULATED: %s=%s is not a number from %s", name, value, range);
    return GF_ERR_INVALID;
}

static gf_status set_value(struct gf_emulated_options *options, const char *name, const char *value, struct gf_reason *why)
{
    unsigned long long number;

    if (strcmp(name, "team") == 0) {
        if (!read_number(value, false, &number) || number < 1 || number > MAX_TEAM) {
            return out_of_range(name, value, "1 to 64", why);
        }
        options->team = (int)number;
    } else if (strcmp(name, "blocks") == 0) {
        if (!read_number(value, false, &number) || number < 1 || number > MAX_BLOCKS) {
            return out_of_range(name, value, "1 to 256", why);
        }
        options->blocks = (int)number;
    } else if (strcmp(name, "streams") == 0) {
        if (!read_number(value, false, &number) || number < 1 || number > MAX_STREAMS) {
            return out_of_range(name, value, "1 to 1000000", why);
        }
        options->streams = (int)number;
    } else if (strcmp(name, "memory") == 0) {
        if (!read_number(value, true, &number) || number < min_memory || number > max_memory) {
            return out_of_range(name, value, "1M to 1T bytes (units K, M, G, T)", why);
        }
        options->memory = (size_t)number;
    } else if (strcmp(name, "gpu") == 0) {
        if (!read_number(value, false, &number) || number > MAX_GPU) {
            return out_of_range(name, value, "0 to 255", why);
        }
        options->gpu = (int)number;
    } else if (strcmp(name, "seed") == 0) {
        if (!read_number(value, false, &number)) {
            return out_of_range(name, value, "0 to 18446744073709551615", why);
        }
        options->seed = number;
    } else {
        gf_reason_set(why, "GPUFIFO_EMULATED: unknown word \"%s=%s\"; known are " WORDS, name, value);
        return GF_ERR_INVALID;
    }
    return GF_OK;
}

static gf_status read_word(struct gf_emulated_options *options, char *word, struct gf_reason *why)
{
    char *equals = strchr(word, '=');
    if (equals) {
        *equals = '\0';
        return set_value(options, word, equals + 1, why);
    }
    if (set_flag(options, word)) {
        return GF_OK;
    }
    gf_reason_set(why, "GPUFIFO_EMULATED: unknown word \"%s\"; known are " WORDS, word);
    return GF_ERR_INVALID;
}

gf_status gf_emulated_options_parse(const char *text, struct gf_emulated_options *options, struct gf_reason *why)
{
    *options = (struct gf_emulated_options){
        .team = 1, .blocks = 8, .streams = MAX_STREAMS, .memory = (size_t)64 << 30, .seed = 1,
    };

    while (text && *text) {
        char word[WORD_BYTES];
        size_t length = strcspn(text, ",");
        if (length >= sizeof word) {
            gf_reason_set(why, "GPUFIFO_EMULATED: \"%.40s...\" is too long for a word; known are " WORDS, text);
            return GF_ERR_INVALID;
        }
        memcpy(word, text, length);
        word[length] = '\0';
        text += length + (text[length] == ',');
        gf_status status = length ? read_word(options, word, why) : GF_OK;
        if (status != GF_OK) {
            return status;
        }
    }
    return GF_OK;
}
