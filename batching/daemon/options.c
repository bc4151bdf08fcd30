/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The daemon's options: one table, from which they are parsed, checked and
 * described. See options.h.
 */
#include "batching/daemon/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "batching/base/config_value.h"
#include "batching/daemon/network.h"
#include "batching/daemon/server.h"
#include "batching/engines.h"
#include "batching/ipc/protocol.h"

/* One option. `parse` puts a text's value into the field at `offset`; false:
 * the text is not allowed. */
typedef struct option_row {
    const char *name; /* as in the file, with underscores */
    bool (*parse)(const struct option_row *row, const char *text, void *field);
    const char *initial;
    const char *allowed;
    const char *help;
    size_t offset;
    unsigned min, max; /* of numbers; max: size of texts */
} option_row;

static bool parse_number(const option_row *row, const char *text, void *field)
{
    return warprsa_config_number(text, row->min, row->max, field);
}

static bool parse_cpu_threads(const option_row *row, const char *text,
                              void *field)
{
    return warprsa_config_number_or_auto(text, row->min, row->max,
                                         WARPRSA_CPU_THREADS_AUTO, field);
}

static bool parse_text(const option_row *row, const char *text, void *field)
{
    if (strlen(text) >= row->max)
        return false;
    strcpy(field, text);
    return true;
}

static bool parse_path(const option_row *row, const char *text, void *field)
{
    return text[0] == '/' && parse_text(row, text, field);
}

/* "none" becomes an empty text. */
static bool parse_path_or_none(const option_row *row, const char *text,
                               void *field)
{
    return parse_path(row, text, field) ||
           (strcmp(text, "none") == 0 && parse_text(row, "", field));
}

static bool parse_table_reads(const option_row *row, const char *text,
                              void *field)
{
    (void)row;
    *(bool *)field = strcmp(text, "direct") == 0;
    return *(bool *)field || strcmp(text, "scan") == 0;
}

static bool parse_yes(const option_row *row, const char *text, void *field)
{
    (void)row;
    *(bool *)field = strcmp(text, "yes") == 0;
    return *(bool *)field || strcmp(text, "no") == 0;
}

static bool parse_engine(const option_row *row, const char *text, void *field)
{
    (void)row;
    return warprsa_config_word(text, WARPRSA_ENGINE_NAMES, field);
}

static bool parse_devices(const option_row *row, const char *text, void *field)
{
    return warprsa_config_devices(text, row->max, field);
}

#define FIELD(name) offsetof(warprsa_options, name)
#define SIZE(name)  (sizeof(((warprsa_options *)0)->name))
static const option_row rows[] = {
    {"config", parse_text, "", "a file name", "more options", FIELD(config), 0,
     SIZE(config)},
    {"socket", parse_path, WARPRSA_SOCKET_DEFAULT,
     "an absolute path of at most 107 bytes",
     "where to listen, unless systemd passes sockets", FIELD(socket), 0,
     SIZE(socket)},
    {"group", parse_text, "", "the name of a group",
     "the group that may connect, beside this user", FIELD(group), 0,
     SIZE(group)},
    {"engine", parse_engine, "auto", "auto, cuda, ifma or host",
     "what computes: GPUs, the CPUs' vector units, both; host: for tests",
     FIELD(engine), 0, 0},
    {"devices", parse_devices, "all",
     "all, or device numbers from 0 to 15 separated by commas", "which GPUs",
     FIELD(devices), 0, WARPRSA_DEVICES_MAX - 1},
    {"slots", parse_number, "65536", "a number from 1 to 65536",
     "requests under way, of all clients together", FIELD(slots), 1, 65536},
    {"streams", parse_number, "8", "a number from 1 to 32",
     "batches under way per GPU", FIELD(streams), 1, WARPRSA_GPU_STREAMS_MAX},
    {"cpu_threads", parse_cpu_threads, "auto", "auto or a number from 0 to 256",
     "threads that compute on the CPUs; auto: as many as there are CPUs",
     FIELD(cpu_threads), 0, WARPRSA_STREAMS_MAX},
    {"batch_max", parse_number, "8192", "a number from 1 to 65536",
     "requests in one batch", FIELD(batch_max), 1, 65536},
    {"keys_max", parse_number, "16384", "a number from 1 to 1000000",
     "keys on one GPU", FIELD(keys_max), 1, 1000000},
    {"deadline_ms", parse_number, "2000", "a number from 1 to 600000",
     "a request without an answer for so long is refused", FIELD(deadline_ms),
     1, 600000},
    {"calibration_file", parse_path_or_none, "none",
     "none or an absolute path of at most 255 bytes",
     "keeps the measured speed of kernels on an unknown GPU",
     FIELD(calibration_file), 0, SIZE(calibration_file)},
    {"table_reads", parse_table_reads, "scan", "scan or direct",
     "direct: faster, only for GPUs that nobody else uses",
     FIELD(direct_table_reads), 0, 0},
    {"threads", parse_number, "4", "a number from 1 to 16",
     "event loops: threads that serve clients", FIELD(threads), 1,
     WARPRSA_EVENT_LOOPS_MAX},
    {"clients", parse_number, "1024", "a number from 1 to 65536",
     "processes that may be connected", FIELD(clients), 1, 65536},
    {"user_clients", parse_number, "768", "a number from 1 to 65536",
     "processes of one user that may be connected", FIELD(user_clients), 1,
     65536},
    {"client_slots", parse_number, "2048", "a number from 1 to 65536",
     "requests under way of one client", FIELD(client_slots), 1,
     WARPRSA_CLIENT_SLOTS_MAX},
    {"client_keys", parse_number, "4096", "a number from 1 to 65536",
     "keys of one client", FIELD(client_keys), 1, WARPRSA_CLIENT_KEYS_MAX},
    {"client_notifiers", parse_number, "16384", "a number from 1 to 65536",
     "async jobs' wait contexts of one client, a descriptor each",
     FIELD(client_notifiers), 1, WARPRSA_CLIENT_NOTIFIERS_MAX},
    {"listen", parse_text, "", "ADDRESS:PORT, an IPv6 address in brackets",
     "where hosts of the network may connect", FIELD(listen), 0, SIZE(listen)},
    {"tls_certificate", parse_path_or_none, "none",
     "none or an absolute path of at most 255 bytes",
     "this host's certificate, with its chain", FIELD(tls_certificate), 0,
     SIZE(tls_certificate)},
    {"tls_key", parse_path_or_none, "none",
     "none or an absolute path of at most 255 bytes", "its private key",
     FIELD(tls_key), 0, SIZE(tls_key)},
    {"tls_ca", parse_path_or_none, "none",
     "none or an absolute path of at most 255 bytes",
     "those whom other hosts' certificates must come from", FIELD(tls_ca), 0,
     SIZE(tls_ca)},
    {"tls_hosts_ca", parse_path_or_none, "none",
     "none or an absolute path of at most 255 bytes",
     "those of the hosts that compute for this one; none: tls_ca",
     FIELD(tls_hosts_ca), 0, SIZE(tls_hosts_ca)},
    {"tls_crl", parse_path_or_none, "none",
     "none or an absolute path of at most 255 bytes",
     "certificates revoked: a list of each authority", FIELD(tls_crl), 0,
     SIZE(tls_crl)},
    {"identities", parse_path_or_none, "none",
     "none or an absolute path of at most 255 bytes",
     "the map of who may connect, and their limits", FIELD(identities), 0,
     SIZE(identities)},
    {"network_threads", parse_number, "2", "a number from 1 to 16",
     "threads that serve the network", FIELD(network_threads), 1, 16},
    {"network_connections", parse_number, "256", "a number from 1 to 65536",
     "connections of those in the map", FIELD(network_connections), 1, 65536},
    {"remote_hosts", parse_text, "",
     "HOST:PORT, up to 8 of them, separated by blanks",
     "hosts that compute for this one", FIELD(remote_hosts), 0,
     SIZE(remote_hosts)},
    {"verify_remote", parse_yes, "yes", "yes or no",
     "no: believe their results, for whoever has the same trust in both hosts",
     FIELD(verify_remote), 0, 0},
    {"verbose", parse_number, "1", "a number from 0 to 2",
     "0: errors, 1: clients and devices, 2: all", FIELD(verbose), 0, 2},
};
enum {
    ROWS = sizeof(rows) / sizeof(rows[0]),
    HELP = ROWS,
    VERSION,
};

/* Whether this program has the option: the fields from `listen` on are for the
 * network. */
static bool is_offered(const option_row *row)
{
    return row->offset < FIELD(listen) || warprsa_network_get() != NULL;
}

static bool set(warprsa_options *options, const option_row *row,
                const char *text, const char *where, char *why, size_t why_size)
{
    if (row->parse(row, text, (char *)options + row->offset))
        return true;
    snprintf(why, why_size, "%s: %s = %s: expected %s", where, row->name, text,
             row->allowed);
    return false;
}

static char *trim(char *text)
{
    char *end;

    text += strspn(text, " \t\r\n");
    end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1]))
        *--end = '\0';
    return text;
}

static bool set_line(warprsa_options *options, char *line, const char *where,
                     char *why, size_t why_size)
{
    char *equals = strchr(line, '=');
    char *name = trim(line);

    if (name[0] == '\0' || name[0] == '#')
        return true;
    if (equals != NULL) {
        *equals = '\0';
        name = trim(line);
        for (int i = 0; i < ROWS; i++)
            if (strcmp(name, rows[i].name) == 0 && is_offered(&rows[i]))
                return set(options, &rows[i], trim(equals + 1), where, why,
                           why_size);
    }
    snprintf(why, why_size,
             "%s: %s: expected \"name = value\" with a name that --help "
             "lists, with underscores",
             where, name);
    return false;
}

static bool read_file(warprsa_options *options, const char *path, char *why,
                      size_t why_size)
{
    FILE *file = fopen(path, "re");
    char line[1024], where[300];
    unsigned number = 0;
    bool ok = true;

    if (file == NULL) {
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
        return false;
    }
    while (ok && fgets(line, sizeof(line), file) != NULL) {
        snprintf(where, sizeof(where), "%s:%u", path, ++number);
        ok = strchr(line, '\n') != NULL || feof(file);
        if (ok)
            ok = set_line(options, line, where, why, why_size);
        else
            snprintf(why, why_size,
                     "%s: expected a line of less than %zu bytes", where,
                     sizeof(line) - 1);
    }
    if (ok && ferror(file)) {
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
        ok = false;
    }
    fclose(file);
    return ok;
}

/* An option's name on the command line: dashes for underscores. */
static void dashed(const char *name, char text[32])
{
    snprintf(text, 32, "%s", name);
    for (char *c = text; *c != '\0'; c++)
        if (*c == '_')
            *c = '-';
}

static bool read_line(warprsa_options *options, int argc, char **argv,
                      char *why, size_t why_size)
{
    char names[ROWS][32];
    struct option wanted[ROWS + 3] = {0};
    int found, count = 0;

    for (int i = 0; i < ROWS; i++) {
        dashed(rows[i].name, names[i]);
        if (is_offered(&rows[i]))
            wanted[count++] =
                (struct option){names[i], required_argument, NULL, i};
    }
    wanted[count++] = (struct option){"help", no_argument, NULL, HELP};
    wanted[count] = (struct option){"version", no_argument, NULL, VERSION};
    optind = 0;
    while ((found = getopt_long(argc, argv, "", wanted, NULL)) != -1) {
        if (found == HELP)
            options->help = true;
        else if (found == VERSION)
            options->version = true;
        else if (found < 0 || found >= ROWS) {
            snprintf(why, why_size, "see warprsad --help");
            return false;
        } else if (!set(options, &rows[found], optarg, "command line", why,
                        why_size))
            return false;
    }
    if (optind < argc) {
        snprintf(why, why_size, "%s: no such argument; see warprsad --help",
                 argv[optind]);
        return false;
    }
    return true;
}

/* Whoever uses the network has to say who he is and whom he believes; whoever
 * listens, who may come. */
static bool is_complete(const warprsa_options *o, char *why, size_t why_size)
{
    const bool listens = o->listen[0] != '\0';
    const struct {
        const char *name, *value;
        bool needed;
    } needs[] = {
        {"tls_certificate", o->tls_certificate, true},
        {"tls_key", o->tls_key, true},
        {"tls_ca", o->tls_ca, true},
        {"identities", o->identities, listens},
    };

    if (!listens && o->remote_hosts[0] == '\0')
        return true;
    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
        if (needs[i].needed && needs[i].value[0] == '\0') {
            snprintf(why, why_size, "%s: needs %s, too",
                     listens ? "listen" : "remote_hosts", needs[i].name);
            return false;
        }
    return true;
}

bool warprsa_options_read(warprsa_options *options, int argc, char **argv,
                          char *why, size_t why_size)
{
    char config[sizeof(options->config)];

    memset(options, 0, sizeof(*options));
    for (int i = 0; i < ROWS; i++)
        if (!set(options, &rows[i], rows[i].initial, "default", why, why_size))
            return false;
    /* Twice: to find the file, and to take precedence over it. */
    if (!read_line(options, argc, argv, why, why_size))
        return false;
    strcpy(config, options->config);
    if (options->help || options->version)
        return true;
    if (config[0] != '\0' && !(read_file(options, config, why, why_size) &&
                               read_line(options, argc, argv, why, why_size)))
        return false;
    return is_complete(options, why, why_size);
}

void warprsa_options_help(void)
{
    char name[32];

    puts(
        "Usage: warprsad [OPTION...]\n"
        "Computes the RSA private operations of many processes on the GPU: of\n"
        "those whose OpenSSL uses the provider warprsa with mode = daemon.\n");
    for (int i = 0; i < ROWS; i++) {
        if (!is_offered(&rows[i]))
            continue;
        dashed(rows[i].name, name);
        printf("  --%-14s %s:\n                   %s", name, rows[i].help,
               rows[i].allowed);
        if (rows[i].initial[0] != '\0')
            printf(" (%s)", rows[i].initial);
        putchar('\n');
    }
    puts(
        "  --help           this text\n"
        "  --version        the version\n"
        "\n"
        "The file of --config has lines \"name = value\", with underscores "
        "for\n"
        "dashes. SIGHUP reads it again: limits on clients, and other hosts to\n"
        "use, change at once, the rest at the next start. SIGTERM ends the\n"
        "daemon once it has answered what is under way. warprsa-stat shows "
        "what\n"
        "it does.");
}
