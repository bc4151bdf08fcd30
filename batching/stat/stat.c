/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * warprsa-stat, the program: says whether live processes use the GPU and, if
 * not, why; then prints their counters.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "batching/queue/counters.h"
#include "batching/stat/key_sums.h"
#include "batching/stat/programs.h"
#include "batching/stat/prometheus.h"
#include "batching/stat/stats_reader.h"

enum {
    EXIT_NONE = 1,  /* nothing to show, or an error: stderr says which */
    EXIT_USAGE = 2, /* bad command line */
    VERDICT_SIZE = 1024,
    RATE_MS = 300, /* rates of devices are measured over */
};

#define NOT_KNOWN                                                              \
    "has loaded warprsa; whether it made private RSA operations is not "       \
    "known: "                                                                  \
    "its memory may not be read; run warprsa-stat as root"

#define OTHER_VERSION                                                          \
    "uses another version of warprsa than this warprsa-stat understands"

/* What the first line about a process says. */
typedef struct summary {
    uint64_t gpu, ifma, cpu, devices;
    const char *main_reason; /* the most frequent one for the CPU; NULL: none */
    uint64_t main_count;
} summary;

static uint64_t word(const _Atomic uint64_t *counter)
{
    return warprsa_counted(counter, 1);
}

static summary summarise(const warprsa_counters *c)
{
    summary s = {
        .gpu = warprsa_counted(c->gpu, WARPRSA_CLASSES),
        .ifma = warprsa_counted(c->ifma, WARPRSA_CLASSES),
        .cpu = warprsa_counted(c->cpu, WARPRSA_CLASSES + 1),
        .devices = word(&c->devices),
    };

    for (unsigned i = 0; i < WARPRSA_CPU_REASONS; i++)
        if (word(&c->cpu_reason[i]) > s.main_count) {
            s.main_count = word(&c->cpu_reason[i]);
            s.main_reason = warprsa_cpu_reason_phrase((warprsa_cpu_reason)i);
        }
    return s;
}

/* Appends the most frequent reason for the CPU, if there is one. */
static void add_main_reason(const summary *s, char text[VERDICT_SIZE])
{
    size_t length = strlen(text);

    if (s->main_reason != NULL)
        snprintf(text + length, VERDICT_SIZE - length,
                 "; on the CPU %" PRIu64 " %s", s->main_count, s->main_reason);
}

/* Appends how many of the operations the CPUs' vector units computed beside a
 * GPU. */
static void add_vector_units(const summary *s, char text[VERDICT_SIZE])
{
    size_t length = strlen(text);

    if (s->gpu > 0 && s->ifma > 0)
        snprintf(text + length, VERDICT_SIZE - length,
                 "; %" PRIu64 " of them by the CPUs' vector units", s->ifma);
}

/* "yes", "no", "no longer" or "not yet", a colon, and why. */
static void verdict(const warprsa_counters *c, char text[VERDICT_SIZE])
{
    const summary s = summarise(c);
    char device[WARPRSA_COUNTERS_TEXT];
    const char *name = device;
    uint64_t all;

    warprsa_counters_device(c, device);
    if (strncmp(device, "none: ", 6) == 0)
        name = device + 6;
    all = s.gpu + s.ifma + s.cpu;
    if (s.devices == 0 && strncmp(device, "none yet: ", 10) == 0)
        snprintf(text, VERDICT_SIZE,
                 "not yet: %s; %" PRIu64 " operations on the CPU", device + 10,
                 s.cpu);
    else if (s.devices == 0 && s.gpu + s.ifma == 0)
        snprintf(text, VERDICT_SIZE,
                 "no: %s; %" PRIu64 " operations on the CPU",
                 *name != '\0' ? name : "no device", s.cpu);
    else if (s.devices == 0)
        snprintf(text, VERDICT_SIZE,
                 "no longer: %s; %" PRIu64 " of %" PRIu64
                 " operations were on the %s",
                 name, s.gpu + s.ifma, all, s.gpu > 0 ? "GPU" : "vector units");
    else if (strncmp(device, "CPU", 3) == 0)
        snprintf(text, VERDICT_SIZE,
                 "no: %s computes, by engine = host; %" PRIu64 " of %" PRIu64
                 " operations",
                 device, s.gpu, all);
    else if (all == 0)
        snprintf(text, VERDICT_SIZE, "not yet: %s is ready; no operation yet",
                 device);
    else if (s.gpu + s.ifma == 0)
        snprintf(text, VERDICT_SIZE,
                 "no: %s is ready, but all %" PRIu64
                 " operations ran on the CPU",
                 device, s.cpu);
    else
        snprintf(text, VERDICT_SIZE,
                 "yes: %s; %" PRIu64 " of %" PRIu64 " operations (%.1f %%)",
                 device, s.gpu + s.ifma, all,
                 100.0 * (double)(s.gpu + s.ifma) / (double)all);
    add_vector_units(&s, text);
    add_main_reason(&s, text);
}

static void print_counter(void *arg, const char *name, uint64_t value)
{
    (void)arg;
    printf("  %-18s %" PRIu64 "\n", name, value);
}

static void print_histogram(const warprsa_counters *c)
{
    uint64_t to = 1;

    for (unsigned i = 0; i < WARPRSA_HISTOGRAM_BINS; i++, to *= 2) {
        if (c->batch_sizes[i] == 0)
            continue;
        printf("  batches of ");
        if (i > 1)
            printf("%" PRIu64 "-", to / 2 + 1);
        printf("%" PRIu64 ": %" PRIu64 "\n", to, c->batch_sizes[i]);
    }
}

/* Prints one line: the state of a device, and how quick it was since
 * `before`. */
static void print_device(unsigned number, const char *name,
                         const warprsa_device_counters *now,
                         const warprsa_device_counters *before)
{
    printf("  device %u, %s: %s, %.0f operations/s, p50 %.2f ms, p99 %.2f ms, "
           "%" PRIu64 " in flight",
           number, name, word(&now->ready) != 0 ? "ready" : "out of use",
           (double)(word(&now->gpu) - word(&before->gpu)) * 1000 / RATE_MS,
           (double)warprsa_times_quantile(now->compute_times, 50) / 1e6,
           (double)warprsa_times_quantile(now->compute_times, 99) / 1e6,
           word(&now->running));
    if (word(&now->sent_bytes) != 0)
        printf(", %" PRIu64 " bytes sent, %" PRIu64 " received, %" PRIu64
               " waits for credit, %" PRIu64 " operations went elsewhere",
               word(&now->sent_bytes), word(&now->received_bytes),
               word(&now->credit_waits), word(&now->failovers));
    printf("\n");
}

/* The devices of a process whose counters were these RATE_MS ago. */
static void print_devices(const warprsa_counters *now,
                          const warprsa_counters *before)
{
    for (unsigned d = 0; d < WARPRSA_COUNTERS_DEVICES; d++) {
        char name[WARPRSA_COUNTERS_TEXT];

        warprsa_counters_name(now, d, name);
        if (warprsa_device_is_known(&now->device_of[d]))
            print_device(d, name, &now->device_of[d], &before->device_of[d]);
    }
}

/* Prints a line for each key and user. */
static void print_keys(const warprsa_key_accounts *accounts)
{
    warprsa_key_sum sum;

    for (unsigned i = 0; i <= WARPRSA_KEY_ACCOUNTS_MAX; i++) {
        if (!warprsa_key_sum_read(accounts, i, NULL, &sum))
            continue;
        printf("  key %s by %s: %" PRIu64 " uses", sum.key, sum.by, sum.uses);
        for (unsigned d = WARPRSA_DENIED_NO_KEY; d < WARPRSA_DENIALS; d++)
            if (sum.denials[d] != 0)
                printf(", %" PRIu64 " denied (%s)", sum.denials[d],
                       warprsa_denial_name((warprsa_denial)d));
        printf("\n");
    }
}

static void json_keys(const warprsa_key_accounts *accounts)
{
    warprsa_key_sum sum;
    bool first = true;

    printf(", \"keys_by_user\": [");
    for (unsigned i = 0; i <= WARPRSA_KEY_ACCOUNTS_MAX; i++) {
        if (!warprsa_key_sum_read(accounts, i, NULL, &sum))
            continue;
        printf("%s{\"key\": \"%s\", \"by\": \"%s\", \"uses\": %" PRIu64,
               first ? "" : ", ", sum.key, sum.by, sum.uses);
        for (unsigned d = WARPRSA_DENIED_NO_KEY; d < WARPRSA_DENIALS; d++)
            printf(", \"denied_%s\": %" PRIu64,
                   warprsa_denial_name((warprsa_denial)d), sum.denials[d]);
        printf("}");
        first = false;
    }
    printf("]");
}

static void json_counter(void *arg, const char *name, uint64_t value)
{
    (void)arg;
    printf(", \"%s\": %" PRIu64, name, value);
}

static void json_list(const char *name, const _Atomic uint64_t *list,
                      size_t count)
{
    printf(", \"%s\": [", name);
    for (size_t i = 0; i < count; i++)
        printf("%s%" PRIu64, i == 0 ? "" : ", ", (uint64_t)list[i]);
    printf("]");
}

/* Whether the device is the CPUs, as their engine describes them. */
static bool is_ifma(const char *device)
{
    return strncmp(device, "AVX-512", 7) == 0;
}

/* The texts need no escapes: what was read from the process has lost its
 * quotes, backslashes and control characters on the way. */
static void print_json(const warprsa_reading *process, uid_t owner,
                       const char *text, const warprsa_counters *c, bool first)
{
    bool yes = strncmp(text, "yes", 3) == 0;
    char device[WARPRSA_COUNTERS_TEXT];

    warprsa_counters_device(c, device);
    printf("%s\n  {\"pid\": %d, \"command\": \"%s\", ", first ? "" : ",",
           (int)process->pid, process->command);
    printf("\"using_gpu\": %s, \"using_ifma\": %s, \"verdict\": \"%s\", "
           "\"device\": \"%s\", ",
           yes && !is_ifma(device) ? "true" : "false",
           yes && is_ifma(device) ? "true" : "false", text, device);
    if (owner == WARPRSA_USER_UNKNOWN)
        printf("\"user\": null");
    else
        printf("\"user\": %u", (unsigned)owner);
    warprsa_counters_each(c, json_counter, NULL);
#define LIST(name, bins, ...) json_list(#name, c->name, bins);
    WARPRSA_EACH_HISTOGRAM(LIST)
#undef LIST
    if (process->has_accounts)
        json_keys(&process->accounts);
    printf("}");
}

/* How to print, and how many processes were printed. */
typedef struct output {
    bool json, details;
    size_t printed;
    unsigned hidden; /* may not be looked at */
} output;

/* Prints the user who has counted, if that is not the process's user or is not
 * known. */
static void print_owner(const warprsa_reading *process, uid_t owner)
{
    if (owner == WARPRSA_USER_UNKNOWN)
        printf(" (nobody knows whose counters)");
    else if (owner != process->user)
        printf(" (counters of user %u)", (unsigned)owner);
}

/* `before`: the same counters RATE_MS ago; NULL: they are not known. */
static void print_block(output *out, const warprsa_reading *process,
                        uid_t owner, const char *text,
                        const warprsa_counters *c,
                        const warprsa_counters *before)
{
    if (out->json) {
        print_json(process, owner, text, c, out->printed == 0);
    } else {
        printf("%d %s", (int)process->pid, process->command);
        print_owner(process, owner);
        printf(": %s\n", text);
        if (out->details) {
            warprsa_counters_each(c, print_counter, NULL);
            print_histogram(c);
        }
        if (before != NULL)
            print_devices(c, before);
    }
    out->printed++;
}

/* `before`: the same blocks RATE_MS ago, if not NULL. */
static void print_process(output *out, const warprsa_reading *process,
                          const warprsa_counters *before)
{
    char text[VERDICT_SIZE];

    for (size_t i = 0; i < process->count; i++) {
        verdict(&process->blocks[i], text);
        print_block(out, process, process->owners[i], text, &process->blocks[i],
                    before != NULL ? &before[i] : NULL);
    }
}

/* Prints a process that has loaded the provider but has no counters that can be
 * read. Zeros stand in for them. */
static void print_without(output *out, const warprsa_reading *process,
                          const char *text)
{
    static const warprsa_counters none;

    print_block(out, process, process->user, text, &none, NULL);
}

static void print_why_not(const warprsa_reading *process)
{
    static const char *const why[] = {
        [WARPRSA_NOT_LOADED] =
            "does not use warprsa: its OpenSSL has not loaded the provider "
            "(see \"openssl list -providers\"); the workers of a server count "
            "for themselves, run warprsa-stat without PID to see all",
        [WARPRSA_NOT_COUNTING] =
            "has loaded warprsa, but made no private RSA operation yet",
        [WARPRSA_INHERITED] =
            "was forked from a process that uses warprsa, and has made no "
            "private RSA operation itself",
        [WARPRSA_UNKNOWN] = NOT_KNOWN,
        [WARPRSA_OTHER_COUNTERS] = OTHER_VERSION,
        [WARPRSA_NO_PROCESS] = "does not exist",
        [WARPRSA_NO_PERMISSION] =
            "may not be looked at: run warprsa-stat as its user or as root",
    };
    const char *text = why[process->found];

    if (process->found == WARPRSA_NO_PROCESS)
        fprintf(stderr, "warprsa-stat: process %d %s\n", (int)process->pid,
                text);
    else
        fprintf(stderr, "warprsa-stat: process %d (%s) %s\n", (int)process->pid,
                process->command, text);
}

/* Whether two lists have the same blocks in the same order. */
static bool are_same(const warprsa_counters *a, const warprsa_counters *b,
                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i].created_ns != b[i].created_ns)
            return false;
    return true;
}

static void show_one(output *out, const warprsa_stats_reader *reader, pid_t pid)
{
    static const struct timespec pause = {0, RATE_MS * 1000000L};
    static warprsa_reading now, before;
    bool has_before = false;

    if (!out->json) {
        warprsa_stats_read(reader, pid, NULL, &before);
        has_before = before.count > 0;
    }
    if (has_before)
        nanosleep(&pause, NULL);
    warprsa_stats_read(reader, pid, NULL, &now);
    has_before = has_before && now.count == before.count &&
                 are_same(now.blocks, before.blocks, now.count);
    print_process(out, &now, has_before ? before.blocks : NULL);
    if (now.has_accounts && !out->json)
        print_keys(&now.accounts);
    if (now.found != WARPRSA_FOUND)
        print_why_not(&now);
}

static void show_each(void *arg, const warprsa_reading *process)
{
    output *out = arg;

    print_process(out, process, NULL);
    if (process->found == WARPRSA_NOT_COUNTING ||
        process->found == WARPRSA_INHERITED)
        print_without(out, process,
                      "idle: has loaded warprsa, but made no private RSA "
                      "operation yet");
    else if (process->found == WARPRSA_UNKNOWN)
        print_without(out, process, "unknown: " NOT_KNOWN);
    else if (process->found == WARPRSA_OTHER_COUNTERS)
        print_without(out, process, "unknown: " OTHER_VERSION);
    else if (process->found == WARPRSA_NO_PERMISSION)
        out->hidden++;
}

static void show_all(output *out, const warprsa_stats_reader *reader)
{
    if (!warprsa_stats_each(reader, NULL, show_each, out)) {
        fprintf(stderr, "warprsa-stat: /proc: %s\n", strerror(errno));
        return;
    }
    if (out->printed == 0)
        fprintf(stderr, "warprsa-stat: no process found that uses warprsa\n");
    if (out->printed == 0 && out->hidden > 0)
        fprintf(stderr,
                "warprsa-stat: %u processes of other users may not be looked "
                "at: run it as root\n",
                out->hidden);
}

/* Prints the metrics of all processes. `state`: the path of the file with the
 * counters of ended processes, or NULL. False: an error was printed. */
static bool show_prometheus(const char *state)
{
    warprsa_programs *programs = calloc(1, sizeof(*programs));
    char why[512] = "no memory";
    bool good = programs != NULL &&
                warprsa_programs_collect(programs, why, sizeof(why));

    if (good && state != NULL) {
        good = warprsa_programs_remember(programs, state, why, sizeof(why));
        if (good && why[0] != '\0')
            fprintf(stderr, "warprsa-stat: %s: %s\n", state, why);
    }
    if (good && !warprsa_programs_sum(programs)) {
        snprintf(why, sizeof(why), "no memory for all programs");
        good = false;
    }
    if (good)
        warprsa_prometheus_write(programs, stdout);
    else
        fprintf(stderr, "warprsa-stat: %s\n", why);
    if (programs != NULL)
        warprsa_programs_free(programs);
    free(programs);
    return good;
}

static void usage(FILE *to)
{
    fprintf(
        to,
        "Usage: warprsa-stat [--json] [PID]\n"
        "       warprsa-stat --prometheus [--state FILE]\n"
        "Says whether the RSA private operations of live processes run on the\n"
        "GPU and, if not, why; then counts them. Without PID: one line for\n"
        "every process that uses warprsa.\n"
        "\n"
        "  -j, --json        an array of objects, one for each process\n"
        "  -p, --prometheus  metrics of all processes, summed by user and\n"
        "                    program, in the text format of Prometheus\n"
        "  -s, --state FILE  keeps in FILE what processes have counted, so\n"
        "                    that sums do not fall when they end\n"
        "  -h, --help        this text\n"
        "  -V, --version     the version\n"
        "\n"
        "Exit status: 0 something was shown, 1 nothing, or an error, 2 bad\n"
        "command line.\n");
}

/* The PID of the command line. 0: none is given; -1: it is bad. */
static pid_t parse_pid(int argc, char **argv)
{
    char *end = NULL;
    long number;

    if (optind == argc)
        return 0;
    errno = 0;
    number = strtol(argv[optind], &end, 10);
    if (optind + 1 < argc || !isdigit((unsigned char)argv[optind][0]) ||
        *end != '\0' || errno != 0 || number < 1 || number > INT32_MAX)
        return -1;
    return (pid_t)number;
}

/* What the command line asks for. */
typedef struct request {
    bool json, prometheus;
    const char *state;
    pid_t pid; /* 0: all processes */
} request;

/* Reads the command line. Returns -1 to go on, or the exit status. */
static int parse(int argc, char **argv, request *wanted)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},
        {"prometheus", no_argument, NULL, 'p'},
        {"state", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "jps:hV", options, NULL)) != -1) {
        if (option == 'j') {
            wanted->json = true;
        } else if (option == 'p') {
            wanted->prometheus = true;
        } else if (option == 's') {
            wanted->state = optarg;
        } else if (option == 'h') {
            usage(stdout);
            return EXIT_SUCCESS;
        } else if (option == 'V') {
            puts("warprsa-stat " WARPRSA_VERSION);
            return EXIT_SUCCESS;
        } else {
            usage(stderr);
            return EXIT_USAGE;
        }
    }
    wanted->pid = parse_pid(argc, argv);
    if (wanted->pid < 0) {
        fprintf(stderr,
                "warprsa-stat: %s: one process number, 1 or more, is "
                "wanted\n",
                argv[optind]);
        return EXIT_USAGE;
    }
    if (wanted->prometheus && (wanted->json || wanted->pid > 0)) {
        fputs("warprsa-stat: --prometheus goes with neither --json nor PID\n",
              stderr);
        return EXIT_USAGE;
    }
    if (wanted->state != NULL && !wanted->prometheus) {
        fputs("warprsa-stat: --state goes with --prometheus only\n", stderr);
        return EXIT_USAGE;
    }
    return -1;
}

static bool show_processes(const request *wanted)
{
    output out = {.json = wanted->json, .details = wanted->pid > 0};
    warprsa_stats_reader reader;

    warprsa_stats_open(&reader);
    if (out.json)
        printf("[");
    if (wanted->pid > 0)
        show_one(&out, &reader, wanted->pid);
    else
        show_all(&out, &reader);
    if (out.json)
        printf("%s]\n", out.printed > 0 ? "\n" : "");
    warprsa_stats_close(&reader);
    return out.printed > 0;
}

int main(int argc, char **argv)
{
    request wanted = {0};
    int status = parse(argc, argv, &wanted);
    bool good;

    if (status >= 0)
        return status;
    good = wanted.prometheus ? show_prometheus(wanted.state)
                             : show_processes(&wanted);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "warprsa-stat: standard output: %s\n", strerror(errno));
        return EXIT_NONE;
    }
    return good ? EXIT_SUCCESS : EXIT_NONE;
}
