/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of wires that need a second thread or process; and what that one does.
 */
#ifndef GF_TESTS_UNIT_WIRE_PROCESSES_H
#define GF_TESTS_UNIT_WIRE_PROCESSES_H

struct gf_wire;
struct wire_thread;

/* The program's first argument in the second process: this, then the wire's name. */
#define WIRE_PEER "peer-"

/* A thread that makes progress on a wire, until it is stopped. */
struct wire_thread *wire_thread_start(struct gf_wire *wire);
void wire_thread_stop(struct wire_thread *thread);

/* The second process: puts everything back. Returns its exit code. */
int wire_peer_run(void);

void wire_test_two_processes(void **state);
void wire_test_a_killed_peer_breaks_its_lanes_alone(void **state);
void wire_test_a_stopped_peer_does_not_keep_us(void **state);

#endif
