/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The gateway's options; daemon/process/option_table.h says how they are
 * written.
 */
#ifndef WARPRSA_BATCHING_REMOTE_SERVER_GATEWAY_OPTIONS_H
#define WARPRSA_BATCHING_REMOTE_SERVER_GATEWAY_OPTIONS_H

#include "batching/daemon/process/option_table.h"

/* A row each, as parameter.h says. */
/* clang-format off */
#define WARPRSA_EACH_GATEWAY_OPTION(X)                                         \
    X(PATH(108), socket, WARPRSA_SOCKET_DEFAULT, "where warprsad listens")     \
    X(TEXT(272, "ADDRESS:PORT, an IPv6 address in brackets"), listen,          \
      "0.0.0.0:7443", "where hosts of the network may connect")                \
    X(REQUIRED_PATH(256), tls_certificate, "none",                             \
      "this host's certificate, with its chain")                               \
    X(REQUIRED_PATH(256), tls_key, "none", "its private key")                  \
    X(REQUIRED_PATH(256), tls_ca, "none",                                      \
      "those whom other hosts' certificates must come from")                   \
    X(PATH_OR_NONE(256), tls_crl, "none",                                      \
      "certificates revoked: a list of each authority")                        \
    X(REQUIRED_PATH(256), identities, "none",                                  \
      "the map of who may connect, and their limits")                          \
    X(NUMBER(1, WARPRSA_REMOTE_THREADS_MAX), network_threads, "2",             \
      "threads that serve the network")                                        \
    X(NUMBER(1, 65536), network_connections, "256",                            \
      "connections of those in the map")                                       \
    X(NUMBER(0, 2), verbose, "1", "0: errors, 1: hosts, 2: all")
/* clang-format on */

typedef struct warprsa_gateway_options {
    warprsa_common_options common;
    WARPRSA_EACH_GATEWAY_OPTION(WARPRSA_PARAMETER_FIELD)
} warprsa_gateway_options;

/* Reads the command line and the file. False with the reason, in a sentence for
 * the administrator, in why. */
bool warprsa_gateway_options_read(warprsa_gateway_options *options, int argc,
                                  char **argv, char *why, size_t why_size);

/* Prints the options with their defaults on standard output. */
void warprsa_gateway_options_help(void);

#endif
