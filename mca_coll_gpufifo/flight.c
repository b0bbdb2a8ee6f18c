/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flights of a communicator, and who moves them on.
 */
#include "mca_coll_gpufifo/flight_private.h"

#include "opal/runtime/opal_progress.h"

#include "mca_coll_gpufifo/agree.h"
#include "mca_coll_gpufifo/mapped_buffer.h"
#include "mca_coll_gpufifo/native.h"
#include "mca_coll_gpufifo/setting_up.h"
#include "mca_coll_gpufifo/turns.h"

/* Takes it out. From the store on it is its request's. */
static void end(struct gf_flights *flights, struct gf_flight **link, enum gf_flight_state state)
{
    struct gf_flight *flight = *link;

    *link = flight->next;
    if (!flight->next) {
        flights->end = link;
    }
    __atomic_store_n(&flight->state, state, __ATOMIC_RELEASE);
}

/* It has ended with this status: its end, or that of those that cannot be native. */
static void conclude(struct gf_flights *flights, struct gf_flight **link, gf_status status)
{
    (*link)->status = status;
    end(flights, link, status == GF_OK ? GF_FLIGHT_LANDED : status == GF_ERR_UNSUPPORTED ? GF_FLIGHT_DIVERTED : GF_FLIGHT_FAILED);
}

/* Which calls all ranks have entered with device buffers. */
static void ask(struct gf_flights *flights)
{
    for (struct gf_flight **link = &flights->first; *link; ) {
        struct gf_flight *flight = *link;
        enum gf_agree_verdict verdict = flight->state == GF_FLIGHT_ASKED ? gf_agree_ask_later(flights->module, &flight->ticket)
                                                                         : GF_AGREE_UNKNOWN;

        if (verdict == GF_AGREE_STAGE) {
            gf_reason_set(&flight->why, "another rank cannot do it natively");
            conclude(flights, link, GF_ERR_UNSUPPORTED);
            continue;
        }
        if (verdict == GF_AGREE_NATIVE) {
            gf_flight_move_on(flight, GF_FLIGHT_AGREED);
        }
        link = &flight->next;
    }
}

static void drop(struct gf_flights *flights, struct gf_flight *flight)
{
    gf_agree_later_drop(&flights->module->later, &flight->ticket);
}

/* For the first of all. GF_OK: there is a communicator to fly over. */
static gf_status set_up(struct gf_flights *flights, struct gf_reason *why)
{
    struct gf_setting_up *setting_up = flights->setting_up;

    if (!flights->comm && !flights->impossible) {
        gf_status status = gf_setting_up_poll(setting_up, &flights->against);

        if (status == GF_IN_PROGRESS) {
            return status;
        }
        flights->made = setting_up->comm;
        flights->comm = status == GF_OK ? setting_up->comm : NULL;
        flights->impossible = status != GF_OK;
        free(setting_up);
        flights->setting_up = NULL;
    }
    if (flights->impossible) {
        *why = flights->against;
    }
    return flights->impossible ? GF_ERR_UNSUPPORTED : GF_OK;
}

/* Moves the first one on. True: it has ended. */
static bool fly(struct gf_flights *flights)
{
    struct gf_flight *flight = flights->first;
    gf_status status = GF_IN_PROGRESS;

    if (flight && flight->state == GF_FLIGHT_AGREED) {
        status = set_up(flights, &flight->why);
        if (status == GF_OK) {
            gf_fault_pass(mca_coll_gpufifo_component.config.stages, GF_FAULT_FLIGHT);
            status = flight->start(flights->comm, flight, &flight->why);
        }
        if (status == GF_OK) {
            gf_flight_move_on(flight, GF_FLIGHT_ALOFT);
        }
    }
    gf_comm *comm = flights->comm;

    if (flight && flight->state == GF_FLIGHT_ALOFT) {
        status = gf_mapped_call_poll(comm, &flight->call, &flight->why);
        if (status == GF_OK && flight->finish) {
            gf_flight_move_on(flight, GF_FLIGHT_LANDING);
        }
    }
    if (flight && flight->state == GF_FLIGHT_LANDING) {
        status = flight->finish(flight, &flight->why);
    }
    if (status == GF_IN_PROGRESS) {
        return false;
    }
    conclude(flights, &flights->first, status);
    return true;
}

/* The communicator is dead: so are all of its flights, but what runs on the device is waited for. */
static void fail_all(struct gf_flights *flights, gf_status cause, const struct gf_reason *why)
{
    struct gf_flight **link = &flights->first;

    if (*link && (*link)->state == GF_FLIGHT_ALOFT) {
        gf_mapped_call_cancel(&(*link)->call, cause, why);
    }
    if (*link && (*link)->state >= GF_FLIGHT_ALOFT) {
        link = &(*link)->next;
    }
    while (*link) {
        (*link)->why = *why;
        if ((*link)->state == GF_FLIGHT_ASKED && flights->drop) {
            flights->drop(flights, *link);
        }
        conclude(flights, link, cause);
    }
}

/* A step of each. With the lock held. */
static enum gf_proxy_turn step(struct gf_flights *flights)
{
    struct gf_reason why;
    gf_status status;

    if (!flights->first) {
        return GF_PROXY_IDLE;
    }
    status = flights->comm ? gf_comm_look(flights->comm, &why) : GF_OK;
    if (status != GF_OK) {
        fail_all(flights, status, &why);
    }
    flights->ask(flights);
    if (fly(flights)) {
        return GF_PROXY_MOVED;
    }
    if (!flights->first) {
        return GF_PROXY_IDLE;
    }
    return !flights->comm || flights->first->state == GF_FLIGHT_ASKED ? GF_PROXY_WAITING : GF_PROXY_NEAR;
}

/* Who finds the lock held need not wait: the other one does it. */
static enum gf_proxy_turn turn(void *ctx)
{
    struct gf_flights *flights = ctx;

    if (pthread_mutex_trylock(&flights->lock) != 0) {
        return GF_PROXY_NEAR;
    }
    enum gf_proxy_turn turn = step(flights);

    pthread_mutex_unlock(&flights->lock);
    return turn;
}

gf_status gf_flight_locate(const struct gf_flight *flight, gf_comm *comm, struct gf_mapped_buffer *send,
                           struct gf_mapped_buffer *recv, struct gf_reason *why)
{
    if (flight->started == 0 ||
        ((!send->address || gf_mapped_buffer_locate(send)) && (!recv->address || gf_mapped_buffer_locate(recv)))) {
        return GF_OK;
    }
    gf_reason_set(why, "a buffer of a persistent operation is no device memory any more: free the request before its buffers");
    gf_comm_abort(comm, why->text);
    return GF_ERR_INVALID;
}

struct gf_flights *gf_flights_create(mca_coll_gpufifo_module_t *module, gf_comm *comm)
{
    struct gf_flights *flights;
    gf_device *device = gf_component_device(module->device_ordinal, NULL);
    gf_proxy *proxy = device ? gf_component_proxy(device) : NULL;

    if (!proxy || (flights = calloc(1, sizeof *flights)) == NULL) {
        return NULL;
    }
    *flights = (struct gf_flights){.module = module, .comm = comm, .proxy = proxy, .task = {.turn = turn, .ctx = flights},
                                   .ask = ask, .drop = drop};
    flights->end = &flights->first;
    pthread_mutex_init(&flights->lock, NULL);
    if (gf_proxy_add(proxy, &flights->task, NULL) != GF_OK) {
        pthread_mutex_destroy(&flights->lock);
        free(flights);
        return NULL;
    }
    return flights;
}

void gf_flights_destroy(struct gf_flights *flights)
{
    gf_flights_wait(flights);
    gf_proxy_remove(flights->proxy, &flights->task);
    pthread_mutex_destroy(&flights->lock);
    free(flights->setting_up);
    free(flights);
}

/* What is there for flights that follow; between two of them the module's own calls may have made it. */
static const char *make_ready(mca_coll_gpufifo_module_t *module, struct gf_flights *flights)
{
    if (flights->first || flights->comm || flights->impossible) {
        return flights->impossible ? flights->against.text : NULL;
    }
    if (module->device_comm && gf_comm_maps(module->device_comm)) {
        flights->comm = module->device_comm;
        return NULL;
    }
    if (!flights->setting_up && (flights->setting_up = calloc(1, sizeof *flights->setting_up)) == NULL) {
        return "host memory is exhausted";
    }
    if (!flights->setting_up->module || flights->setting_up->comm != module->device_comm) {
        gf_setting_up_prepare(flights->setting_up, module, module->device_comm);
    }
    return NULL;
}

const char *gf_flight_obstacle(mca_coll_gpufifo_module_t *module, int ordinal)
{
    if (!gf_agree_may_enter_later(module)) {
        return "this communicator cannot use the device";
    }
    if (!module->flights) {
        if (!module->device_comm) {
            gf_native_choose_device(module, ordinal);
        }
        module->flights = gf_flights_create(module, NULL);
    }
    if (!module->flights) {
        return "there is no thread to go on with it";
    }
    pthread_mutex_lock(&module->flights->lock);
    const char *reason = make_ready(module, module->flights);

    pthread_mutex_unlock(&module->flights->lock);
    return reason;
}

void gf_flights_add(struct gf_flights *flights, struct gf_flight *flight)
{
    flight->next = NULL;
    flight->flights = flights;
    flight->state = GF_FLIGHT_ASKED;
    pthread_mutex_lock(&flights->lock);
    *flights->end = flight;
    flights->end = &flight->next;
    pthread_mutex_unlock(&flights->lock);
}

void gf_flight_depart(mca_coll_gpufifo_module_t *module, struct gf_flight *flight)
{
    gf_agree_enter_later(module, &flight->ticket);
    gf_flights_add(module->flights, flight);
    gf_proxy_wake(module->flights->proxy);
}

gf_status gf_flight_poll(struct gf_flight *flight, struct gf_reason *why)
{
    enum gf_flight_state state = __atomic_load_n(&flight->state, __ATOMIC_ACQUIRE);

    if (state < GF_FLIGHT_LANDED) {
        gf_agree_look_for_board(flight->flights->module);
        turn(flight->flights);
        state = __atomic_load_n(&flight->state, __ATOMIC_ACQUIRE);
    }
    if (state < GF_FLIGHT_LANDED) {
        return GF_IN_PROGRESS;
    }
    if (state != GF_FLIGHT_LANDED) {
        gf_reason_set(why, "%s", flight->why.text);
    }
    return flight->status;
}

void gf_flights_wait(struct gf_flights *flights)
{
    bool empty = false;

    while (!empty) {
        gf_agree_look_for_board(flights->module);
        turn(flights);
        opal_progress();
        pthread_mutex_lock(&flights->lock);
        empty = flights->first == NULL;
        pthread_mutex_unlock(&flights->lock);
    }
}

void gf_flights_land_all(mca_coll_gpufifo_module_t *module)
{
    gf_flights_wait(module->flights);
    if (!module->device_comm) {
        module->device_comm = module->flights->made;
    }
}

void gf_flights_close(mca_coll_gpufifo_module_t *module)
{
    gf_turns_close(module);
    if (module->flights) {
        gf_flights_land_all(module);
        gf_flights_destroy(module->flights);
        module->flights = NULL;
    }
}
