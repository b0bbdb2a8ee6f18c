/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stand-in for a header that opal/mca/timer/base/base.h includes and that Open MPI does not install: the clock functions
 * that libopen-pal exports on Linux.
 */
#ifndef OPAL_MCA_TIMER_LINUX_TIMER_LINUX_H
#define OPAL_MCA_TIMER_LINUX_TIMER_LINUX_H

#include "opal_config.h"
#include "opal/sys/timer.h"

extern opal_timer_t (*opal_timer_base_get_cycles)(void);
extern opal_timer_t (*opal_timer_base_get_usec)(void);
extern opal_timer_t opal_timer_base_get_freq(void);

#define OPAL_TIMER_CYCLE_NATIVE OPAL_HAVE_SYS_TIMER_GET_CYCLES
#define OPAL_TIMER_USEC_NATIVE OPAL_HAVE_SYS_TIMER_GET_CYCLES

#endif
