/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The provider's configuration: the parameters of its section in openssl.cnf.
 */
#ifndef WARPRSA_PROVIDER_CONFIG_H
#define WARPRSA_PROVIDER_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

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

typedef struct warprsa_config {
    unsigned mode; /* warprsa_config_mode */
    char socket[WARPRSA_SOCKET_PATH_SIZE];
    unsigned engine;  /* warprsa_engine_choice */
    unsigned route;   /* warprsa_config_route */
    uint32_t devices; /* bit i: use device i */
    unsigned slots;   /* requests submitted and not answered, at most */
    unsigned streams;
    unsigned cpu_threads; /* as in warprsa_engines_wanted */
    unsigned batch_max;
    unsigned keys_max;
    unsigned deadline_ms;
    unsigned startup_ms;
    char calibration_file[WARPRSA_CALIBRATION_PATH_SIZE]; /* empty: none */
    unsigned table_reads; /* warprsa_config_table_reads */
    /* Patterns of paths, separated by commas (left_out.h). */
    char programs_allow[WARPRSA_PROGRAMS_SIZE]; /* empty: all */
    char programs_deny[WARPRSA_PROGRAMS_SIZE];  /* empty: none */
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
