/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The component and its modules, one a communicator. The component's struct is the only mutable global of this library.
 */
#ifndef GF_MCA_MODULE_H
#define GF_MCA_MODULE_H

#include "mca_coll_gpufifo/ompi_abi.h"

#include "core/comm.h"
#include "core/fault.h"
#include "core/pipe.h"
#include "device/device.h"
#include "mca_coll_gpufifo/agree_later.h"
#include "mca_coll_gpufifo/host_memory.h"
#include "mca_coll_gpufifo/net.h"
#include "mca_coll_gpufifo/ordered.h"
#include "mca_coll_gpufifo/pt2pt/interpose.h"
#include "mca_coll_gpufifo/pvars.h"
#include "proxy/proxy.h"

struct gf_agree;                       /* agree.h */
struct gf_agree_map;                   /* agree_map.h */
struct gf_flights;                     /* flight.h */
struct gf_turns;                       /* turns.h */
struct gf_mailbox;                     /* mailbox.h */
struct gf_staging;                     /* stage_pool.h */
struct gf_windows;                     /* onesided/windows.h */

/* coll_gpufifo_device */
enum gf_device_choice { GF_DEVICE_AUTO, GF_DEVICE_CUDA, GF_DEVICE_EMULATED, GF_DEVICE_NONE };

enum { GF_MAX_DEVICES = 64 };          /* ordinals that a process may use */

/* Written while the component opens, read-only afterwards, but for what says otherwise. */
typedef struct mca_coll_gpufifo_component_t {
    mca_coll_base_component_t super;
    int priority;
    int device_choice;                 /* enum gf_device_choice; an int, for the MCA variable */
    int pull;                          /* enum gf_force_pull */
    int transport, algorithm, protocol, simple_buffer, mapped, net, between_nodes;     /* the enums of config, likewise */
    char *fault, *agent, *node, *tuning;
    struct gf_tuning *tuning_table;    /* which the file `tuning` has, null: none; config.tuning */
    struct gf_config config;
    struct gf_fault stages;            /* config.stages; any thread */
    struct gf_pipe_config pipe;
    struct gf_net_params net_params;
    size_t pack_bytes;                 /* messages with gaps of so many bytes are packed in device memory; 0: none */
    size_t agent_message_bytes;        /* messages of up to so many bytes are fetched by the agent; 0: none */
    struct gf_log log;
    int log_stream;                    /* opal_output's number */
    pthread_mutex_t log_lock;          /* one line at a time */
    gf_driver *driver;                 /* null: no device here, the component declines every communicator */
    struct gf_host_memory host_memory; /* any thread; see its header */
    struct gf_pvars pvars;             /* any thread; see its header */
    _Atomic uint32_t shown_errors;     /* bits by gf_status: those the user was told of (error.c) */
    struct gf_pt2pt pt2pt;             /* any thread; see its header */
    struct gf_windows *windows;        /* any thread; open while MPI_COMM_WORLD's module lives; null: they are not guarded */
    _Atomic uint64_t freed_looked_ms;  /* when freed.c has looked; any thread */
    _Atomic(struct gf_net *) message_net;      /* of messages between nodes, while there is one; its links', read by freed.c */
    struct gf_staging *staging;        /* of staged calls; any thread; null exactly if driver is */
    opal_mutex_t lock;                 /* protects what follows */
    gf_device *devices[GF_MAX_DEVICES];
    gf_agent *agents[GF_MAX_DEVICES];  /* by ordinal */
    struct gf_imports *imports[GF_MAX_DEVICES];    /* by ordinal; each written once, and read without the lock by freed.c */
    bool told_no_order;                /* module.c has warned that not all ranks of a communicator keep the order */
    bool freed_watched;                /* freed.c has its place in MPI's progress */
    struct gf_net *nets[GF_MAX_DEVICES];
    gf_proxy *proxies[GF_MAX_DEVICES]; /* by ordinal; without a thread as long as no transport needs one */
    opal_list_t modules;               /* those enabled, for the mailbox */
    uint64_t requests;                 /* sent by it */
    struct gf_mailbox *mailbox;        /* open while MPI_COMM_WORLD's module lives */
    unsigned progress_calls;           /* since this process last entered a host call: who is busy need not look for messages
                                          (mailbox.c) */
} mca_coll_gpufifo_component_t;

extern mca_coll_gpufifo_component_t mca_coll_gpufifo_component;

/* Registers the MCA variables; their values are in the component's struct. An unknown or impossible value is reported and
 * replaced by the default. (params.c) */
int gf_params_register(mca_coll_gpufifo_component_t *component);
/* Registers one of them, as gf_params_register does. values: of an enumeration, whose first word is the default; null: none. */
void gf_params_register_variable(const char *name, const char *help, mca_base_var_type_t type,
                                 const mca_base_var_enum_value_t *values, mca_base_var_info_lvl_t level, void *storage);
/* An amount that Open MPI read from a negative number is reported and replaced. */
void gf_params_check_amount(const char *name, size_t *amount, size_t instead);
/* The part of params_nodes.c in registering, in gf_params_apply_card and in gf_params_apply. */
void gf_params_register_nodes(mca_coll_gpufifo_component_t *component);
void gf_params_apply_nodes(mca_coll_gpufifo_component_t *component);
void gf_params_check_nodes(mca_coll_gpufifo_component_t *component);
/* Fills component->config from the variables and checks it; before that, what the card (card.h) tells of it, and what messages go
 * by. */
void gf_params_apply_card(mca_coll_gpufifo_component_t *component);
void gf_params_apply(mca_coll_gpufifo_component_t *component);

/* Opened on first use, one an ordinal, closed with the component; thread-safe. Null with *why on failure. */
gf_device *gf_component_device(int ordinal, struct gf_reason *why);

/* The ordinal of the only device that has been opened; -1: none has, or several. Any thread. */
int gf_component_only_device(void);

/* Copies, fills and kernels that this process has queued on all of its devices. Any thread. */
uint64_t gf_component_driver_calls(void);

/* The agent of an open device, made on first use where the settings ask for it, destroyed with the component; thread-safe. Null:
 * none; where one was asked for, that has been reported. */
gf_agent *gf_component_agent(gf_device *device);

/* The proxy of an open device, made on first use, destroyed with the component; thread-safe. Null: no host memory for it. */
gf_proxy *gf_component_proxy(const gf_device *device);

/* The table of mappings of an open device, made on first use, destroyed with the component; thread-safe. Null: no host memory for
 * it. */
struct gf_imports *gf_component_imports(gf_device *device);

/* One a communicator. Made by comm_query, filled by enable. A communicator's collectives come from one thread at a time. */
typedef struct mca_coll_gpufifo_module_t {
    mca_coll_base_module_t super;
    opal_list_item_t link;             /* in the component's list */
    mca_coll_base_comm_coll_t saved;   /* who did each collective before us; modules retained while we are enabled */
    struct gf_ordered ordered;         /* what of `saved` keeps the order of the ranks instead */
    ompi_communicator_t *comm;         /* not retained: it owns us. Null until enable and after disable */
    uint64_t calls;                    /* native-capable collective calls so far, the same on all ranks (agree.h) */
    struct gf_agree_map *map;          /* null until first asked for; set by any thread (agree_map.h) */
    struct gf_agree *agree;            /* null until the communicator is armed; set by any thread (agree.h) */
    struct gf_agree_later later;       /* this rank's calls that wait for no verdict, also before it is armed */
    bool board_wanted;                 /* one of those has asked for the board */
    uint64_t request;                  /* the number of the last one for it (mail.h), 0: none, or it was refused; under the
                                          component's lock */
    bool watched;                      /* somebody may look at our calls: the communicator is armed, or several threads may be
                                          in MPI */
    gf_comm *device_comm;              /* null until the first native call has ended */
    int device_ordinal;                /* of device_comm, and of flights */
    struct gf_flights *flights;        /* native calls that nobody waits for; null until the first (flight.h) */
    struct gf_turns *turns;            /* of persistent operations; null until the first native one (turns.h) */
    struct gf_log log;                 /* of device_comm: lines that are the same on all ranks come from rank 0 only */
    bool told_between_nodes[2];        /* the log has told of a call between nodes: a staged one, one by messages (native.c) */
    bool told_staged;                  /* the log has told of a staged call (stage.c); under the component's lock */
    uint32_t never_native;             /* decided by all ranks: stage for ever; enum gf_agree_failure, or 0; the reason was
                                          logged */
} mca_coll_gpufifo_module_t;
OBJ_CLASS_DECLARATION(mca_coll_gpufifo_module_t);

/* Has the device of this rank's buffers been chosen? And is it another one? By the thread that makes the calls. */
static inline bool gf_module_has_device(const mca_coll_gpufifo_module_t *module)
{
    return module->device_comm || module->flights;
}

static inline bool gf_module_has_other_device(const mca_coll_gpufifo_module_t *module, int ordinal)
{
    return gf_module_has_device(module) && module->device_ordinal != ordinal;
}

/* Of an item of the component's list. */
static inline mca_coll_gpufifo_module_t *gf_module_of(opal_list_item_t *link)
{
    return (mca_coll_gpufifo_module_t *)((char *)link - offsetof(mca_coll_gpufifo_module_t, link));
}

/* Called by the coll framework. */
mca_coll_base_module_t *gf_module_query(ompi_communicator_t *comm, int *priority);

/* A message of the help file, written by this process itself: opal_show_help sends it to mpirun, and that of Open MPI 4.1
 * (with Debian 12's PMIx always, elsewhere when several ranks speak at once) cannot read it and drops it. topic: of
 * help-mca-coll-gpufifo.txt. */
void gf_show_help(const char *topic, ...);

/* The process that speaks for all of this node, of what they all have reason to say. */
static inline bool gf_speaks_for_node(void) { return opal_process_info.my_local_rank == 0; }

/* Reports a failure of ours to the user (a message or one log line) and gives the MPI error class for it. */
int gf_error_to_mpi(gf_status status, const struct gf_reason *why, ompi_communicator_t *comm, const char *function);

#endif
