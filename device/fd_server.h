/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Handing file descriptors to other processes of this host. Memory of the virtual memory functions is shared by a descriptor,
 * which means nothing in another process until it has been passed there: over a Unix socket, as SCM_RIGHTS.
 *
 * A process that shares such memory has a server: a thread behind a socket with a random name, which makes the descriptor when
 * it is asked for and closes it as soon as it is sent. So nothing of the program's stays open, and memory that it frees goes
 * back at once. (pidfd_getfd would want the descriptor kept open for as long as anybody may ask, which keeps freed memory
 * from going back, and the right to trace the other process, which many systems do not give.)
 *
 * Only processes of the same user are served. The name is of this network namespace: containers with one of their own are not
 * reached, and whoever asks is told so.
 */
#ifndef GF_DEVICE_FD_SERVER_H
#define GF_DEVICE_FD_SERVER_H

#include <pthread.h>
#include <stdint.h>

#include "base/status.h"

/* What is asked for, in words that the server's owner understands. */
struct gf_fd_request {
    uint64_t what[2];
};

/* A new descriptor for the request, which the server closes when it is sent; or -1 and a sentence why not. Called on the server's
 * thread. */
typedef int (*gf_fd_give)(void *context, const struct gf_fd_request *request, struct gf_reason *why);

/* Owned by whoever starts it, who keeps it in place until it is stopped. Zeroed: not started. */
struct gf_fd_server {
    pthread_mutex_t lock;          /* guards the start */
    uint64_t name;                 /* 0: not started */
    int socket;
    gf_fd_give give;
    void *context;
    pthread_t thread;
};

/* A server that nobody has started yet. */
void gf_fd_server_init(struct gf_fd_server *server, gf_fd_give give, void *context);

/* Starts the thread with the first call. *name is what others ask by. Any thread. GF_ERR_SYSTEM with a sentence. */
gf_status gf_fd_server_start(struct gf_fd_server *server, uint64_t *name, struct gf_reason *why);

/* Ends the thread; who asks from now on is refused. Nothing if it was never started. */
void gf_fd_server_stop(struct gf_fd_server *server);

/* Asks the server of that name; *fd is the caller's to close. Waits for the answer, some seconds at most. GF_ERR_UNSUPPORTED with
 * the sentence of the server, or with one that says why it was not reached. */
gf_status gf_fd_ask(uint64_t name, const struct gf_fd_request *request, int *fd, struct gf_reason *why);

#endif
