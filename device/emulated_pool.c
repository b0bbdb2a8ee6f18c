/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A queue of jobs and a growing number of threads, which sleep while there is none.
 */
#include "device/emulated_pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Jobs that are waited for together; on the stack of who waits. */
struct gf_crew {
    size_t running;
    pthread_cond_t finished;
};

struct worker {
    pthread_t thread;
    struct worker *next;
};

struct gf_pool {
    pthread_mutex_t lock;        /* guards everything */
    pthread_cond_t work;
    struct gf_job *first, **last;
    struct worker *workers;
    size_t threads, reserved;
    bool ending;
};

static void finish(struct gf_crew *crew)
{
    if (crew && --crew->running == 0) {
        pthread_cond_signal(&crew->finished);
    }
}

static void *work(void *argument)
{
    gf_pool *pool = argument;

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->first && !pool->ending) {
            pthread_cond_wait(&pool->work, &pool->lock);
        }
        struct gf_job *job = pool->first;
        if (!job) {
            break;
        }
        struct gf_crew *crew = job->crew;
        pool->first = job->next;
        if (!pool->first) {
            pool->last = &pool->first;
        }
        pthread_mutex_unlock(&pool->lock);
        job->run(job->argument);         /* the job may be gone when this returns */
        pthread_mutex_lock(&pool->lock);
        finish(crew);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

gf_pool *gf_pool_create(struct gf_reason *why)
{
    gf_pool *pool = calloc(1, sizeof *pool);
    if (!pool) {
        gf_reason_set(why, "out of host memory");
        return NULL;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pool->last = &pool->first;
    return pool;
}

void gf_pool_destroy(gf_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    while (pool->workers) {
        struct worker *worker = pool->workers;
        pool->workers = worker->next;
        pthread_join(worker->thread, NULL);
        free(worker);
    }
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* The program's signal handlers stay in the program's threads; faults are still reported where they happen. */
static void block_signals(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t blocked;

    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        sigdelset(&blocked, faults[i]);
    }
    pthread_sigmask(SIG_BLOCK, &blocked, before);
}

/* The lock is held. */
static gf_status add_thread(gf_pool *pool, struct gf_reason *why)
{
    struct worker *worker = malloc(sizeof *worker);
    sigset_t before;

    block_signals(&before);
    int error = worker ? pthread_create(&worker->thread, NULL, work, pool) : -1;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        gf_reason_set(why, "the emulated device cannot start thread number %zu (%s): raise `ulimit -u`, or ask for fewer blocks "
                      "with GPUFIFO_EMULATED=blocks=N", pool->threads + 1, error > 0 ? strerror(error) : "out of host memory");
        free(worker);
        return GF_ERR_NO_MEMORY;
    }
    worker->next = pool->workers;
    pool->workers = worker;
    pool->threads++;
    return GF_OK;
}

gf_status gf_pool_reserve(gf_pool *pool, size_t threads, struct gf_reason *why)
{
    gf_status status = GF_OK;

    pthread_mutex_lock(&pool->lock);
    while (pool->threads < pool->reserved + threads && status == GF_OK) {
        status = add_thread(pool, why);
    }
    if (status == GF_OK) {
        pool->reserved += threads;
    }
    pthread_mutex_unlock(&pool->lock);
    return status;
}

void gf_pool_release(gf_pool *pool, size_t threads)
{
    pthread_mutex_lock(&pool->lock);
    pool->reserved -= threads;
    pthread_mutex_unlock(&pool->lock);
}

/* The lock is held. */
static void append(gf_pool *pool, struct gf_job *job, struct gf_crew *crew)
{
    job->crew = crew;
    job->next = NULL;
    *pool->last = job;
    pool->last = &job->next;
    pthread_cond_signal(&pool->work);
}

void gf_pool_start(gf_pool *pool, struct gf_job *job)
{
    pthread_mutex_lock(&pool->lock);
    append(pool, job, NULL);
    pthread_mutex_unlock(&pool->lock);
}

void gf_pool_run_together(gf_pool *pool, struct gf_job *jobs, size_t count)
{
    struct gf_crew crew = {.running = count - 1, .finished = PTHREAD_COND_INITIALIZER};

    if (count > 1) {
        pthread_mutex_lock(&pool->lock);
        for (size_t i = 1; i < count; i++) {
            append(pool, &jobs[i], &crew);
        }
        pthread_mutex_unlock(&pool->lock);
    }
    jobs[0].run(jobs[0].argument);
    if (count > 1) {
        pthread_mutex_lock(&pool->lock);
        while (crew.running > 0) {
            pthread_cond_wait(&crew.finished, &pool->lock);
        }
        pthread_mutex_unlock(&pool->lock);
    }
    pthread_cond_destroy(&crew.finished);
}
