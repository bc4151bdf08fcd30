/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The daemon's options: one table, from which they are parsed, checked and
 * described. See options.h.
 */
#include "batching/daemon/server/options.h"

#include <stdio.h>
#include <string.h>

#include "batching/daemon/server/network.h"

static const warprsa_word engine_words[] = {WARPRSA_ENGINE_WORDS, {NULL, 0}};
static const warprsa_word table_reads_words[] = {
    {"scan", false}, {"direct", true}, {NULL, 0}};
static const warprsa_word yes_words[] = {
    {"yes", true}, {"no", false}, {NULL, 0}};

#define ROW(...) WARPRSA_PARAMETER_ROW(warprsa_options, __VA_ARGS__)
#define ONE(...) +1
static const warprsa_parameter rows[] = {WARPRSA_OPTION_CONFIG,
                                         WARPRSA_EACH_OPTION(ROW)
                                             WARPRSA_EACH_NETWORK_OPTION(ROW)};
enum {
    LOCAL = 1 WARPRSA_EACH_OPTION(ONE),
    ALL = LOCAL WARPRSA_EACH_NETWORK_OPTION(ONE),
};
_Static_assert(sizeof(rows) / sizeof(rows[0]) <= WARPRSA_OPTIONS_MAX,
               "option_table.h has no room for all");

static warprsa_option_table table(void)
{
    return (warprsa_option_table){
        .program = "warprsad",
        .head = "Computes the RSA private operations of many processes on the "
                "GPU: of\n"
                "those whose OpenSSL uses the provider warprsa with mode = "
                "daemon.\n",
        .foot = "SIGHUP reads it again: limits on clients, and other hosts to\n"
                "use, change at once, the rest at the next start. It also "
                "reads the "
                "keys\n"
                "and their rules again. SIGTERM ends the daemon once it has "
                "answered\n"
                "what is under way. warprsa-stat shows what it does.\n",
        .options = rows,
        .count = warprsa_network_get() != NULL ? ALL : LOCAL,
    };
}

/* An option and one that it needs; both are paths or texts, empty: none. */
typedef struct need {
    const char *name, *value, *needed, *needed_value;
} need;

/* Whoever uses other hosts has to say who he is and whom he believes. Without
 * rules nobody may use a key. */
static bool is_complete(const warprsa_options *o, char *why, size_t why_size)
{
    const need needs[] = {
        {"remote_hosts", o->remote_hosts, "tls_certificate",
         o->tls_certificate},
        {"remote_hosts", o->remote_hosts, "tls_key", o->tls_key},
        {"remote_hosts", o->remote_hosts, "tls_ca", o->tls_ca},
        {"keys_directory", o->keys_directory, "keys_rules", o->keys_rules},
        {"keys_passphrase_file", o->keys_passphrase_file, "keys_directory",
         o->keys_directory},
    };

    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
        if (needs[i].value[0] != '\0' && needs[i].needed_value[0] == '\0') {
            snprintf(why, why_size, "%s: needs %s, too", needs[i].name,
                     needs[i].needed);
            return false;
        }
    return true;
}

bool warprsa_options_read(warprsa_options *options, int argc, char **argv,
                          char *why, size_t why_size)
{
    const warprsa_option_table mine = table();

    memset(options, 0, sizeof(*options));
    if (!warprsa_option_table_read(&mine, options, argc, argv, why, why_size))
        return false;
    return options->common.help || options->common.version ||
           is_complete(options, why, why_size);
}

void warprsa_options_help(void)
{
    const warprsa_option_table mine = table();

    warprsa_option_table_help(&mine);
}
