/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The daemon's options: one table, from which they are parsed, checked and
 * described. See options.h.
 */
#include "batching/daemon/server/options.h"

#include <stdio.h>
#include <string.h>

#include "batching/base/config_value.h"
#include "batching/daemon/process/option_table.h"
#include "batching/daemon/server/network.h"
#include "batching/daemon/server/server.h"
#include "batching/daemon/wire/protocol.h"
#include "batching/queue/engines.h"

static bool parse_cpu_threads(const warprsa_option *option, const char *text,
                              void *field)
{
    return warprsa_config_number_or_auto(text, option->min, option->max,
                                         WARPRSA_CPU_THREADS_AUTO, field);
}

static bool parse_table_reads(const warprsa_option *option, const char *text,
                              void *field)
{
    (void)option;
    *(bool *)field = strcmp(text, "direct") == 0;
    return *(bool *)field || strcmp(text, "scan") == 0;
}

static bool parse_engine(const warprsa_option *option, const char *text,
                         void *field)
{
    (void)option;
    return warprsa_config_word(text, WARPRSA_ENGINE_NAMES, field);
}

static bool parse_devices(const warprsa_option *option, const char *text,
                          void *field)
{
    return warprsa_config_devices(text, option->max, field);
}

#define FIELD(name) offsetof(warprsa_options, name)
#define SIZE(name)  (sizeof(((warprsa_options *)0)->name))
static const warprsa_option rows[] = {
    WARPRSA_OPTION_CONFIG,
    {"socket", warprsa_option_path, WARPRSA_SOCKET_DEFAULT,
     "an absolute path of at most 107 bytes",
     "where to listen, unless systemd passes sockets", FIELD(socket), 0,
     SIZE(socket)},
    {"group", warprsa_option_text, "", "the name of a group",
     "the group that may connect, beside this user", FIELD(group), 0,
     SIZE(group)},
    {"engine", parse_engine, "auto", "auto, cuda, ifma or host",
     "what computes: GPUs, the CPUs' vector units, both; host: for tests",
     FIELD(engine), 0, 0},
    {"devices", parse_devices, "all",
     "all, or device numbers from 0 to 15 separated by commas", "which GPUs",
     FIELD(devices), 0, WARPRSA_DEVICES_MAX - 1},
    {"slots", warprsa_option_number, "65536", "a number from 1 to 65536",
     "requests under way, of all clients together", FIELD(slots), 1, 65536},
    {"streams", warprsa_option_number, "8", "a number from 1 to 32",
     "batches under way per GPU", FIELD(streams), 1, WARPRSA_GPU_STREAMS_MAX},
    {"cpu_threads", parse_cpu_threads, "auto", "auto or a number from 0 to 256",
     "threads that compute on the CPUs; auto: as many as there are CPUs",
     FIELD(cpu_threads), 0, WARPRSA_STREAMS_MAX},
    {"batch_max", warprsa_option_number, "8192", "a number from 1 to 65536",
     "requests in one batch", FIELD(batch_max), 1, 65536},
    {"keys_max", warprsa_option_number, "16384", "a number from 1 to 1000000",
     "keys on one GPU", FIELD(keys_max), 1, 1000000},
    {"deadline_ms", warprsa_option_number, "2000", "a number from 1 to 600000",
     "a request without an answer for so long is refused", FIELD(deadline_ms),
     1, 600000},
    {"calibration_file", warprsa_option_path_or_none, "none",
     "none or an absolute path of at most 255 bytes",
     "keeps the measured speed of kernels on an unknown GPU",
     FIELD(calibration_file), 0, SIZE(calibration_file)},
    {"table_reads", parse_table_reads, "scan", "scan or direct",
     "direct: faster, only for GPUs that nobody else uses",
     FIELD(direct_table_reads), 0, 0},
    {"threads", warprsa_option_number, "4", "a number from 1 to 16",
     "event loops: threads that serve clients", FIELD(threads), 1,
     WARPRSA_EVENT_LOOPS_MAX},
    {"clients", warprsa_option_number, "1024", "a number from 1 to 65536",
     "processes that may be connected", FIELD(clients), 1, 65536},
    {"user_clients", warprsa_option_number, "768", "a number from 1 to 65536",
     "processes of one user that may be connected", FIELD(user_clients), 1,
     65536},
    {"client_slots", warprsa_option_number, "2048", "a number from 1 to 65536",
     "requests under way of one client", FIELD(client_slots), 1,
     WARPRSA_CLIENT_SLOTS_MAX},
    {"client_keys", warprsa_option_number, "4096", "a number from 1 to 65536",
     "keys of one client", FIELD(client_keys), 1, WARPRSA_CLIENT_KEYS_MAX},
    {"client_notifiers", warprsa_option_number, "16384",
     "a number from 1 to 65536",
     "async jobs' wait contexts of one client, a descriptor each",
     FIELD(client_notifiers), 1, WARPRSA_CLIENT_NOTIFIERS_MAX},
    {"gateway_user", warprsa_option_text, WARPRSA_GATEWAY_USER,
     "the name of a user",
     "who may be warprsad-gateway, beside this user; see there",
     FIELD(gateway_user), 0, SIZE(gateway_user)},
    {"verbose", warprsa_option_number, "1", "a number from 0 to 2",
     "0: errors, 1: clients and devices, 2: all", FIELD(verbose), 0, 2},
    {"tls_certificate", warprsa_option_path_or_none, "none",
     "none or an absolute path of at most 255 bytes",
     "this host's certificate, with its chain", FIELD(tls_certificate), 0,
     SIZE(tls_certificate)},
    {"tls_key", warprsa_option_path_or_none, "none",
     "none or an absolute path of at most 255 bytes", "its private key",
     FIELD(tls_key), 0, SIZE(tls_key)},
    {"tls_ca", warprsa_option_path_or_none, "none",
     "none or an absolute path of at most 255 bytes",
     "those whom these hosts' certificates must come from", FIELD(tls_ca), 0,
     SIZE(tls_ca)},
    {"tls_crl", warprsa_option_path_or_none, "none",
     "none or an absolute path of at most 255 bytes",
     "certificates revoked: a list of each authority", FIELD(tls_crl), 0,
     SIZE(tls_crl)},
    {"remote_hosts", warprsa_option_text, "",
     "HOST:PORT, up to 8 of them, separated by blanks",
     "hosts that compute for this one", FIELD(remote_hosts), 0,
     SIZE(remote_hosts)},
    {"verify_remote", warprsa_option_yes, "yes", "yes or no",
     "no: believe their results, for whoever has the same trust in both hosts",
     FIELD(verify_remote), 0, 0},
};

/* The options from tls_certificate on are for the network. */
static unsigned count_of_options(void)
{
    unsigned count = sizeof(rows) / sizeof(rows[0]);

    _Static_assert(sizeof(rows) / sizeof(rows[0]) <= WARPRSA_OPTIONS_MAX,
                   "option_table.h has no room for all");
    if (warprsa_network_get() == NULL)
        while (rows[count - 1].offset >= FIELD(tls_certificate))
            count--;
    return count;
}

static warprsa_option_table table(void)
{
    return (warprsa_option_table){
        .program = "warprsad",
        .head = "Computes the RSA private operations of many processes on the "
                "GPU: of\n"
                "those whose OpenSSL uses the provider warprsa with mode = "
                "daemon.\n",
        .foot = "SIGHUP reads it again: limits on clients, and other hosts to\n"
                "use, change at once, the rest at the next start. SIGTERM ends "
                "the\n"
                "daemon once it has answered what is under way. warprsa-stat "
                "shows what\n"
                "it does.\n",
        .options = rows,
        .count = count_of_options(),
    };
}

/* Whoever uses other hosts has to say who he is and whom he believes. */
static bool is_complete(const warprsa_options *o, char *why, size_t why_size)
{
    const struct {
        const char *name, *value;
    } needs[] = {
        {"tls_certificate", o->tls_certificate},
        {"tls_key", o->tls_key},
        {"tls_ca", o->tls_ca},
    };

    if (o->remote_hosts[0] == '\0')
        return true;
    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
        if (needs[i].value[0] == '\0') {
            snprintf(why, why_size, "remote_hosts: needs %s, too",
                     needs[i].name);
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
