/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Our functions of the PML's table: as Open MPI's pml.h has them. Any buffer may be in device memory.
 */
#ifndef GF_MCA_PT2PT_FUNCTIONS_H
#define GF_MCA_PT2PT_FUNCTIONS_H

#include "mca_coll_gpufifo/memory_kind.h"
#include "mca_coll_gpufifo/stage_layout.h"

/* The functions that we replace. */
#define GF_PT2PT_SLOTS(SLOT) \
    SLOT(send) SLOT(isend) SLOT(isend_init) SLOT(recv) SLOT(irecv) SLOT(irecv_init) SLOT(mrecv) SLOT(imrecv) SLOT(start) \
    SLOT(probe) SLOT(iprobe) SLOT(mprobe) SLOT(improbe)

/* Open MPI calls them with arguments that MPI's bindings have checked, from any thread; count is in elements of `type`, and the
 * buffer belongs to the program until the request completes. They return OMPI_SUCCESS or an error of MPI, after its sentence
 * where data in device memory could not be moved. The blocking ones return when send or receive is complete. */
int gf_pt2pt_send(const void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag, mca_pml_base_send_mode_t mode,
                  ompi_communicator_t *comm);
int gf_pt2pt_isend(const void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag, mca_pml_base_send_mode_t mode,
                   ompi_communicator_t *comm, ompi_request_t **request);
int gf_pt2pt_isend_init(const void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag,
                        mca_pml_base_send_mode_t mode, ompi_communicator_t *comm, ompi_request_t **request);
int gf_pt2pt_recv(void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag, ompi_communicator_t *comm,
                  ompi_status_public_t *status);
int gf_pt2pt_irecv(void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag, ompi_communicator_t *comm,
                   ompi_request_t **request);
int gf_pt2pt_irecv_init(void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag, ompi_communicator_t *comm,
                        ompi_request_t **request);
/* Receive what a matched probe has found; *message is MPI_MESSAGE_NULL afterwards. */
int gf_pt2pt_mrecv(void *buffer, size_t count, ompi_datatype_t *type, struct ompi_message_t **message,
                   ompi_status_public_t *status);
int gf_pt2pt_imrecv(void *buffer, size_t count, ompi_datatype_t *type, struct ompi_message_t **message, ompi_request_t **request);
/* Starts persistent requests, ours and others. */
int gf_pt2pt_start(size_t count, ompi_request_t **requests);
/* Look for a message, the blocking ones until there is one; *message is to be received by one of the two above. */
int gf_pt2pt_probe(int peer, int tag, ompi_communicator_t *comm, ompi_status_public_t *status);
int gf_pt2pt_iprobe(int peer, int tag, ompi_communicator_t *comm, int *matched, ompi_status_public_t *status);
int gf_pt2pt_mprobe(int peer, int tag, ompi_communicator_t *comm, struct ompi_message_t **message, ompi_status_public_t *status);
int gf_pt2pt_improbe(int peer, int tag, ompi_communicator_t *comm, int *matched, struct ompi_message_t **message,
                     ompi_status_public_t *status);

/* The functions that were there before. */
static inline const mca_pml_base_module_t *gf_pt2pt_saved(void) { return &mca_coll_gpufifo_component.pt2pt.saved; }

/* Is this message from or to host memory for certain? Collectives of other components, and Open MPI itself, send under
 * reserved tags and from host memory only; they pay one comparison. Of most other buffers the address tells. Who asks this
 * first and passes on needs no stack frame. */
static inline bool gf_pt2pt_is_plain(const void *buffer, int tag)
{
    return tag < MPI_ANY_TAG || gf_memory_is_known_host(buffer);
}

/* Is there data in device memory? Then *where says of which allocation. Host-only programs ask with every message: the address
 * tells in most cases. It may lie outside of the memory (MPI_BOTTOM, lower bounds), a byte of the data cannot; only at
 * MPI_BOTTOM may the others be in another kind of memory. */
static inline bool gf_pt2pt_locate(const void *buffer, size_t count, ompi_datatype_t *type, struct gf_pointer *where)
{
    struct gf_layout layout;
    ptrdiff_t offset;
    const void *byte;

    if (gf_memory_is_known_host(buffer)) {
        return false;
    }
    layout = gf_layout_equal(1, count, type);
    if (!gf_layout_any_byte(&layout, &offset)) {
        return false;
    }
    byte = gf_layout_address(buffer, offset);
    return (!gf_memory_is_known_host(byte) && gf_memory_locate(byte, where)) ||
           (OPAL_UNLIKELY(buffer == MPI_BOTTOM) && gf_memory_locate_any(&layout, where));
}

static inline bool gf_pt2pt_is_device(const void *buffer, size_t count, ompi_datatype_t *type)
{
    struct gf_pointer where;

    return gf_pt2pt_locate(buffer, count, type, &where);
}

#endif
