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
#include "batching/daemon/server/server_config.h"
#include "batching/daemon/wire/protocol.h"
#include "batching/queue/engines.h"

#define WARPRSA_GATEWAY_USER "warprsa-gateway" /* the default */

/* A row each, as parameter.h says. */
/* clang-format off */
#define WARPRSA_EACH_OPTION(X)                                                 \
    X(PATH(108), socket, WARPRSA_SOCKET_DEFAULT,                               \
      "where to listen, unless systemd passes sockets")                        \
    X(TEXT(64, "the name of a group"), group, "",                              \
      "the group that may connect, beside this user")                          \
    X(CHOICE(engine_words), engine, "auto",                                    \
      "what computes: GPUs, the CPUs' vector units, both; host: for tests")    \
    X(DEVICES(WARPRSA_DEVICES_MAX - 1), devices, "all", "which GPUs")          \
    X(NUMBER(1, 65536), slots, "65536",                                        \
      "requests under way, of all clients together")                           \
    X(NUMBER(1, WARPRSA_GPU_STREAMS_MAX), streams, "24",                       \
      "batches under way per GPU")                                             \
    X(AUTO_NUMBER(0, WARPRSA_STREAMS_MAX), cpu_threads, "auto",                \
      "threads that compute on the CPUs; auto: as many as there are CPUs")     \
    X(AUTO_NUMBER(1, 65536), batch_max, "auto",                                \
      "requests in one batch; auto: up to 8192, fewer with more streams")      \
    X(NUMBER(1, 1000000), keys_max, "16384", "keys on one GPU")                \
    X(NUMBER(1, 600000), deadline_ms, "2000",                                  \
      "a request without an answer for so long is refused")                    \
    X(PATH_OR_NONE(256), calibration_file, "none",                             \
      "keeps the measured speed of kernels on an unknown GPU")                 \
    X(CHOICE(table_reads_words), table_reads, "scan",                          \
      "direct: faster, only for GPUs that nobody else uses")                   \
    X(NUMBER(1, WARPRSA_EVENT_LOOPS_MAX), threads, "4",                        \
      "event loops: threads that serve clients")                               \
    X(NUMBER(1, 65536), clients, "1024", "processes that may be connected")    \
    X(NUMBER(1, 65536), user_clients, "768",                                   \
      "processes of one user that may be connected")                           \
    X(NUMBER(1, WARPRSA_CLIENT_SLOTS_MAX), client_slots, "2048",               \
      "requests under way of one client")                                      \
    X(NUMBER(1, WARPRSA_CLIENT_KEYS_MAX), client_keys, "4096",                 \
      "keys of one client")                                                    \
    X(NUMBER(1, WARPRSA_CLIENT_NOTIFIERS_MAX), client_notifiers, "16384",      \
      "async jobs' wait contexts of one client, a descriptor each")            \
    X(PATH_OR_NONE(256), keys_directory, "none",                               \
      "private keys that this daemon itself holds, NAME.pem each")             \
    X(PATH_OR_NONE(256), keys_rules, "none",                                   \
      "who may use these keys, and for what")                                  \
    X(PATH_OR_NONE(256), keys_passphrase_file, "none",                         \
      "the passphrase of those that are encrypted")                            \
    X(TEXT(64, "the name of a user"), gateway_user, WARPRSA_GATEWAY_USER,      \
      "who may be warprsad-gateway, beside this user; see there")              \
    X(NUMBER(0, 2), verbose, "1", "0: errors, 1: clients and devices, 2: all")

/* Options of warprsad-remote alone. */
#define WARPRSA_EACH_NETWORK_OPTION(X)                                         \
    X(PATH_OR_NONE(256), tls_certificate, "none",                              \
      "this host's certificate, with its chain")                               \
    X(PATH_OR_NONE(256), tls_key, "none", "its private key")                   \
    X(PATH_OR_NONE(256), tls_ca, "none",                                       \
      "those whom these hosts' certificates must come from")                   \
    X(PATH_OR_NONE(256), tls_crl, "none",                                      \
      "certificates revoked: a list of each authority")                        \
    X(TEXT(1024, "HOST:PORT, up to 8 of them, separated by blanks"),           \
      remote_hosts, "", "hosts that compute for this one")                     \
    X(CHOICE(yes_words), verify_remote, "yes",                                 \
      "no: believe their results, for whoever has the same trust in both hosts")
/* clang-format on */

/* Empty paths: none. */
typedef struct warprsa_options {
    warprsa_common_options common;
    WARPRSA_EACH_OPTION(WARPRSA_PARAMETER_FIELD)
    WARPRSA_EACH_NETWORK_OPTION(WARPRSA_PARAMETER_FIELD)
} warprsa_options;

/* Reads the command line and the file. False with the reason, in a sentence for
 * the administrator, in why. */
bool warprsa_options_read(warprsa_options *options, int argc, char **argv,
                          char *why, size_t why_size);

/* Prints the options with their defaults on standard output. */
void warprsa_options_help(void);

#endif
