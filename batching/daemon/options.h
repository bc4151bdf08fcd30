/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The daemon's options, on the command line and in the file that --config
 * names: "--client-slots 64" is "client_slots = 64" in the file. The command
 * line takes precedence. Both come from the administrator, and mistakes are
 * reported; no client has a part in them.
 */
#ifndef WARPRSA_BATCHING_DAEMON_OPTIONS_H
#define WARPRSA_BATCHING_DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct warprsa_options {
    char config[256];
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
    unsigned verbose;
    bool help, version;
    /* From here on: of warprsad-remote alone. */
    char listen[272]; /* empty: it does not */
    char tls_certificate[256], tls_key[256], tls_ca[256], identities[256];
    char tls_hosts_ca[256], tls_crl[256];
    unsigned network_threads, network_connections;
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
