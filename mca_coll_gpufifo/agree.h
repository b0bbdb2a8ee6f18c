/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What all ranks must know before they choose: whether every rank of a collective call has device buffers.
 *
 * Ranks may mix host and device buffers in one call. The rule is: if any rank has host buffers, the ranks with device buffers
 * stage and join the saved component. So a rank with host buffers needs to know nothing and goes straight there; only
 * the others have to find out. "Device buffers" means: what this rank passes can be done natively here, memory, type and
 * operation.
 *
 * Numbers. Every rank counts its native-capable calls on a communicator (module->calls). MPI gives all ranks the same order of
 * collective calls, so a number names one call for all.
 *
 * Arming. Until the first device call nobody publishes anything. The first one asks the communicator's leader, its rank 0, to arm
 * it (arming.h): the leader makes a board in shared memory (agree_board.h) and announces it to all members, each of which
 * attaches it in its progress callback, wherever it is in MPI, and publishes that its calls so far had host buffers. That is
 * true: a rank with a device call waits until it sees the board before it publishes, and counts, that call.
 *
 * The board. A rank that enters call s with host buffers stores entered = settled = s. With device buffers it waits for room
 * in its ring, stores s there and then entered = s, and looks at the other lines: one that entered s without s in its ring
 * is a host rank, so it stages; all have s in their rings: native; somebody not there yet: it looks on, making progress.
 * Then settled = s.
 *
 * Why all device ranks of a call reach the same verdict:
 *   (1) A rank's kind in call s is fixed before it publishes entered >= s, and s is in its ring by then if it is a device call
 *       (release, acquire).
 *   (2) Once in the ring, s stays until every rank has settled s: an entry is overwritten only when all have settled it. Who
 *       has not settled s therefore reads the kind correctly, however far the other rank is ahead.
 *   (3) So every device rank evaluates the same facts, and "one host rank" excludes "all device".
 *   (4) A member that cannot attach never publishes, so nobody can conclude "native" on that board; the leader marks it
 *       failed, and then all stage.
 * Why nobody waits for ever: take, of the ranks that wait on a board, one with the lowest call number s. Waiting for room
 * needs others to settle an older call c < s: they are past c or will be, since no rank waits at a call below s. Waiting for
 * a verdict needs others to enter s: MPI promises that they will, and none is held below s. A host rank waits for nobody
 * here, and all waits make MPI's progress. tests/model/agree.pml checks both for small cases, with mutants that fail.
 *
 * Without waiting (agree_later.h). A rank that does not wait for the verdict on s goes on to later calls with s unsettled, so
 * settled stays below s until it has been told; host calls after s publish only that they were entered. (2) holds as before: an
 * entry is overwritten only when all, this rank too, have settled it. Where there is no room now, s is shown later, by whoever
 * asks, and what is after s with it: for the others this rank has not entered yet. It waits for room as a blocking call would,
 * so that nobody waits for ever as long as somebody asks; the program waits for nothing. Blocking calls wait until all before
 * is settled. Such a call may be made before the board is there: it is shown when that comes, and what the rank says of its past
 * then ends before the first call without a verdict.
 *
 * Several nodes (where gf_nodes_may_be_native lets them). Each node has a board, made by its lowest rank, its leader, when
 * the communicator's leader announces its own. A host rank on a node's board makes the node's ranks stage as above, at once.
 * Where all lines have s, the verdict is the ballot's (ballot.h): the node's leader says YES to s and waits; the
 * communicator's leader alone decides, once every node has said YES to s, or one NO; each node's leader writes the verdict on
 * its board, where the others wait for it. NO is said only by who was asked, in its progress callback, when it has passed s or
 * entered it with host buffers: so who has host buffers waits for nobody and sends nothing unasked.
 *   (5) One rank decides on s, once, and a leader that has said YES does not leave s without its answer, of which there is
 *       one: so there is one verdict. It is "native" only if all leaders have said YES, hence all ranks of all boards have s
 *       in their rings.
 *   (6) A YES that comes when the decider has passed s is answered "stage": it was missing when the decider was in s, so the
 *       verdict cannot have been "native". NO is true whenever it is said, and counts only for the call that the decider is
 *       in.
 *   (7) A verdict stays on the board until all ranks of the node have read it: the next one is about a call that all have
 *       entered, so they have left this one.
 *   (8) Who cannot make or attach a board enters no call there, so its leader never says YES, and "never" is decided for all
 *       calls: there was no native one before.
 * Nobody waits for ever: a leader in s waits for leaders that pass s, as before, and then for their progress callback. Most
 * calls of this kind end nowhere before all ranks have given their data, so who is asked is held in the call; who may be
 * through, and has freed the communicator, answers all the same (gone.h). tests/model/agree_nodes.pml checks this, with mutants.
 *
 * When a communicator is freed. An announcement may arrive late, even when a new communicator has the old one's number. The
 * leader closes its board, so that nobody can attach it any more, before MPI can give the number away; such an announcement
 * comes to nothing, or makes a node's leader arm its node early. Of the ballot's words only ASK and NO can be late like this;
 * both name the decider's board.
 *
 * Threads: the thread that makes the communicator's calls, and any thread's progress callback that attaches the board.
 */
#ifndef GF_MCA_AGREE_H
#define GF_MCA_AGREE_H

#include "mca_coll_gpufifo/agree_board.h"
#include "mca_coll_gpufifo/agree_later.h"
#include "mca_coll_gpufifo/agree_map.h"
#include "mca_coll_gpufifo/module.h"

#include "core/bulletin.h"
#include "core/host_ordered.h"
#include "core/segment.h"

struct gf_ballot;                    /* ballot.h */

/* Owned by the module; made when the communicator is armed, fixed afterwards but for what says otherwise. */
struct gf_agree {
    struct gf_segment segment;
    struct gf_segment_name name;
    struct gf_agree_board *board;
    struct gf_agree_line *mine;
    const struct gf_agree_map *map;  /* the module's */
    struct gf_bulletin_line *bulletin;    /* behind the board: a line for each of its ranks */
    struct gf_ballot *ballot;        /* null on one node, and where this rank does not lead its node. Under the component's lock,
                                        as is what follows: */
    struct gf_segment_name first;    /* the board of the communicator's leader */
    struct gf_segment_name asker;    /* that of the leader that asked last */
};

/* The board, and behind it the lines by which its ranks meet without MPI (setting_up.h). */
static inline size_t gf_agree_segment_bytes(int ranks)
{
    return gf_agree_board_bytes(ranks) + (size_t)ranks * sizeof(struct gf_bulletin_line);
}

static inline struct gf_bulletin_line *gf_agree_bulletin(struct gf_agree_board *board, int ranks)
{
    return (struct gf_bulletin_line *)((char *)board + gf_agree_board_bytes(ranks));
}

static inline bool gf_agree_same_board(const struct gf_segment_name *a, const struct gf_segment_name *b)
{
    return a->pid == b->pid && a->inode == b->inode && a->device == b->device;
}

/* A rank has freed the communicator: it had host buffers in whatever is not decided, and all stage from now on. Nothing is
 * amiss. */
void gf_agree_freed(mca_coll_gpufifo_module_t *module);

/* The rest of gf_agree_enter_host, where somebody may look. */
void gf_agree_tell_host(mca_coll_gpufifo_module_t *module, uint64_t call);

/* Enters the next call with host buffers, or with buffers that only staging can do. Cheap: a counter, and one line when armed. */
static inline void gf_agree_enter_host(mca_coll_gpufifo_module_t *module)
{
    uint64_t call = module->calls + 1;

    __atomic_store_n(&module->calls, call, __ATOMIC_RELAXED);
    __atomic_store_n(&mca_coll_gpufifo_component.progress_calls, 0, __ATOMIC_RELAXED);
    if (__builtin_expect(__atomic_load_n(&module->watched, __ATOMIC_RELAXED), 0)) {
        gf_agree_tell_host(module, call);
    }
}

/* Enters the next call with device buffers and waits, making progress, until it is known what the others have. GF_AGREE_STAGE
 * also where this communicator can never be native; the reason is logged once. GF_AGREE_UNKNOWN: it will never be known, for
 * *error with *why: a process of the communicator has ended. That is noticed once the communicator has made a native call. */
enum gf_agree_verdict gf_agree_enter_device(mca_coll_gpufifo_module_t *module, gf_status *error, struct gf_reason *why);

/* The same without waiting, on one node. may: can this rank do so? If not, it enters the call as one with host buffers, and
 * stages; the first such call asks for the board. ask_later, by any thread, tells what is known; if it is not
 * GF_AGREE_UNKNOWN the ticket is the caller's again. Blocking calls with device buffers are made only when there is no ticket
 * any more. */
bool gf_agree_may_enter_later(mca_coll_gpufifo_module_t *module);
void gf_agree_enter_later(mca_coll_gpufifo_module_t *module, struct gf_agree_ticket *ticket);
enum gf_agree_verdict gf_agree_ask_later(mca_coll_gpufifo_module_t *module, struct gf_agree_ticket *ticket);

/* Where the board is not there yet: sends and takes messages that bring it. By threads that may call MPI. */
void gf_agree_look_for_board(const mca_coll_gpufifo_module_t *module);

/* Are its ranks on several nodes, and may they be native all the same? Where no setting lets them that is not looked up. */
bool gf_agree_spans_nodes(mca_coll_gpufifo_module_t *module);

/* For the mailbox, under the component's lock. Makes the board at the leader of this node, or attaches it at a member; does
 * nothing if there is one. Failures leave the module as it was. */
gf_status gf_agree_create(mca_coll_gpufifo_module_t *module, struct gf_reason *why);
gf_status gf_agree_attach(mca_coll_gpufifo_module_t *module, const struct gf_segment_name *name, struct gf_reason *why);

/* Something failed, and for all ranks it is decided that this communicator stages for ever. Warns once, with why. Any thread. */
void gf_agree_give_up(mca_coll_gpufifo_module_t *module, const char *why);

/* Lets go of the board. */
void gf_agree_close(mca_coll_gpufifo_module_t *module);

#endif
