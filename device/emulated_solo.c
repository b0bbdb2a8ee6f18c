/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Taking turns with other processes: the turn is a name in the abstract socket space, which the kernel gives to one only and
 * takes back from the dead.
 */
#include "config.h"

#include "device/emulated_solo.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WAIT_US = 50 };

void gf_solo_init(struct gf_solo *solo, bool on, int gpu)
{
    *solo = (struct gf_solo){.on = on, .name.sun_family = AF_UNIX, .turn = -1};
    pthread_mutex_init(&solo->lock, NULL);
    /* A leading null byte makes the name abstract. */
    snprintf(solo->name.sun_path + 1, sizeof solo->name.sun_path - 1, "gpufifo-solo-%u-%d-%d", (unsigned)getuid(), (int)getsid(0),
             gpu);
}

void gf_solo_clear(struct gf_solo *solo)
{
    pthread_mutex_destroy(&solo->lock);
}

/* The turn, or -1 if another process has it. */
static int try_turn(const struct gf_solo *solo)
{
    int turn = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (turn >= 0 && bind(turn, (const struct sockaddr *)&solo->name, sizeof solo->name) != 0) {
        close(turn);
        turn = -1;
    }
    return turn;
}

void gf_solo_enter(struct gf_solo *solo)
{
    if (!solo->on) {
        return;
    }
    pthread_mutex_lock(&solo->lock);
    while (solo->running == 0 && solo->turn < 0 && (solo->turn = try_turn(solo)) < 0) {
        usleep(WAIT_US);
    }
    solo->running++;
    pthread_mutex_unlock(&solo->lock);
}

void gf_solo_leave(struct gf_solo *solo)
{
    if (!solo->on) {
        return;
    }
    pthread_mutex_lock(&solo->lock);
    if (--solo->running == 0) {
        close(solo->turn);
        solo->turn = -1;
    }
    pthread_mutex_unlock(&solo->lock);
}
