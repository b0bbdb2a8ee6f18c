/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An MCA variable that takes one of some words.
 */
#include <stdlib.h>
#include <strings.h>

#include "mca_coll_gpufifo/choice.h"
#include "mca_coll_gpufifo/module.h"

static bool is_meant(const mca_base_var_enum_value_t *value, const char *text)
{
    char *end;
    long number = strtol(text, &end, 0);

    return strcasecmp(text, value->string) == 0 || (end != text && *end == '\0' && number == value->value);
}

static void report(mca_base_var_enum_t *self, const char *text)
{
    char *words = NULL;

    if (!gf_speaks_for_node() || gf_mpi_enum_words(self, &words) != OPAL_SUCCESS) {
        return;
    }
    gf_show_help("bad-choice", self->enum_name, text, words, self->enum_values[0].string);
    free(words);
}

static int value_from_string(mca_base_var_enum_t *self, const char *text, int *value)
{
    int chosen = 0;

    while (chosen < self->enum_value_count && !is_meant(&self->enum_values[chosen], text)) {
        chosen++;
    }
    if (chosen == self->enum_value_count) {
        report(self, text);
        chosen = 0;
    }
    *value = self->enum_values[chosen].value;
    return OPAL_SUCCESS;
}

mca_base_var_enum_t *gf_choice_create(const char *name, const mca_base_var_enum_value_t *values)
{
    mca_base_var_enum_t *choice = NULL;

    if (mca_base_var_enum_create(name, values, &choice) != OPAL_SUCCESS) {
        return NULL;
    }
    choice->value_from_string = value_from_string;
    return choice;
}
