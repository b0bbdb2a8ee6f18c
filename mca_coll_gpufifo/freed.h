/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When this process looks what it has freed of what others have mapped, to tell them, or of what the network knows, to take it
 * back, and what others have freed that it has mapped, to close it: about every 10 ms that it is in MPI, in every eighth turn of
 * progress and with each call that runs natively. Freed memory is back when both have looked.
 */
#ifndef GF_MCA_FREED_H
#define GF_MCA_FREED_H

/* From now on there is something to look at. Any thread; the component's lock is held. */
void gf_freed_watch(void);

/* No more. */
void gf_freed_unwatch(void);

/* Looks, if it is time: else a look at the clock. Any thread. */
void gf_freed_look(void);

#endif
