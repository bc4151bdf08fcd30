/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The provider's configuration: the parameters of its section in openssl.cnf.
 */
#ifndef WARPRSA_PROVIDER_CONFIG_H
#define WARPRSA_PROVIDER_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "batching/base/parameter.h"
#include "batching/daemon/client/control_connection.h"
#include "batching/queue/engines.h"
#include "provider/core.h"
#include "provider/trace.h"

typedef enum warprsa_config_mode {
    WARPRSA_MODE_PROCESS, /* devices that the process opens for itself */
    WARPRSA_MODE_DAEMON,  /* devices of the daemon */
} warprsa_config_mode;

typedef enum warprsa_config_route {
    WARPRSA_ROUTE_AUTO,
    WARPRSA_ROUTE_GPU,
    WARPRSA_ROUTE_CPU,
} warprsa_config_route;

typedef enum warprsa_config_table_reads {
    WARPRSA_TABLE_READS_SCAN,
    WARPRSA_TABLE_READS_DIRECT,
} warprsa_config_table_reads;

enum {
    WARPRSA_CALIBRATION_PATH_SIZE = 256,
    WARPRSA_PROGRAMS_SIZE = 1024,
};

/* A row each, as parameter.h says. */
/* clang-format off */
#define WARPRSA_EACH_PARAMETER(X)                                              \
    X(ONE_OF(mode_words), mode, "process",                                     \
      "who has the GPU: each process for itself, or warprsad for all")         \
    X(PATH(WARPRSA_SOCKET_PATH_SIZE), socket, WARPRSA_SOCKET_DEFAULT,          \
      "where warprsad listens")                                                \
    X(ONE_OF(engine_words), engine, "auto", "what computes")                   \
    X(ONE_OF(route_words), route, "auto", "where operations go")               \
    X(DEVICES(WARPRSA_DEVICES_MAX - 1), devices, "all",                        \
      "which GPUs, such as 0,2")                                               \
    X(NUMBER(1, 65536), slots, "16384",                                        \
      "operations in flight at most; the CPU computes what comes beyond")      \
    X(NUMBER(1, WARPRSA_GPU_STREAMS_MAX), streams, "24",                       \
      "batches under way at once on one GPU")                                  \
    X(AUTO_NUMBER(0, WARPRSA_STREAMS_MAX), cpu_threads, "auto",                \
      "threads of a process that compute with ifma")                           \
    X(AUTO_NUMBER(1, 65536), batch_max, "auto",                                \
      "operations in one batch on a GPU at most")                              \
    X(NUMBER(1, 1000000), keys_max, "4096",                                    \
      "keys on one GPU at most; another takes the place of the one that was"   \
      " used longest ago")                                                     \
    X(NUMBER(1, 600000), deadline_ms, "2000",                                  \
      "an operation that has no answer after so many milliseconds is computed" \
      " by the CPU")                                                           \
    X(NUMBER(0, 600000), startup_ms, "10000",                                  \
      "for how many milliseconds route = gpu waits for GPUs that are still"    \
      " being opened, counted from the first operation of a process")          \
    X(PATH_OR_NONE(WARPRSA_CALIBRATION_PATH_SIZE), calibration_file, "none",   \
      "keeps the measured speed of kernels on an unknown GPU")                 \
    X(ONE_OF(table_reads_words), table_reads, "scan",                          \
      "direct: faster, only for GPUs that nobody else uses")                   \
    X(PATTERNS(WARPRSA_PROGRAMS_SIZE, "all"), programs_allow, "all",           \
      "which programs use warprsa, as left_out.h says")                        \
    X(PATTERNS(WARPRSA_PROGRAMS_SIZE, "none"), programs_deny, "none",          \
      "which programs do not use it in any case")
/* clang-format on */

/* Words are values of the enumerations above, and of warprsa_engine_choice. */
typedef struct warprsa_config {
    WARPRSA_EACH_PARAMETER(WARPRSA_PARAMETER_FIELD)
} warprsa_config;

/*
 * Reads the parameters that the core has for this provider, takes the default
 * for every other one, and opens core->trace. WARPRSA_TRACE in the environment
 * wins over the parameter `trace`. False, with an error raised that names file,
 * section, key, value and what is allowed. One thread, at load.
 */
bool warprsa_config_read(warprsa_config *config, warprsa_core *core);

/* Opens core->trace alone, for a provider that refuses to load; if that fails,
 * the trace stays off. Calls no function of libcrypto but the core's. One
 * thread, at load. */
void warprsa_config_open_trace(warprsa_core *core);

#endif
