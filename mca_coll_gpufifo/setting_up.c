/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The thread that sets up a communicator for flights.
 */
#include "mca_coll_gpufifo/setting_up.h"

#include <stdio.h>

#include "mca_coll_gpufifo/agree.h"
#include "mca_coll_gpufifo/bootstrap.h"
#include "mca_coll_gpufifo/native.h"

void gf_setting_up_prepare(struct gf_setting_up *s, mca_coll_gpufifo_module_t *module, gf_comm *comm)
{
    *s = (struct gf_setting_up){.module = module, .comm = comm};
    if (!comm) {
        s->setup = gf_native_comm_setup(module);
        snprintf(s->name, sizeof s->name, "%s", s->setup.name);      /* the program may give it another one meanwhile */
        s->setup.name = s->name;
    }
}

static struct gf_bulletin_line *mine(const struct gf_setting_up *s)
{
    return &s->bulletin.lines[s->bulletin.rank];
}

/* Afterwards the communicator's blocking calls may go on setting up, by MPI. */
static void *set_up(void *ctx)
{
    struct gf_setting_up *s = ctx;
    const struct gf_bootstrap by_mpi = gf_bootstrap_of(s->module), by_memory = gf_bulletin_bootstrap(&s->bulletin);

    if (s->comm) {
        gf_comm_meet_by(s->comm, &by_memory);
    } else {
        s->setup.bootstrap = by_memory;
        s->status = gf_comm_create(&s->setup, &s->comm, &s->why);
    }
    if (s->status == GF_OK) {
        s->status = gf_comm_connect_mapped(s->comm, &s->why);
    } else {
        gf_agree_give_up(s->module, s->why.text);
    }
    if (s->comm) {
        gf_comm_meet_by(s->comm, &by_mpi);
    }
    if (s->status != GF_OK) {
        gf_bulletin_refuse(mine(s));   /* if it was this rank's alone, the others shall not wait */
    }
    atomic_store_explicit(&s->ended, true, memory_order_release);
    return NULL;
}

static gf_status begin(struct gf_setting_up *s, const struct gf_agree *agree, struct gf_reason *why)
{
    s->bulletin = (struct gf_bulletin){.lines = agree->bulletin, .rank = agree->map->place, .ranks = agree->map->members};
    s->running = pthread_create(&s->thread, NULL, set_up, s) == 0;
    if (!s->running) {
        gf_reason_set(why, "there is no thread to set up its device side");
        gf_bulletin_refuse(mine(s));
        gf_agree_give_up(s->module, why->text);
    }
    return s->running ? GF_IN_PROGRESS : GF_ERR_UNSUPPORTED;
}

gf_status gf_setting_up_poll(struct gf_setting_up *s, struct gf_reason *why)
{
    const struct gf_agree *agree = __atomic_load_n(&s->module->agree, __ATOMIC_ACQUIRE);

    if (!agree) {
        return GF_IN_PROGRESS;         /* another thread is just showing it */
    }
    if (!s->running) {
        return begin(s, agree, why);
    }
    if (!atomic_load_explicit(&s->ended, memory_order_acquire)) {
        return GF_IN_PROGRESS;
    }
    pthread_join(s->thread, NULL);
    s->running = false;
    gf_reason_set(why, "%s", s->why.text);
    return s->status == GF_OK ? GF_OK : GF_ERR_UNSUPPORTED;
}
