/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which Open MPI this is built for. This is the only file that knows: everything else uses the names below.
 *
 *   Open MPI   component struct   module struct   counts     installing the collectives
 *   4.1        2_0_0              2_3_0           int        the base copies the module's slots once enable has returned
 *   5.0        2_4_0              2_4_0           int        the same
 *   6.0        3_0_0              3_0_0           size_t     the module writes itself into the communicator's table in enable
 *
 * A component built for one of them is refused by the others: the loader misses the library's version, and the coll
 * framework compares the version of the component struct.
 */
#ifndef GF_MCA_OMPI_ABI_H
#define GF_MCA_OMPI_ABI_H

#include "ompi_config.h"

#include <mpi.h>

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/pml/base/pml_base_bsend.h"
#include "ompi/op/op.h"
#include "ompi/proc/proc.h"
#include "ompi/request/request.h"
#include "ompi/version.h"

#if OMPI_MAJOR_VERSION == 4
#include "opal/mca/pmix/pmix.h"
#include "opal/threads/thread_usage.h"
#else
#include "opal/mca/pmix/pmix-internal.h"
#include "opal/mca/threads/thread_usage.h"
#endif

#if OMPI_MAJOR_VERSION == 4 && OMPI_MINOR_VERSION == 1
#define GF_OMPI_COLL_VERSION MCA_COLL_BASE_VERSION_2_0_0
#elif OMPI_MAJOR_VERSION == 5
#define GF_OMPI_COLL_VERSION MCA_COLL_BASE_VERSION_2_4_0
#elif OMPI_MAJOR_VERSION == 6
#define GF_OMPI_COLL_VERSION MCA_COLL_BASE_VERSION_3_0_0
#define GF_OMPI_LARGE_COUNTS 1        /* counts are size_t; vectors of counts and displacements are opaque */
#define GF_OMPI_INSTALLS_ITSELF 1     /* enable writes the communicator's table */
#else
#error "gpufifo knows the collective interface of Open MPI 4.1, 5.0 and 6.0; install one of them (Debian: libopenmpi-dev)."
#endif

#ifdef GF_OMPI_LARGE_COUNTS

#include "ompi/util/count_disp_array.h"

#define GF_OMPI_OSC_VERSION OMPI_OSC_BASE_VERSION_4_0_0
typedef size_t gf_mpi_count;
typedef ptrdiff_t gf_mpi_disp_unit;              /* of a window */
typedef ompi_count_array_t gf_mpi_counts;        /* one count a rank */
typedef ompi_disp_array_t gf_mpi_displs;         /* one displacement a rank, in elements (alltoallw: in bytes) */
typedef ompi_disp_array_t gf_mpi_byte_displs;    /* neighbor_alltoallw: in bytes */
typedef size_t gf_mpi_count_entry;               /* what an array of our own has */
typedef ptrdiff_t gf_mpi_displ_entry;

static inline size_t gf_mpi_count_at(gf_mpi_counts counts, int rank) { return ompi_count_array_get(counts, (size_t)rank); }
static inline ptrdiff_t gf_mpi_displ_at(gf_mpi_displs displs, int rank) { return ompi_disp_array_get(displs, (size_t)rank); }
static inline ptrdiff_t gf_mpi_byte_displ_at(gf_mpi_byte_displs displs, int rank)
{
    return ompi_disp_array_get(displs, (size_t)rank);
}
/* The caller owns what the pointer points to. */
static inline gf_mpi_counts gf_mpi_counts_of(const size_t *counts) { return ompi_count_array_create_c(counts); }
static inline gf_mpi_displs gf_mpi_displs_of(const ptrdiff_t *displs) { return ompi_disp_array_create_c(displs); }
static inline gf_mpi_byte_displs gf_mpi_byte_displs_of(const ptrdiff_t *displs) { return ompi_disp_array_create_c(displs); }
static inline bool gf_mpi_counts_missing(gf_mpi_counts counts) { return NULL == ompi_count_array_ptr(counts); }

#else

#define GF_OMPI_OSC_VERSION OMPI_OSC_BASE_VERSION_3_0_0
typedef int gf_mpi_count;
typedef int gf_mpi_disp_unit;
typedef const int *gf_mpi_counts;
typedef const int *gf_mpi_displs;
typedef const MPI_Aint *gf_mpi_byte_displs;
typedef int gf_mpi_count_entry;
typedef int gf_mpi_displ_entry;

static inline size_t gf_mpi_count_at(gf_mpi_counts counts, int rank) { return (size_t)counts[rank]; }
static inline ptrdiff_t gf_mpi_displ_at(gf_mpi_displs displs, int rank) { return displs[rank]; }
static inline ptrdiff_t gf_mpi_byte_displ_at(gf_mpi_byte_displs displs, int rank) { return displs[rank]; }
/* The caller owns the array. */
static inline gf_mpi_counts gf_mpi_counts_of(const int *counts) { return counts; }
static inline gf_mpi_displs gf_mpi_displs_of(const int *displs) { return displs; }
static inline gf_mpi_byte_displs gf_mpi_byte_displs_of(const MPI_Aint *displs) { return displs; }
/* Root-only arguments are null on the other ranks. */
static inline bool gf_mpi_counts_missing(gf_mpi_counts counts) { return NULL == counts; }

#endif

/* A communicator's number as messages carry it: equal on all its ranks, unused by any other communicator that one of its ranks
 * has at the same time. It may come back once the communicator is freed. */
struct gf_mpi_comm_id {
    uint64_t words[2];
};

static inline struct gf_mpi_comm_id gf_mpi_comm_id_of(const ompi_communicator_t *comm)
{
    struct gf_mpi_comm_id id = {{0, 0}};
#if OMPI_MAJOR_VERSION == 4
    id.words[0] = comm->c_contextid;
#else
    id.words[0] = comm->c_contextid.cid_base;
    id.words[1] = comm->c_contextid.cid_sub.u64;
#endif
    return id;
}

static inline bool gf_mpi_same_comm_id(struct gf_mpi_comm_id a, struct gf_mpi_comm_id b)
{
    return a.words[0] == b.words[0] && a.words[1] == b.words[1];
}

/* What Open MPI's table has under the number: the communicator that has it, is being made or is being freed, or another one, with
 * which 4.1 keeps the place while the number is agreed upon; null: none. False: that is not known here, of communicators that are
 * made without another one (MPI_Comm_create_from_group), to which the table gives no places by number. */
static inline bool gf_mpi_comm_of_id(struct gf_mpi_comm_id id, ompi_communicator_t **comm)
{
#if OMPI_MAJOR_VERSION == 4
    *comm = (ompi_communicator_t *)opal_pointer_array_get_item(&ompi_mpi_communicators, (int)id.words[0]);
    return true;
#else
    *comm = NULL;
    if (id.words[0] != 0) {
        return false;
    }
    *comm = (ompi_communicator_t *)opal_pointer_array_get_item(&ompi_mpi_communicators, (int)id.words[1]);
#ifdef OMPI_COMM_SENTINEL              /* as of 5.0.4 it keeps the place while the number is agreed upon */
    if (*comm == (ompi_communicator_t *)OMPI_COMM_SENTINEL) {
        *comm = NULL;
    }
#endif
    return true;
#endif
}

/* Has a wait that failed left the request posted? Open MPI 5.0 does so with receives from any rank, where one has failed. */
static inline bool gf_mpi_left_posted(const ompi_request_t *request)
{
#if OMPI_MAJOR_VERSION == 4
    (void)request;
    return false;
#else
    return request->req_complete == REQUEST_PENDING;
#endif
}

/* For messages; intercommunicators have none of their own. */
static inline const char *gf_mpi_comm_name(const ompi_communicator_t *comm)
{
    return comm->c_name[0] ? comm->c_name : "a communicator without a name";
}

/* Is this process of the job that MPI_COMM_WORLD spans, and its rank there; -1: it came by MPI_Comm_spawn or connect. */
static inline int gf_mpi_world_rank(const ompi_proc_t *proc)
{
    if (proc->super.proc_name.jobid != ompi_proc_local_proc->super.proc_name.jobid) {
        return -1;
    }
    return (int)proc->super.proc_name.vpid;
}

static inline bool gf_mpi_same_node(const ompi_proc_t *proc) { return OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags); }

/* Is this rank on our node? Open MPI knows all processes of this node from the start, by name: the communicator's group may
 * still hold names only, until somebody asks it for the process. No other process is made known by this question. */
static inline bool gf_mpi_rank_is_near(ompi_communicator_t *comm, int rank)
{
    ompi_proc_t *proc = (ompi_proc_t *)ompi_proc_lookup(ompi_group_get_proc_name(comm->c_remote_group, rank));

    return proc && gf_mpi_same_node(proc);
}

/* The lowest rank in MPI_COMM_WORLD of the processes of this job that Open MPI counts to this node; known before MPI_Init
 * exchanges addresses. Where the launcher does not say who they are, this process counts itself alone. */
static inline int gf_mpi_lowest_local_rank(void)
{
    opal_process_name_t job = {.jobid = OMPI_PROC_MY_NAME->jobid, .vpid = OMPI_NAME_WILDCARD->vpid};
    int lowest = (int)OMPI_PROC_MY_NAME->vpid, rank, result;
    char *ranks = NULL;               /* "0,1,2" */

#if OMPI_MAJOR_VERSION == 4
    OPAL_MODEX_RECV_VALUE_OPTIONAL(result, OPAL_PMIX_LOCAL_PEERS, &job, &ranks, OPAL_STRING);
#else
    OPAL_MODEX_RECV_VALUE_OPTIONAL(result, PMIX_LOCAL_PEERS, &job, &ranks, PMIX_STRING);
#endif
    for (const char *next = result == OPAL_SUCCESS ? ranks : NULL; next; next = strchr(next, ','), next += next != NULL) {
        lowest = sscanf(next, "%d", &rank) == 1 && rank < lowest ? rank : lowest;
    }
    free(ranks);
    return lowest;
}

/* The type of our requests for collectives. In 4.1 the errors of a collective's request go to MPI_COMM_WORLD, only those of a
 * point-to-point request to the handler of their own communicator. */
#if OMPI_MAJOR_VERSION == 4
#define GF_MPI_REQUEST_TYPE OMPI_REQUEST_PML
#else
#define GF_MPI_REQUEST_TYPE OMPI_REQUEST_COLL
#endif

/* Bytes for the other processes of this job; before MPI_Init exchanges addresses. False: it cannot be. */
static inline bool gf_mpi_publish(const mca_base_component_t *component, const void *data, size_t bytes)
{
    int result;
#if OMPI_MAJOR_VERSION == 4
    if (!opal_pmix.put) {
        return false;
    }
    OPAL_MODEX_SEND(result, OPAL_PMIX_GLOBAL, component, data, bytes);
#else
    OPAL_MODEX_SEND(result, PMIX_GLOBAL, component, data, bytes);
#endif
    return result == OPAL_SUCCESS;
}

/* What that process published, if it was as many bytes. */
static inline bool gf_mpi_look_up(const mca_base_component_t *component, const ompi_proc_t *proc, void *data, size_t bytes)
{
    unsigned char *found = NULL;
    size_t size = 0;
    int result;

    OPAL_MODEX_RECV(result, component, &proc->super.proc_name, &found, &size);
    if (result == OPAL_SUCCESS && found && size == bytes) {
        memcpy(data, found, bytes);
    } else {
        result = OPAL_ERR_NOT_FOUND;
    }
    free(found);
    return result == OPAL_SUCCESS;
}

/* Something passes from one thread to another, and Open MPI orders that where ThreadSanitizer does not see it: by the exchange
 * of 16 bytes in a free list, by a request that completes, or by counting uses. The one hands it over before, the other takes it
 * over after. */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *object);
void __tsan_release(void *object);
static inline void gf_mpi_hand_over(void *object) { __tsan_release(object); }
static inline void gf_mpi_take_over(void *object) { __tsan_acquire(object); }
#else
static inline void gf_mpi_hand_over(void *object) { (void)object; }
static inline void gf_mpi_take_over(void *object) { (void)object; }
#endif

/* One use of it less. Without any left it is freed, by which its modules are disabled, who take it over. */
static inline void gf_mpi_release_comm(ompi_communicator_t *comm)
{
    gf_mpi_hand_over(comm);
    OBJ_RELEASE(comm);
}

/* The words of an enumeration, for messages; the caller's to free. */
static inline int gf_mpi_enum_words(mca_base_var_enum_t *enumeration, char **words)
{
#if OMPI_MAJOR_VERSION == 4
    return enumeration->dump(enumeration, words);
#else
    return enumeration->dump(enumeration, words, MCA_BASE_VAR_ENUM_DUMP_READABLE);
#endif
}

/* The place of a non-blocking collective among those of its communicator is a tag, which each takes when it is called, and which
 * all ranks must take in the same order. This takes one for a call that is made later (placed.h). For a module that takes one
 * tag a call. Any thread. */
static inline int32_t gf_mpi_take_place(ompi_communicator_t *comm) { return ompi_coll_base_nbc_reserve_tags(comm, 1); }

/* Does this module take exactly one tag a call? */
static inline bool gf_mpi_takes_places(const mca_coll_base_module_t *module)
{
    return strcmp(module->super.obj_class->cls_name, "ompi_coll_libnbc_module_t") == 0;
}

/* What MPI_Buffer_attach does with arguments that it has checked; GF_MPI_ATTACHES: known of this version. */
#if OMPI_MAJOR_VERSION == 6
enum { GF_MPI_ATTACHES = 0 };
static inline int gf_mpi_buffer_attach(void *buffer, int bytes)
{
    (void)buffer, (void)bytes;
    return MPI_ERR_UNSUPPORTED_OPERATION;
}
#else
enum { GF_MPI_ATTACHES = 1 };
static inline int gf_mpi_buffer_attach(void *buffer, int bytes) { return mca_pml_base_bsend_attach(buffer, bytes); }
#endif

/* May several threads be in MPI at once? */
static inline bool gf_mpi_threads(void) { return ompi_mpi_thread_multiple; }

#endif
