/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An MCA variable that takes a whole number.
 */
#include "mca_coll_gpufifo/number.h"

#include <stdlib.h>
#include <string.h>

#include "mca_coll_gpufifo/module.h"

size_t gf_number_bytes(mca_base_var_type_t type)
{
    switch (type) {
    case MCA_BASE_VAR_TYPE_INT: return sizeof(int);
    case MCA_BASE_VAR_TYPE_UNSIGNED_INT: return sizeof(unsigned);
    case MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG: return sizeof(unsigned long long);
    case MCA_BASE_VAR_TYPE_SIZE_T: return sizeof(size_t);
    default: return 0;
    }
}

/* As Open MPI reads it, but to the end. */
static bool is_number(const char *text)
{
    char *end;

    strtoull(text, &end, 0);
    if (end == text) {
        return false;
    }
    return end[*end != '\0' && strchr("kKmMgG", *end) != NULL] == '\0';
}

bool gf_number_is_misread(const char *name)
{
    char variable[96];

    snprintf(variable, sizeof(variable), "OMPI_MCA_coll_gpufifo_%s", name);
    const char *text = getenv(variable);

    if (!text || is_number(text)) {
        return false;
    }
    if (gf_speaks_for_node()) {
        gf_show_help("bad-number", name, text);
    }
    return true;
}
