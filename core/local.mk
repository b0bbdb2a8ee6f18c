# SPDX-License-Identifier: BSD-3-Clause
libgfcore_la_SOURCES += \
    core/abort.c core/abort.h \
    core/agent.c core/agent.h core/agent_private.h \
    core/agent_post.c core/agent_run.c \
    core/allreduce.c \
    core/bootstrap.c core/bootstrap.h \
    core/buffer.h \
    core/bulletin.c core/bulletin.h \
    core/call.c \
    core/comm.c core/comm.h core/comm_private.h \
    core/command_ring.c core/command_ring.h \
    core/config.h \
    core/connect.c core/connect.h \
    core/connector.c core/connector.h \
    core/copy_ring.c core/copy_ring.h \
    core/exchange.c core/exchange.h \
    core/execute.c core/execute.h \
    core/exports.c core/exports.h \
    core/familiar.c core/familiar.h \
    core/fault.c core/fault.h \
    core/flat.c core/flat.h \
    core/forced.c core/forced.h \
    core/host_executor.h core/host_ordered.h \
    core/host_wait.c core/host_wait.h \
    core/import_words.c core/import_words.h core/imports.c core/imports.h \
    core/layout.h \
    core/linger.c core/linger.h \
    core/mapped.c core/mapped.h core/mapped_allreduce.c core/mapped_allreduce.h core/mapped_call.c core/mapped_call.h \
    core/message_sizes.c core/message_sizes.h \
    core/offer.h core/offer_board.c core/offer_board.h core/offer_entries.h core/offer_move.c \
    core/one_shot.c core/one_shot.h \
    core/pack_plan.c core/pack_plan.h \
    core/peers.c core/peers.h \
    core/pipe.c core/pipe.h core/pipe_memory.h core/pipe_sink.c core/pipe_source.c \
    core/played.c core/played.h \
    core/plan.c core/plan.h \
    core/pull.c core/pull.h core/pull_engine.h core/pull_agent.c core/pull_attached.c core/pull_flight.c core/pull_plan.c \
    core/pull_plan.h \
    core/pull_rescue.c \
    core/reduction.c core/reduction.h \
    core/registry.c core/registry.h core/registry_places.c core/registry_places.h \
    core/rests.c core/rests.h \
    core/ring.c core/ring.h \
    core/segment.c core/segment.h \
    core/tuner.c core/tuner.h \
    core/tuning.c core/tuning.h core/tuning_default.c core/tuning_read.c \
    core/watch.c core/watch.h
# proxy/host_reduce.c must give the same bits as the kernels, which are built without fused multiply-add.
libgfcore_la_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
