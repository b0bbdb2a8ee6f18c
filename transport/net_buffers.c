/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of registered buffers.
 */
#include "transport/net_buffers.h"

#include "transport/net_register.h"

void gf_net_buffers_init(struct gf_net_buffers *buffers, struct gf_net *net)
{
    *buffers = (struct gf_net_buffers){ .net = net };
    pthread_mutex_init(&buffers->lock, NULL);
}

static void forget(struct gf_net_buffers *buffers, struct gf_net_buffer *buffer)
{
    if (buffer->id != 0 && !buffer->refused) {
        gf_net_forget(buffers->net, &buffer->wire);
    }
    *buffer = (struct gf_net_buffer){ .id = 0 };
}

void gf_net_buffers_close(struct gf_net_buffers *buffers)
{
    for (int i = 0; i < GF_NET_BUFFERS; i++) {
        forget(buffers, &buffers->of[i]);
    }
    pthread_mutex_destroy(&buffers->lock);
}

static gf_status ask(const struct gf_net_buffers *buffers, const void *address, struct gf_pointer *where)
{
    return gf_driver_pointer(gf_net_device_of(buffers->net)->driver, address, where);
}

static bool is_freed(const struct gf_net_buffers *buffers, const struct gf_net_buffer *buffer)
{
    struct gf_pointer where;
    bool freed = ask(buffers, buffer->base, &where) != GF_OK || where.kind != GF_MEMORY_DEVICE || where.buffer_id != buffer->id;

    if (freed) {
        gf_log(gf_net_config_of(buffers->net)->wire.log, GF_LOG_CALL, "net: what was at %p was freed, and is forgotten",
               buffer->base);
    }
    return freed;
}

/* The lock is held, here and below. */
static void look(struct gf_net_buffers *buffers, struct gf_net_buffer *buffer)
{
    if (buffer->id != 0 && buffer->uses == 0 && (buffer->spoilt || is_freed(buffers, buffer))) {
        forget(buffers, buffer);
    }
}

static struct gf_net_buffer *find(struct gf_net_buffers *buffers, uint64_t id)
{
    for (int i = 0; i < GF_NET_BUFFERS; i++) {
        if (buffers->of[i].id == id) {
            return &buffers->of[i];
        }
    }
    return NULL;
}

/* A free entry, or one that nobody uses, of which the one not used for the longest time; null: all are in use. */
static struct gf_net_buffer *make_room(struct gf_net_buffers *buffers)
{
    struct gf_net_buffer *oldest = NULL;

    for (int i = 0; i < GF_NET_BUFFERS; i++) {
        struct gf_net_buffer *buffer = &buffers->of[i];

        look(buffers, buffer);
        if (buffer->uses == 0 && (!oldest || buffer->used < oldest->used)) {
            oldest = buffer;
        }
    }
    if (oldest) {
        forget(buffers, oldest);
    }
    return oldest;
}

static struct gf_net_buffer *add(struct gf_net_buffers *buffers, struct gf_fault *fault, const struct gf_pointer *where)
{
    struct gf_net_buffer *buffer = make_room(buffers);

    if (!buffer) {
        return NULL;
    }
    gf_status status = gf_net_register(buffers->net, fault, where->base, where->size, true, &buffer->wire, &buffer->why);

    buffer->id = where->buffer_id;
    buffer->base = where->base;
    buffer->refused = status != GF_OK;
    gf_log(gf_net_config_of(buffers->net)->wire.log, GF_LOG_CALL, "net: the %zu bytes at %p are %s%s", where->size, where->base,
           buffer->refused ? "copied: " : "registered", buffer->refused ? buffer->why.text : "");
    return buffer;
}

static bool lies_in(const struct gf_net_range *range, const struct gf_pointer *where)
{
    size_t offset = (size_t)((const char *)range->address - (const char *)where->base);

    return where->kind == GF_MEMORY_DEVICE && where->buffer_id != 0 && offset <= where->size
        && range->bytes <= where->size - offset;
}

/* As gf_net_buffers_get, for a range of that allocation. */
static gf_status use(struct gf_net_buffers *buffers, struct gf_fault *fault, const struct gf_pointer *where,
                     struct gf_net_buffer **found, struct gf_reason *why)
{
    struct gf_net_buffer *buffer = find(buffers, where->buffer_id);

    buffer = buffer ? buffer : add(buffers, fault, where);
    if (!buffer) {
        gf_reason_set(why, "%d buffers are in use by the network", GF_NET_BUFFERS);
        return GF_NO_RESOURCE;
    }
    buffer->used = ++buffers->turn;
    if (buffer->refused) {
        gf_reason_set(why, "%s", buffer->why.text);
        return GF_ERR_UNSUPPORTED;
    }
    buffer->uses++;
    *found = buffer;
    return GF_OK;
}

gf_status gf_net_buffers_get(struct gf_net_buffers *buffers, struct gf_fault *fault, const struct gf_net_range *range,
                             struct gf_net_buffer **buffer, struct gf_reason *why)
{
    struct gf_pointer found = { .kind = GF_MEMORY_INVALID };
    const struct gf_pointer *where = range->where;

    *buffer = NULL;
    if (!where) {
        (void)ask(buffers, range->address, &found);
        where = &found;
    }
    if (!lies_in(range, where)) {
        gf_reason_set(why, "the buffer at %p does not lie in one allocation of device memory", range->address);
        return GF_NO_RESOURCE;
    }
    pthread_mutex_lock(&buffers->lock);
    gf_status status = use(buffers, fault, where, buffer, why);

    look(buffers, &buffers->of[buffers->turn % GF_NET_BUFFERS]);
    pthread_mutex_unlock(&buffers->lock);
    return status;
}

void gf_net_buffers_put(struct gf_net_buffers *buffers, struct gf_net_buffer *buffer, bool failed)
{
    if (buffer) {
        pthread_mutex_lock(&buffers->lock);
        buffer->uses--;
        buffer->spoilt = buffer->spoilt || failed;
        if (buffer->spoilt) {
            look(buffers, buffer);
        }
        pthread_mutex_unlock(&buffers->lock);
    }
}

int gf_net_buffers_count(struct gf_net_buffers *buffers, bool used)
{
    int count = 0;

    pthread_mutex_lock(&buffers->lock);
    for (int i = 0; i < GF_NET_BUFFERS; i++) {
        count += buffers->of[i].id != 0 && (!used || buffers->of[i].uses > 0);
    }
    pthread_mutex_unlock(&buffers->lock);
    return count;
}

void gf_net_buffers_look(struct gf_net_buffers *buffers)
{
    pthread_mutex_lock(&buffers->lock);
    for (int i = 0; i < GF_NET_BUFFERS; i++) {
        look(buffers, &buffers->of[i]);
    }
    pthread_mutex_unlock(&buffers->lock);
}
