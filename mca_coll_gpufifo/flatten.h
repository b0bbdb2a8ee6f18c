/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI's datatypes, flattened: once a type, kept with it as an attribute, so that it goes when the type does and a new type at
 * the same address starts anew. Predefined types, which live for ever, are kept in a list.
 *
 * Threads: any, but for create and destroy.
 */
#ifndef GF_MCA_FLATTEN_H
#define GF_MCA_FLATTEN_H

#include "core/flat.h"
#include "mca_coll_gpufifo/ompi_abi.h"

struct gf_flattener;                   /* one a process, of gf_staging */
struct gf_flat_type;                   /* counted: the type has one reference, each transfer another */
struct gf_stage_pool;

/* Null: no host memory. destroy: no reference of a transfer is left; types that the program never freed keep theirs. Accepts
 * null. */
struct gf_flattener *gf_flattener_create(void);
void gf_flattener_destroy(struct gf_flattener *flattener);

/* A reference to the flat form of a committed type. */
gf_status gf_flatten(struct gf_flattener *flattener, ompi_datatype_t *type, struct gf_flat_type **flat, struct gf_reason *why);
void gf_flat_type_release(struct gf_flat_type *flat);

const struct gf_flat *gf_flat_of(const struct gf_flat_type *flat);

/* Where kernels of the pool's device find its list, null if it has none. The first time on a device copies it there, and
 * waits. */
gf_status gf_flat_type_list(struct gf_flat_type *flat, struct gf_stage_pool *pool, const void **list, struct gf_reason *why);

#endif
