/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The gateway's options; see gateway_options.h.
 */
#include "batching/remote/server/gateway_options.h"

#include <string.h>

#include "batching/daemon/wire/protocol.h"
#include "batching/remote/server/remote_server.h"

#define ROW(...) WARPRSA_PARAMETER_ROW(warprsa_gateway_options, __VA_ARGS__)
static const warprsa_parameter rows[] = {WARPRSA_OPTION_CONFIG,
                                         WARPRSA_EACH_GATEWAY_OPTION(ROW)};

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

bool warprsa_gateway_options_read(warprsa_gateway_options *options, int argc,
                                  char **argv, char *why, size_t why_size)
{
    memset(options, 0, sizeof(*options));
    return warprsa_option_table_read(&table, options, argc, argv, why,
                                     why_size);
}

void warprsa_gateway_options_help(void)
{
    warprsa_option_table_help(&table);
}
