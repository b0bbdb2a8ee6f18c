/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hosts that have gone, where UCX goes by TCP. Of one that has lost its power TCP gives up what it has sent only after a quarter
 * of an hour (net.ipv4.tcp_retries2); keep-alive, which UCX sets, is for connections with nothing under way. So this end looks at
 * the sockets itself: a connection whose peer's kernel answers nothing to what is sent again and again is shut, and UCX tells
 * what it tells of any that broke.
 *
 * A process that is stopped or busy is none of that: its kernel acknowledges what comes, and what asks whether there is room
 * again. That is why it is not TCP_USER_TIMEOUT, which ends a connection whose peer takes nothing, too.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "transport/ucx_private.h"

enum {
    TURNS = 256,                   /* of progress between two looks at the clock */
    LOOK_MS = 500,                 /* between two looks at the sockets */
    SENT_AGAIN = 3,                /* so often at least, without any answer */
    SEEN_MS = 60000                /* of being unanswered: the time-out, which tells it, grows no further than 120 s */
};

/* UCX tells nobody its sockets, but an interface watches its own by an epoll, which is made with the worker. Calls `each` for
 * every one that this process has open. */
static void sets_visit(struct gf_ucx_wire *wire, void (*each)(struct gf_ucx_wire *wire, int set))
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    char path[300], target[40];

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);

        target[length > 0 ? length : 0] = '\0';
        if (strcmp(target, "anon_inode:[eventpoll]") == 0) {
            each(wire, atoi(entry->d_name));
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

static void add_other(struct gf_ucx_wire *wire, int set)
{
    struct gf_ucx_sets *sets = &wire->sets;

    if (sets->others < GF_UCX_SETS) {
        sets->other[sets->others++] = set;
    }
}

static void add_own(struct gf_ucx_wire *wire, int set)
{
    struct gf_ucx_sets *sets = &wire->sets;
    bool other = sets->own_count == GF_UCX_SETS || sets->others == GF_UCX_SETS;

    for (int i = 0; i < sets->others && !other; i++) {
        other = sets->other[i] == set;
    }
    if (!other) {
        sets->own[sets->own_count++] = set;
    }
}

void gf_ucx_silence_begin(struct gf_ucx_wire *wire)
{
    sets_visit(wire, add_other);
}

void gf_ucx_silence_worker_made(struct gf_ucx_wire *wire)
{
    sets_visit(wire, add_own);
}

/* For how long, at least, what is under way has been unanswered: the time-out has doubled with each of at least SENT_AGAIN
 * sendings, which took 7/8 of it together. The time before, in which nothing was sent, is no silence. */
static bool is_unanswered(const struct tcp_info *info, uint32_t silence_ms)
{
    uint32_t timeout_ms = info->tcpi_rto / 1000, at_least_ms = timeout_ms - timeout_ms / 8 + info->tcpi_last_data_sent;

    return info->tcpi_unacked > 0 && info->tcpi_retransmits >= SENT_AGAIN &&
           at_least_ms >= (silence_ms < SEEN_MS ? silence_ms : SEEN_MS);
}

bool gf_ucx_socket_is_silent(int descriptor, int silence_ms)
{
    struct tcp_info info;
    socklen_t bytes = sizeof info;

    memset(&info, 0, sizeof info);
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 || info.tcpi_state != TCP_ESTABLISHED) {
        return false;
    }
    /* With something under way it is sent again; where the peer has had no room, it is asked again. An answer, whatever it says,
     * begins both counts anew. */
    return info.tcpi_last_ack_recv >= (uint32_t)silence_ms &&
           (is_unanswered(&info, (uint32_t)silence_ms) || info.tcpi_probes >= SENT_AGAIN);
}

static void peer_name(int descriptor, char *text, size_t room)
{
    struct sockaddr_storage peer;
    socklen_t bytes = sizeof peer;
    const void *address = &((struct sockaddr_in *)&peer)->sin_addr;

    snprintf(text, room, "a host");
    if (getpeername(descriptor, (struct sockaddr *)&peer, &bytes) == 0) {
        if (peer.ss_family == AF_INET6) {
            address = &((struct sockaddr_in6 *)&peer)->sin6_addr;
        }
        inet_ntop(peer.ss_family, address, text, (socklen_t)room);
    }
}

/* Of all that a set watches. */
static void set_look(struct gf_ucx_wire *wire, int set)
{
    char line[200], path[40], name[INET6_ADDRSTRLEN];
    int descriptor;

    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", set);
    FILE *file = fopen(path, "r");

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "tfd: %d", &descriptor) == 1 && gf_ucx_socket_is_silent(descriptor, wire->silence_ms)) {
            peer_name(descriptor, name, sizeof name);
            gf_log(wire->log, GF_LOG_WARN, "%s: %s has acknowledged nothing for %d s, and is given up", wire->base.name, name,
                   wire->silence_ms / 1000);
            shutdown(descriptor, SHUT_RDWR);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

void gf_ucx_silence_look(struct gf_ucx_wire *wire)
{
    struct timespec now;

    if (wire->silence_ms == 0 || ++wire->turns % TURNS != 0) {
        return;
    }
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    int64_t ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;

    if (ms - wire->looked_ms >= LOOK_MS) {
        wire->looked_ms = ms;
        for (int i = 0; i < wire->sets.own_count; i++) {
            set_look(wire, wire->sets.own[i]);
        }
    }
}
