/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The gateway's options; see gateway_options.h.
 */
#include "batching/remote/server/gateway_options.h"

#include <stdio.h>
#include <string.h>

#include "batching/daemon/wire/protocol.h"
#include "batching/remote/server/remote_server.h"

#define FIELD(name) offsetof(warprsa_gateway_options, name)
#define SIZE(name)  (sizeof(((warprsa_gateway_options *)0)->name))
#define PATH        "an absolute path of at most 255 bytes"

static const warprsa_option rows[] = {
    WARPRSA_OPTION_CONFIG,
    {"socket", warprsa_option_path, WARPRSA_SOCKET_DEFAULT,
     "an absolute path of at most 107 bytes", "where warprsad listens",
     FIELD(socket), 0, SIZE(socket)},
    {"listen", warprsa_option_text, "0.0.0.0:7443",
     "ADDRESS:PORT, an IPv6 address in brackets",
     "where hosts of the network may connect", FIELD(listen), 0, SIZE(listen)},
    {"tls_certificate", warprsa_option_path_or_none, "none", PATH,
     "this host's certificate, with its chain", FIELD(tls_certificate), 0,
     SIZE(tls_certificate)},
    {"tls_key", warprsa_option_path_or_none, "none", PATH, "its private key",
     FIELD(tls_key), 0, SIZE(tls_key)},
    {"tls_ca", warprsa_option_path_or_none, "none", PATH,
     "those whom other hosts' certificates must come from", FIELD(tls_ca), 0,
     SIZE(tls_ca)},
    {"tls_crl", warprsa_option_path_or_none, "none", "none or " PATH,
     "certificates revoked: a list of each authority", FIELD(tls_crl), 0,
     SIZE(tls_crl)},
    {"identities", warprsa_option_path_or_none, "none", PATH,
     "the map of who may connect, and their limits", FIELD(identities), 0,
     SIZE(identities)},
    {"network_threads", warprsa_option_number, "2", "a number from 1 to 16",
     "threads that serve the network", FIELD(network_threads), 1,
     WARPRSA_REMOTE_THREADS_MAX},
    {"network_connections", warprsa_option_number, "256",
     "a number from 1 to 65536", "connections of those in the map",
     FIELD(network_connections), 1, 65536},
    {"verbose", warprsa_option_number, "1", "a number from 0 to 2",
     "0: errors, 1: hosts, 2: all", FIELD(verbose), 0, 2},
};

static const warprsa_option_table table = {
    .program = "warprsad-gateway",
    .head = "Lets hosts of the network have their RSA private operations "
            "computed by\n"
            "the warprsad of this one. It is a client of warprsad, and has no "
            "device.\n",
    .foot = "SIGHUP reads certificates and the map again. SIGTERM ends the\n"
            "gateway once what is under way is answered. See warprsad-remote "
            "for the\n"
            "other side.\n",
    .options = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
};

/* A gateway needs a certificate, an authority for its peers and a map of
 * identities. */
static bool is_complete(const warprsa_gateway_options *o, char *why,
                        size_t why_size)
{
    const struct {
        const char *name, *value;
    } needs[] = {
        {"tls_certificate", o->tls_certificate},
        {"tls_key", o->tls_key},
        {"tls_ca", o->tls_ca},
        {"identities", o->identities},
    };

    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
        if (needs[i].value[0] == '\0') {
            snprintf(why, why_size, "%s is not set: expected " PATH,
                     needs[i].name);
            return false;
        }
    return true;
}

bool warprsa_gateway_options_read(warprsa_gateway_options *options, int argc,
                                  char **argv, char *why, size_t why_size)
{
    memset(options, 0, sizeof(*options));
    if (!warprsa_option_table_read(&table, options, argc, argv, why, why_size))
        return false;
    return options->common.help || options->common.version ||
           is_complete(options, why, why_size);
}

void warprsa_gateway_options_help(void)
{
    warprsa_option_table_help(&table);
}
