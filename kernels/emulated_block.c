/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The barrier and the delayed stores of an emulated block.
 */
#include "kernels/emulated_block.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "kernels/work.h"

enum { BUFFERED_STORES = 64, LINE_WORDS = GF_LINE / sizeof(uint64_t) };

enum kind {
    BYTES,
    WORD,                            /* takes effect whole */
    LINE                             /* likewise: its last word after the others */
};

struct store {
    void *to;
    uint32_t bytes;
    enum kind kind;
    unsigned char value[GF_LINE];
};

struct stores {
    struct store entry[BUFFERED_STORES];
    uint32_t count;
    uint64_t random;                 /* state of the generator */
};

/* One thread's part: only it touches these fields, but `vote` is read by the others between two barriers. */
struct lane {
    struct stores own;
    bool vote;
};

struct gf_block {
    uint32_t threads;
    bool weak, torn;
    pthread_barrier_t barrier;
    pthread_mutex_t pool_lock;       /* pool: stores that all threads of the block have seen, but no other agent */
    struct stores pool;
    _Alignas(max_align_t) unsigned char memory[GF_BLOCK_MEMORY];
    struct lane lane[];
};

static void take_effect(const struct store *s)
{
    uint64_t words[LINE_WORDS], *to = s->to;
    if (s->kind == BYTES) {
        memcpy(s->to, s->value, s->bytes);
        return;
    }
    uint32_t last = s->bytes / sizeof *words - 1;
    memcpy(words, s->value, s->bytes);
    for (uint32_t i = 0; i < last; i++)
        __atomic_store_n(to + i, words[i], __ATOMIC_RELAXED);
    __atomic_store_n(to + last, words[last], s->kind == LINE ? __ATOMIC_RELEASE : __ATOMIC_RELAXED);
}

/* Stores to one address keep their order: of those that overlap the chosen one, the oldest goes first. */
static bool overlap(const struct store *a, const struct store *b)
{
    const char *x = a->to, *y = b->to;
    return x < y + b->bytes && y < x + a->bytes;
}

static void take_out(struct stores *s, uint32_t i)
{
    take_effect(&s->entry[i]);
    s->count--;
    memmove(&s->entry[i], &s->entry[i + 1], (s->count - i) * sizeof s->entry[0]);
}

static void complete_one(struct stores *s)
{
    uint32_t chosen = (uint32_t)(gf_random_next(&s->random) % s->count);
    for (uint32_t i = 0; i < chosen; i++)
        if (overlap(&s->entry[i], &s->entry[chosen]))
            chosen = i;
    take_out(s, chosen);
}

static void complete_all(struct stores *s)
{
    while (s->count > 0)
        complete_one(s);
}

static void add(struct stores *s, const struct store *new_store)
{
    if (s->count == BUFFERED_STORES)
        complete_one(s);
    s->entry[s->count++] = *new_store;
}

struct gf_block *gf_block_create(uint32_t threads, bool weak, uint64_t seed)
{
    struct gf_block *shared = calloc(1, sizeof *shared + threads * sizeof shared->lane[0]);
    if (!shared)
        return NULL;
    shared->threads = threads;
    shared->weak = weak;
    shared->pool.random = seed;
    for (uint32_t t = 0; t < threads; t++)
        shared->lane[t].own.random = seed + 1000003u * (t + 1);
    if (pthread_barrier_init(&shared->barrier, NULL, threads) != 0) {
        free(shared);
        return NULL;
    }
    pthread_mutex_init(&shared->pool_lock, NULL);
    return shared;
}

void gf_block_destroy(struct gf_block *shared)
{
    if (!shared)
        return;
    pthread_barrier_destroy(&shared->barrier);
    pthread_mutex_destroy(&shared->pool_lock);
    free(shared);
}

void *gf_block_memory(struct gf_block *shared)
{
    return shared->memory;
}

uint32_t gf_block_threads(const struct gf_block *shared)
{
    return shared->threads;
}

bool gf_block_is_weak(const struct gf_block *shared)
{
    return shared->weak;
}

void gf_block_tear_lines(struct gf_block *shared)
{
    shared->torn = true;
}

static void move_to_pool(struct gf_block *shared, uint32_t thread)
{
    struct stores *own = &shared->lane[thread].own;
    pthread_mutex_lock(&shared->pool_lock);
    for (uint32_t i = 0; i < own->count; i++)
        add(&shared->pool, &own->entry[i]);
    pthread_mutex_unlock(&shared->pool_lock);
    own->count = 0;
}

void gf_block_barrier(struct gf_block *shared, uint32_t thread)
{
    if (shared->threads == 1)
        return;
    if (shared->weak)
        move_to_pool(shared, thread);
    pthread_barrier_wait(&shared->barrier);
}

bool gf_block_any(struct gf_block *shared, uint32_t thread, bool mine)
{
    if (shared->threads == 1)
        return mine;
    shared->lane[thread].vote = mine;
    gf_block_barrier(shared, thread);
    bool any = false;
    for (uint32_t t = 0; t < shared->threads; t++)
        any |= shared->lane[t].vote;
    pthread_barrier_wait(&shared->barrier);   /* before a vote changes again */
    return any;
}

/* A location takes the stores of its writer in their order: those that the pool still holds come first. */
static void complete_older(struct gf_block *shared, const struct store *newer)
{
    pthread_mutex_lock(&shared->pool_lock);
    for (uint32_t i = 0; i < shared->pool.count;) {
        if (overlap(&shared->pool.entry[i], newer))
            take_out(&shared->pool, i);
        else
            i++;
    }
    pthread_mutex_unlock(&shared->pool_lock);
}

static void delay(struct gf_block *shared, uint32_t thread, const struct store *s)
{
    struct stores *own = &shared->lane[thread].own;
    if (shared->threads > 1)
        complete_older(shared, s);
    add(own, s);
    if (gf_random_next(&own->random) % 4 == 0)
        complete_one(own);
}

void gf_block_store(struct gf_block *shared, uint32_t thread, void *to, const void *value, uint32_t bytes)
{
    struct store s = { .to = to, .bytes = bytes, .kind = BYTES };
    memcpy(s.value, value, bytes);
    delay(shared, thread, &s);
}

void gf_block_store_word(struct gf_block *shared, uint32_t thread, uint64_t *to, uint64_t value)
{
    struct store s = { .to = to, .bytes = sizeof value, .kind = WORD };
    memcpy(s.value, &value, sizeof value);
    delay(shared, thread, &s);
}

static void store_torn(struct gf_block *shared, uint32_t thread, uint64_t *to, const uint64_t *words)
{
    for (uint32_t i = LINE_WORDS; i-- > 0; ) {
        if (shared->weak)
            gf_block_store_word(shared, thread, to + i, words[i]);
        else
            __atomic_store_n(to + i, words[i], __ATOMIC_RELAXED);
        if (i == LINE_WORDS - 1)
            sched_yield();
    }
}

void gf_block_store_line(struct gf_block *shared, uint32_t thread, uint64_t *to, const uint64_t *words)
{
    struct store s = { .to = to, .bytes = GF_LINE, .kind = LINE };
    if (shared->torn) {
        store_torn(shared, thread, to, words);
        return;
    }
    memcpy(s.value, words, GF_LINE);
    if (shared->weak)
        delay(shared, thread, &s);
    else
        take_effect(&s);
}

void gf_block_complete(struct gf_block *shared, uint32_t thread)
{
    complete_all(&shared->lane[thread].own);
    pthread_mutex_lock(&shared->pool_lock);
    complete_all(&shared->pool);
    pthread_mutex_unlock(&shared->pool_lock);
}

void gf_block_pause(struct gf_block *shared, uint32_t thread)
{
    if (shared->weak) {
        struct stores *own = &shared->lane[thread].own;
        if (own->count > 0)
            complete_one(own);
        pthread_mutex_lock(&shared->pool_lock);
        if (shared->pool.count > 0)
            complete_one(&shared->pool);
        pthread_mutex_unlock(&shared->pool_lock);
    }
    sched_yield();
}
