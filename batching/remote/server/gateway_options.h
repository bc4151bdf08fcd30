/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The gateway's options; daemon/process/option_table.h says how they are
 * written.
 */
#ifndef WARPRSA_BATCHING_REMOTE_SERVER_GATEWAY_OPTIONS_H
#define WARPRSA_BATCHING_REMOTE_SERVER_GATEWAY_OPTIONS_H

#include "batching/daemon/process/option_table.h"

typedef struct warprsa_gateway_options {
    warprsa_common_options common;
    char socket[108]; /* warprsad's */
    char listen[272];
    char tls_certificate[256], tls_key[256], tls_ca[256], tls_crl[256];
    char identities[256];
    unsigned network_threads, network_connections;
    unsigned verbose;
} warprsa_gateway_options;

/* Reads the command line and the file. False with the reason, in a sentence for
 * the administrator, in why. */
bool warprsa_gateway_options_read(warprsa_gateway_options *options, int argc,
                                  char **argv, char *why, size_t why_size);

/* Prints the options with their defaults on standard output. */
void warprsa_gateway_options_help(void);

#endif
