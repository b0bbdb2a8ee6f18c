# SPDX-License-Identifier: BSD-3-Clause
libgfcore_la_SOURCES += core/bootstrap.h core/comm.h core/config.h core/connector.h core/host_executor.h core/plan.h core/segment.h
