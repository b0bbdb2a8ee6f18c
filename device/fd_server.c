/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One connection a request: a gf_fd_request goes there, an answer comes back, with the descriptor or with a sentence.
 */
#define _GNU_SOURCE 1   /* struct ucred, accept4 */
#include "device/fd_server.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    WAITING = 64,                  /* connections that the kernel holds until they are served */
    ASK_SECONDS = 10,              /* the owner's driver may have to wait for its GPU */
    SERVE_SECONDS = 1              /* a process that connects and says nothing must not keep others waiting */
};

/* The kernel's abstract names: no file is left behind. */
static socklen_t address_of(uint64_t name, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "gpufifo-fd-%016" PRIx64, name);

    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static void limit_waits(int socket, int seconds)
{
    const struct timeval limit = { .tv_sec = seconds };

    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

/* ---- one message with one descriptor, or none ---- */

/* Room for a descriptor beside the message, aligned as the kernel wants it. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static bool send_answer(int socket, struct gf_reason *why, int fd)
{
    union control control = { .bytes = { 0 } };
    struct iovec data = { .iov_base = why, .iov_len = sizeof *why };
    struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };

    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);

        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof *why;
}

/* False: no whole answer came, errno says why. *fd is -1 where none came along. */
static bool receive_answer(int socket, struct gf_reason *why, int *fd)
{
    union control control = { .bytes = { 0 } };
    struct iovec data = { .iov_base = why, .iov_len = sizeof *why };
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control,
    };
    ssize_t bytes = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *header = bytes > 0 ? CMSG_FIRSTHDR(&message) : NULL;

    *fd = -1;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS
        && header->cmsg_len == CMSG_LEN(sizeof *fd)) {
        memcpy(fd, CMSG_DATA(header), sizeof *fd);
    }
    if (bytes >= 0 && bytes != (ssize_t)sizeof *why) {
        errno = ECONNRESET;
    }
    why->text[sizeof why->text - 1] = '\0';
    return bytes == (ssize_t)sizeof *why;
}

/* ---- the server ---- */

static bool is_same_user(int socket)
{
    struct ucred peer = { 0 };
    socklen_t bytes = sizeof peer;

    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid();
}

static void serve(const struct gf_fd_server *server, int connection)
{
    struct gf_fd_request request;
    struct gf_reason why = { "it belongs to another user" };
    int fd = -1;

    limit_waits(connection, SERVE_SECONDS);
    if (recv(connection, &request, sizeof request, 0) != (ssize_t)sizeof request) {
        return;
    }
    if (is_same_user(connection)) {
        why.text[0] = '\0';
        fd = server->give(server->context, &request, &why);
    }
    send_answer(connection, &why, fd);
    if (fd >= 0) {
        close(fd);
    }
}

/* Until the socket is shut down. */
static void *run(void *context)
{
    const struct gf_fd_server *server = context;

    for (;;) {
        int connection = accept4(server->socket, NULL, NULL, SOCK_CLOEXEC);

        if (connection >= 0) {
            serve(server, connection);
            close(connection);
        } else if (errno == EINVAL || errno == EBADF) {
            return NULL;
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
            usleep(1000);          /* until the program has closed some */
        }
    }
}

/* The program's signals are for its own threads. */
static int start_thread(struct gf_fd_server *server)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&server->thread, NULL, run, server);

    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static int listen_as(uint64_t name)
{
    struct sockaddr_un address;
    socklen_t bytes = address_of(name, &address);
    int listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (listening >= 0 && (bind(listening, (const struct sockaddr *)&address, bytes) != 0 || listen(listening, WAITING) != 0)) {
        int error = errno;

        close(listening);
        errno = error;
        return -1;
    }
    return listening;
}

/* The lock is held. */
static gf_status start(struct gf_fd_server *server, struct gf_reason *why)
{
    uint64_t name = 0;

    if (getrandom(&name, sizeof name, 0) != (ssize_t)sizeof name || name == 0) {
        gf_reason_set(why, "getrandom gives no name for a socket");
        return GF_ERR_SYSTEM;
    }
    server->socket = listen_as(name);
    int error = server->socket < 0 ? errno : start_thread(server);

    if (error) {
        gf_reason_set(why, "no Unix socket with a thread that hands out file descriptors (%s)", strerror(error));
        if (server->socket >= 0) {
            close(server->socket);
        }
        return GF_ERR_SYSTEM;
    }
    server->name = name;
    return GF_OK;
}

void gf_fd_server_init(struct gf_fd_server *server, gf_fd_give give, void *context)
{
    *server = (struct gf_fd_server){ .socket = -1, .give = give, .context = context };
    pthread_mutex_init(&server->lock, NULL);
}

gf_status gf_fd_server_start(struct gf_fd_server *server, uint64_t *name, struct gf_reason *why)
{
    pthread_mutex_lock(&server->lock);
    gf_status status = server->name ? GF_OK : start(server, why);

    *name = server->name;
    pthread_mutex_unlock(&server->lock);
    return status;
}

void gf_fd_server_stop(struct gf_fd_server *server)
{
    if (server->name) {
        shutdown(server->socket, SHUT_RDWR);
        pthread_join(server->thread, NULL);
        close(server->socket);
        server->name = 0;
    }
    pthread_mutex_destroy(&server->lock);
}

/* ---- asking ---- */

static bool connect_to(int socket, uint64_t name)
{
    struct sockaddr_un address;
    socklen_t bytes = address_of(name, &address);

    return connect(socket, (const struct sockaddr *)&address, bytes) == 0;
}

static gf_status ask(int socket, uint64_t name, const struct gf_fd_request *request, int *fd, struct gf_reason *why)
{
    struct gf_reason theirs = { "" };

    limit_waits(socket, ASK_SECONDS);
    if (!connect_to(socket, name)) {
        gf_reason_set(why, "the process that shares this memory is not reached by a Unix socket (%s): it has ended, or has a "
                      "network namespace of its own", strerror(errno));
        return GF_ERR_UNSUPPORTED;
    }
    if (send(socket, request, sizeof *request, MSG_NOSIGNAL) != (ssize_t)sizeof *request
        || !receive_answer(socket, &theirs, fd)) {
        gf_reason_set(why, "the process that shares this memory does not hand out its file descriptor (%s)",
                      errno == EAGAIN ? "no answer in time" : strerror(errno));
        return GF_ERR_UNSUPPORTED;
    }
    if (*fd < 0) {
        gf_reason_set(why, "the process that shares this memory does not hand out its file descriptor: %.180s", theirs.text);
        return GF_ERR_UNSUPPORTED;
    }
    return GF_OK;
}

gf_status gf_fd_ask(uint64_t name, const struct gf_fd_request *request, int *fd, struct gf_reason *why)
{
    int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    *fd = -1;
    if (connection < 0) {
        gf_reason_set(why, "no Unix socket could be made (%s)", strerror(errno));
        return GF_ERR_UNSUPPORTED;
    }
    gf_status status = ask(connection, name, request, fd, why);

    close(connection);
    return status;
}
