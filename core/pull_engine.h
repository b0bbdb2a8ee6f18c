/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of the pull engine, for its own files: pull.c (starting and polling), pull_attached.c (the peers' boards),
 * pull_flight.c (launches), pull_rescue.c (kernels that cannot start), pull_agent.c (what needs no launch).
 */
#ifndef GF_CORE_PULL_ENGINE_H
#define GF_CORE_PULL_ENGINE_H

#include "core/agent.h"
#include "core/imports.h"
#include "core/offer.h"
#include "core/pull.h"
#include "kernels/work.h"

/* A peer's board, mapped and registered here. Kept until the engine ends: its process may offer again at any time. */
struct gf_attached {
    struct gf_attached *next;
    struct gf_segment_name name;
    struct gf_segment segment;
    struct gf_board_memory *memory;
    char *kernel_memory;
    bool own;                      /* of this process */
};

gf_status gf_attached_get(gf_pull_engine *engine, const struct gf_segment_name *name, struct gf_attached **found,
                          struct gf_reason *why);
void gf_attached_clear(gf_pull_engine *engine);

enum gf_flight_state {
    GF_FLIGHT_IDLE,
    GF_FLIGHT_FLYING,              /* kernel or copies are queued */
    GF_FLIGHT_CLOSING,             /* the gate is being closed, or blocks are inside */
    GF_FLIGHT_JUDGING,             /* which items the kernel has finished is being read */
    GF_FLIGHT_DRAINING             /* its pulls are with the copy engine; the kernel is still to come and to leave */
};

struct gf_place {
    struct gf_pull *pull;          /* null: it has ended, or is elsewhere now */
    struct gf_import *import;      /* what the device may still load from */
};

/* One stream and what is under way there: one launch, or several copies. Owned by the engine. */
struct gf_flight {
    gf_stream *stream;
    bool shares;                   /* it is another flight's, or control */
    enum gf_flight_state state;
    struct gf_place places[GF_PULL_ITEMS];
    uint32_t count;                /* places that are in use */
    uint32_t under_way;            /* that have a pull */
    uint64_t since_ns;             /* the launch, or a later end of another one: what was in front of it */
    uint64_t bytes;                /* of its launch */
    char *gate;                    /* user address of a struct gf_pull_gate; null: a flight of copies */
    struct gf_pull_gate *kernel_gate;
    uint64_t ticket;
    char *bounce;                  /* pinned, of a flight of copies: for those that go by host memory */
};

enum { GF_PULL_BOUNCE_BYTES = 1 << 20 };

enum { GF_KERNEL_FLIGHTS = 4, GF_COPY_FLIGHTS = 2, GF_FLIGHTS = GF_KERNEL_FLIGHTS + GF_COPY_FLIGHTS };

/* Pinned words that copies go to and come from. */
struct gf_pull_words {
    uint64_t end;                  /* GF_PULL_END */
    uint32_t closed;               /* the ticket that a gate is being closed with */
    uint32_t left;                 /* this and what follows: as last read from a gate */
    uint64_t entered;              /* with `closed` in its upper half */
    uint64_t finished[GF_PULL_ITEMS];
    char apart[GF_LINE - 24];
};
_Static_assert(sizeof(struct gf_pull_words) % GF_LINE == 0, "what follows begins with a line of its own");

struct gf_pull_queue {
    struct gf_pull *first, **last;
    uint32_t count;
    uint64_t bytes;
};

struct gf_pull_engine {
    gf_device *device;
    struct gf_pull_config config;
    struct gf_imports *imports;
    struct gf_attached *attached;
    struct gf_flight flights[GF_FLIGHTS];      /* of kernels, then of copies */
    gf_agent *agent;                           /* null: none */
    struct gf_pull *posted[GF_PULL_POSTED_MOST]; /* with the agent */
    uint32_t posted_count;
    uint64_t agent_looked_ns;                  /* at the agent; 0: it had no message then */
    bool shared;                               /* a peer has sent a message from the engine's device */
    bool invites;                              /* the agent was wanted, and was not there */
    struct gf_pull_queue waiting;              /* for a launch, in the order in which they were started */
    uint32_t flying;                           /* flights that are not idle; atomic, for gf_pull_engine_trails */
    uint32_t draining;                         /* flights that are so: the device's load, as far as it concerns us */
    bool moved_on;                             /* a launch has ended since the last look at the clock */
    bool burst;                                /* messages come faster than one launch each */
    uint32_t turns;                            /* of progress */
    int32_t pid;
    uint32_t blocks;                           /* most blocks of a launch */
    struct gf_flight *rescued;                 /* the one that uses control and words */
    gf_stream *control;
    char *device_words;                        /* device memory: a gate a kernel flight, then end_word; null: the device is
                                                  full, and gf_pull_copy does all */
    char *end_word;                            /* GF_PULL_END, copied behind the data */
    struct gf_pull_words *words;
    struct gf_pull_statistics statistics;
    uint64_t looked_ns;                        /* at the device: has it failed? */
};

/* pull_flight.c */

/* Streams. Where the device has no memory for more, launches share one and copies another, which may be control; a copy is never
 * behind a launch, which may not find its place. Without a stream for launches gf_pull_copy does it all, and without control,
 * which is tried again, all messages are refused. close: nothing is under way. */
gf_status gf_pull_flights_open(gf_pull_engine *engine, struct gf_reason *why);
void gf_pull_flights_close(gf_pull_engine *engine);

/* The pull has ended: its flight and its mapping are told. The offer has been ended before. */
void gf_pull_end(gf_pull_engine *engine, struct gf_pull *pull, gf_status status);
/* Fails pull and offer. */
void gf_pull_fail(gf_pull_engine *engine, struct gf_pull *pull, gf_status status);
/* Where there are no device_words: copies, waits for the end, and ends pull and offer. On failure it ends nothing. */
gf_status gf_pull_copy(gf_pull_engine *engine, struct gf_pull *pull, struct gf_reason *why);
/* Ends those whose end the device has stored. */
void gf_flight_settle(gf_pull_engine *engine, struct gf_flight *flight);
/* Back to idle, when nothing is under way and no kernel will come. */
void gf_flight_rest(gf_pull_engine *engine, struct gf_flight *flight);
/* Launches what waits, as far as flights are idle. */
void gf_flights_launch(gf_pull_engine *engine);
/* To those that wait, as the last or the first of them. It has no flight. */
void gf_pull_append(gf_pull_engine *engine, struct gf_pull *pull);
void gf_pull_put_back(gf_pull_engine *engine, struct gf_pull *pull);

/* pull_agent.c */

/* Gives it to the agent; false: launch it. */
bool gf_pull_post(gf_pull_engine *engine, struct gf_pull *pull);
/* It is not the agent's any more. */
void gf_pull_unpost(gf_pull_engine *engine, struct gf_pull *pull);
/* Now and then while something is posted: what the agent has left lying is launched. */
void gf_pull_look_after_agent(gf_pull_engine *engine, uint64_t now);

/* pull_rescue.c */

/* A launch has ended: those behind it have not been kept waiting by others till now. */
void gf_flights_restart_clocks(gf_pull_engine *engine, uint64_t now);
/* Has the device too little room for kernels of ours? It had when one was cancelled; that one, still queued, is the probe: with
 * its coming and going there is room again. Looks afresh, and costs nothing where none was cancelled. */
bool gf_pull_device_is_full(gf_pull_engine *engine);
/* One step for a kernel flight that is not idle. */
void gf_flight_rescue(gf_pull_engine *engine, struct gf_flight *flight, uint64_t now);
/* Fails what the device will never end, since it has failed itself. */
void gf_flights_look(gf_pull_engine *engine, uint64_t now);

#endif
