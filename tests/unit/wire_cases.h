/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of test_wire in files of their own, and what a second thread or process does for them.
 */
#ifndef GF_TESTS_UNIT_WIRE_CASES_H
#define GF_TESTS_UNIT_WIRE_CASES_H

struct gf_wire;
struct wire_thread;

/* The program's first argument in the second process: this, then the wire's name. */
#define WIRE_PEER "peer-"

/* A thread that makes progress on a wire, until it is stopped. */
struct wire_thread *wire_thread_start(struct gf_wire *wire);
void wire_thread_stop(struct wire_thread *thread);

/* The second process: puts everything back. Returns its exit code. */
int wire_peer_run(void);

/* wire_faults.c */
void wire_test_lines_beyond_the_last_break_the_lane(void **state);
void wire_test_a_key_of_nothing_writes_nothing(void **state);
void wire_test_a_put_outside_of_the_range_breaks_the_lane(void **state);
void wire_test_a_lane_that_was_never_connected_is_destroyed(void **state);
void wire_test_an_address_that_was_spoilt_is_refused(void **state);
void wire_test_a_lane_is_destroyed_while_data_come(void **state);

/* wire_processes.c */
void wire_test_two_processes(void **state);
void wire_test_a_killed_peer_breaks_its_lanes_alone(void **state);
void wire_test_a_peer_that_is_killed_while_it_sends(void **state);
void wire_test_a_stopped_peer_does_not_keep_us(void **state);

#endif
