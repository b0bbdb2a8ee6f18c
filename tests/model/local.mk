# SPDX-License-Identifier: BSD-3-Clause
#
# Spin models of the protocols. They look at no build, so once is enough.
if !GF_SANITIZE
TESTS += tests/model/run_models.sh
endif
dist_check_SCRIPTS += tests/model/run_models.sh
EXTRA_DIST += tests/model/agent.pml tests/model/agent_post.pml tests/model/agent_relay.pml tests/model/agree.pml \
    tests/model/carrier.pml tests/model/census.pml tests/model/copy_double.pml tests/model/copy_tail.pml \
	tests/model/fifo.pml tests/model/fifo_direct.pml \
	tests/model/fifo_pull.pml tests/model/ll_one_shot.pml tests/model/ll128.pml tests/model/ll_wrap.pml \
	tests/model/offer.pml \
	tests/model/pipe.pml tests/model/pull_gate.pml
EXTRA_DIST += tests/model/agree_nodes.pml tests/model/net.pml tests/model/net_group.pml tests/model/net_loan.pml \
    tests/model/net_pairs.pml tests/model/net_rounds.pml \
    tests/model/registry.pml tests/model/registry_leave.pml tests/model/turns.pml tests/model/two_shot.pml
