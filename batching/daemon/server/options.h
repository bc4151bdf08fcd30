/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The daemon's options; see option_table.h for how they are written.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_OPTIONS_H
#define WARPRSA_BATCHING_DAEMON_SERVER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batching/daemon/process/option_table.h"

#define WARPRSA_GATEWAY_USER "warprsa-gateway" /* the default */

typedef struct warprsa_options {
    warprsa_common_options common;
    char socket[108];
    char group[64];
    unsigned engine;  /* warprsa_engine_choice, but for NONE */
    uint32_t devices; /* a bit for each */
    unsigned slots, streams, batch_max, keys_max, deadline_ms;
    unsigned cpu_threads;       /* as in warprsa_engines_wanted */
    char calibration_file[256]; /* empty: none */
    bool direct_table_reads;
    unsigned threads;
    unsigned clients, user_clients, client_slots, client_keys, client_notifiers;
    char gateway_user[64];
    unsigned verbose;
    /* From here on: for warprsad-remote alone. */
    char tls_certificate[256], tls_key[256], tls_ca[256], tls_crl[256];
    char remote_hosts[1024]; /* empty: none */
    bool verify_remote;
} warprsa_options;

/* Reads the command line and the file. False with the reason, in a sentence for
 * the administrator, in why. */
bool warprsa_options_read(warprsa_options *options, int argc, char **argv,
                          char *why, size_t why_size);

/* Prints the options with their defaults on standard output. */
void warprsa_options_help(void);

#endif
