/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Metrics: see prometheus.h, and warprsa-stat(1) for what each one means. The
 * metrics of warprsad have names of their own: its clients count the same
 * operations, and a sum over all programs must not have them twice. Every
 * series has the label of a user, since any user can run a program named
 * warprsad.
 */
#include "batching/stat/prometheus.h"

#include <inttypes.h>
#include <string.h>

#define FIELD(field) offsetof(warprsa_counters, field)

enum {
    LABELS_SIZE = WARPRSA_USER_LABEL_SIZE + WARPRSA_COMMAND_SIZE + 64,
};

static const char *const sizes[WARPRSA_CLASSES + 1] = {
    "1024", "2048", "3072", "4096", "6144", "8192", "other"};

/* A reason as a label: its counter's name without "cpu_". */
static const char *reason_label(unsigned reason)
{
    return warprsa_cpu_reason_name((warprsa_cpu_reason)reason) + 4;
}

static void describe(FILE *to, const char *name, const char *type,
                     const char *help)
{
    fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* The labels that every series of a program has. */
static const char *labels_of(const warprsa_program *p, char labels[LABELS_SIZE])
{
    snprintf(labels, LABELS_SIZE, "user=\"%s\",program=\"%s\"", p->user->label,
             p->name);
    return labels;
}

static bool is_daemon(const warprsa_program *p)
{
    return strcmp(p->name, "warprsad") == 0 ||
           strcmp(p->name, "warprsad-remote") == 0;
}

static void write_processes(const warprsa_programs *programs, FILE *to)
{
    static const char *const states[WARPRSA_PROCESS_STATES] = {
        [WARPRSA_PROCESS_ACTIVE] = "active",
        [WARPRSA_PROCESS_IDLE] = "idle",
        [WARPRSA_PROCESS_OTHER_VERSION] = "other_version",
        [WARPRSA_PROCESS_UNKNOWN] = "unknown"};
    char labels[LABELS_SIZE];

    describe(
        to, "warprsa_processes", "gauge",
        "Processes that have loaded warprsa. idle: no private operation "
        "yet; other_version: not readable by this warprsa-stat; unknown: its "
        "counters may not be read.");
    for (size_t i = 0; i < programs->count; i++)
        for (unsigned s = 0; s < WARPRSA_PROCESS_STATES; s++)
            fprintf(to, "warprsa_processes{%s,state=\"%s\"} %" PRIu64 "\n",
                    labels_of(&programs->list[i], labels), states[s],
                    programs->list[i].processes[s]);
    describe(to, "warprsa_unreadable_processes", "gauge",
             "Processes that warprsa-stat may not look at.");
    fprintf(to, "warprsa_unreadable_processes %" PRIu64 "\n",
            programs->unreadable);
}

/* Writes what was left out of each user's numbers. */
static void write_left_out(const warprsa_programs *programs, FILE *to)
{
    const warprsa_users *users = &programs->users;

    describe(to, "warprsa_left_out_processes", "gauge",
             "Processes of a user that were not read, or not all of them: it "
             "has too many, or too much open in them.");
    for (size_t i = 0; i < users->count; i++)
        fprintf(to, "warprsa_left_out_processes{user=\"%s\"} %" PRIu64 "\n",
                users->seats[i].label, users->seats[i].left_out);
    describe(to, "warprsa_foreign_counters", "gauge",
             "Counters of a user's making in another user's process: they "
             "count for nobody.");
    for (size_t i = 0; i < users->count; i++)
        fprintf(to, "warprsa_foreign_counters{user=\"%s\"} %" PRIu64 "\n",
                users->seats[i].label, users->seats[i].foreign);
}

static void write_operation(const warprsa_program *p, const char *route,
                            unsigned size, uint64_t count, FILE *to)
{
    char labels[LABELS_SIZE];

    fprintf(to,
            "warprsa_operations_total{%s,route=\"%s\",size=\"%s\"} %" PRIu64
            "\n",
            labels_of(p, labels), route, sizes[size], count);
}

static void write_operations(const warprsa_programs *programs, FILE *to)
{
    char labels[LABELS_SIZE];

    describe(to, "warprsa_operations_total", "counter",
             "Private operations by where they were computed and by bits of "
             "the modulus.");
    for (size_t i = 0; i < programs->count; i++) {
        const warprsa_program *p = &programs->list[i];

        for (unsigned s = 0; s <= WARPRSA_CLASSES && !is_daemon(p); s++) {
            if (s < WARPRSA_CLASSES) {
                write_operation(p, "gpu", s, p->sum.gpu[s], to);
                write_operation(p, "ifma", s, p->sum.ifma[s], to);
            }
            write_operation(p, "cpu", s, p->sum.cpu[s], to);
        }
    }
    describe(to, "warprsa_cpu_operations_total", "counter",
             "Private operations computed on the CPU, by reason.");
    for (size_t i = 0; i < programs->count; i++)
        for (unsigned r = 0;
             r < WARPRSA_CPU_REASONS && !is_daemon(&programs->list[i]); r++)
            fprintf(to,
                    "warprsa_cpu_operations_total{%s,reason=\"%s\"} %" PRIu64
                    "\n",
                    labels_of(&programs->list[i], labels), reason_label(r),
                    (uint64_t)programs->list[i].sum.cpu_reason[r]);
}

static uint64_t word_at(const warprsa_counters *c, size_t offset)
{
    return atomic_load_explicit(
        (const _Atomic uint64_t *)((const char *)c + offset),
        memory_order_relaxed);
}

/* Sums the word at this offset over a user's two daemons. False: the user has
 * neither. */
static bool sum_daemons(const warprsa_programs *programs,
                        const warprsa_user_seat *user, size_t offset,
                        uint64_t *sum)
{
    bool any = false;

    *sum = 0;
    for (size_t i = 0; i < programs->count; i++) {
        const warprsa_program *p = &programs->list[i];

        if (p->user != user || !is_daemon(p))
            continue;
        *sum += word_at(&p->sum, offset);
        any = true;
    }
    return any;
}

/* Writes a metric of daemons with this label. The words may be at two offsets
 * and are added. */
static void write_daemon_word(const warprsa_programs *programs,
                              const char *name, const char *label,
                              size_t offset, size_t other, FILE *to)
{
    for (size_t i = 0; i < programs->users.count; i++) {
        const warprsa_user_seat *user = &programs->users.seats[i];
        uint64_t sum, more = 0;

        if (!sum_daemons(programs, user, offset, &sum))
            continue;
        if (other != offset)
            (void)sum_daemons(programs, user, other, &more);
        fprintf(to, "%s{user=\"%s\"%s} %" PRIu64 "\n", name, user->label, label,
                sum + more);
    }
}

static void write_daemon(const warprsa_programs *programs, FILE *to)
{
    char label[64];

    describe(to, "warprsad_operations_total", "counter",
             "Private operations that warprsad has computed for its clients, "
             "by bits of the modulus.");
    for (unsigned s = 0; s < WARPRSA_CLASSES; s++) {
        snprintf(label, sizeof(label), ",size=\"%s\"", sizes[s]);
        write_daemon_word(programs, "warprsad_operations_total", label,
                          FIELD(gpu[0]) + s * sizeof(uint64_t),
                          FIELD(ifma[0]) + s * sizeof(uint64_t), to);
    }
    describe(to, "warprsad_refused_total", "counter",
             "Private operations that warprsad has left to its clients, by "
             "reason.");
    for (unsigned r = 0; r < WARPRSA_CPU_REASONS; r++) {
        const size_t offset = FIELD(cpu_reason[0]) + r * sizeof(uint64_t);

        snprintf(label, sizeof(label), ",reason=\"%s\"", reason_label(r));
        write_daemon_word(programs, "warprsad_refused_total", label, offset,
                          offset, to);
    }
    describe(to, "warprsad_clients", "gauge",
             "Processes that are connected to warprsad.");
    write_daemon_word(programs, "warprsad_clients", "", FIELD(clients),
                      FIELD(clients), to);
}

/* A histogram: its bins, the upper bound of the first bin in units of the
 * metric (which doubles from bin to bin), and the sum in these units. */
typedef struct histogram {
    const char *name, *help;
    size_t bins, offset; /* of the first bin in warprsa_counters */
    double first, sum_unit;
    size_t sum; /* offset of the sum, in sum_unit */
    bool open;  /* the last bin has no upper bound */
} histogram;

/* `more`: bytes to add to the histogram's offsets. `labels`: the labels beside
 * `le`. */
static void write_one_histogram(const histogram *h, const warprsa_program *p,
                                size_t more, const char *labels, FILE *to)
{
    uint64_t count = 0;
    double bound = h->first;

    for (size_t i = 0; i < h->bins; i++, bound *= 2) {
        count += word_at(&p->sum, h->offset + more + i * sizeof(uint64_t));
        if (i + 1 < h->bins || !h->open)
            fprintf(to, "%s_bucket{%s,le=\"%.9g\"} %" PRIu64 "\n", h->name,
                    labels, bound, count);
    }
    fprintf(to, "%s_bucket{%s,le=\"+Inf\"} %" PRIu64 "\n", h->name, labels,
            count);
    fprintf(to, "%s_sum{%s} %.9f\n", h->name, labels,
            (double)word_at(&p->sum, h->sum + more) * h->sum_unit);
    fprintf(to, "%s_count{%s} %" PRIu64 "\n", h->name, labels, count);
}

/* Programs without batches, mostly clients of the daemon, have no histogram. */
static void write_histogram(const histogram *h,
                            const warprsa_programs *programs, FILE *to)
{
    describe(to, h->name, "histogram", h->help);
    for (size_t i = 0; i < programs->count; i++) {
        const warprsa_program *p = &programs->list[i];
        char labels[LABELS_SIZE];

        if (p->sum.batches > 0)
            write_one_histogram(h, p, 0, labels_of(p, labels), to);
    }
}

#define TIMES(name, help, times, sum)                                          \
    {                                                                          \
        name, help, WARPRSA_TIME_BINS, FIELD(times),                           \
            1e-9 * (1 << WARPRSA_TIME_BIN_SHIFT), 1e-9, FIELD(sum), true       \
    }

static void write_histograms(const warprsa_programs *programs, FILE *to)
{
    static const histogram list[] = {
        {"warprsa_batch_operations", "Operations in a batch.",
         WARPRSA_HISTOGRAM_BINS, FIELD(batch_sizes), 1, 1,
         FIELD(batch_operations), false},
        TIMES("warprsa_queue_seconds",
              "How long operations waited for a batch.", wait_times, wait_ns),
        TIMES("warprsa_batch_seconds",
              "How long operations were in a batch, from when it took them to "
              "its end.",
              batch_times, batch_ns),
        TIMES("warprsa_device_seconds",
              "How long batches were on the device, from launch to end.",
              compute_times, compute_ns),
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        write_histogram(&list[i], programs, to);
}

/* Writes the metrics that are one word of a program's counters. */
static void write_words(const warprsa_programs *programs, FILE *to)
{
    static const struct {
        const char *name, *type, *help;
        size_t offset;
    } list[] = {
        {"warprsa_batches_total", "counter", "Batches run on devices.",
         FIELD(batches)},
        {"warprsa_checks_failed_total", "counter",
         "Wrong results of a device; none was used.", FIELD(checks_failed)},
        {"warprsa_device_losses_total", "counter",
         "How often a device was taken out of use.", FIELD(device_losses)},
        {"warprsa_devices", "gauge", "Devices in use.", FIELD(devices)},
        {"warprsa_keys", "gauge", "Keys held.", FIELD(keys)},
        {"warprsa_keys_loaded_total", "counter", "Keys loaded on a device.",
         FIELD(keys_loaded)},
        {"warprsa_keys_wiped_total", "counter", "Keys wiped from a device.",
         FIELD(keys_wiped)},
        {"warprsa_keys_evicted_total", "counter",
         "Keys wiped from a device to make room for others.",
         FIELD(keys_evicted)},
        {"warprsa_keys_wrong_total", "counter",
         "Keys whose own numbers give wrong results.", FIELD(keys_wrong)},
        {"warprsa_slots", "gauge", "Operations that can be in flight.",
         FIELD(slots)},
    };
    char labels[LABELS_SIZE];

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        describe(to, list[i].name, list[i].type, list[i].help);
        for (size_t p = 0; p < programs->count; p++)
            fprintf(to, "%s{%s} %" PRIu64 "\n", list[i].name,
                    labels_of(&programs->list[p], labels),
                    word_at(&programs->list[p].sum, list[i].offset));
    }
}

/* Called for each known device of each program. */
typedef void (*device_fn)(const void *what, const warprsa_program *program,
                          unsigned device, FILE *to);
static void each_device(const warprsa_programs *programs, device_fn each,
                        const void *what, FILE *to)
{
    for (size_t p = 0; p < programs->count; p++)
        for (unsigned d = 0; d < WARPRSA_COUNTERS_DEVICES; d++)
            if (warprsa_device_is_known(&programs->list[p].sum.device_of[d]))
                each(what, &programs->list[p], d, to);
}

typedef struct device_word {
    const char *name, *type, *help;
    size_t offset; /* of device 0 */
} device_word;

static void write_device_word(const void *what, const warprsa_program *program,
                              unsigned device, FILE *to)
{
    const device_word *word = what;
    char labels[LABELS_SIZE];

    fprintf(to, "%s{%s,device=\"%u\"} %" PRIu64 "\n", word->name,
            labels_of(program, labels), device,
            word_at(&program->sum,
                    word->offset + device * sizeof(warprsa_device_counters)));
}

static void write_device_name(const void *what, const warprsa_program *program,
                              unsigned device, FILE *to)
{
    char name[WARPRSA_COUNTERS_TEXT], labels[LABELS_SIZE];

    (void)what;
    warprsa_counters_name(&program->sum, device, name);
    fprintf(to, "warprsa_device_info{%s,device=\"%u\",name=\"%s\"} 1\n",
            labels_of(program, labels), device, name);
}

static void write_device_times(const void *what, const warprsa_program *program,
                               unsigned device, FILE *to)
{
    char labels[LABELS_SIZE], more[LABELS_SIZE + 16];

    snprintf(more, sizeof(more), "%s,device=\"%u\"", labels_of(program, labels),
             device);
    write_one_histogram(what, program, device * sizeof(warprsa_device_counters),
                        more, to);
}

/* A device that several processes have open is summed over them. */
static void write_devices(const warprsa_programs *programs, FILE *to)
{
    static const device_word words[] = {
        {"warprsa_device_ready", "gauge", "Processes that use the device.",
         FIELD(device_of[0].ready)},
        {"warprsa_device_operations_total", "counter",
         "Private operations computed by the device.", FIELD(device_of[0].gpu)},
        {"warprsa_device_running", "gauge",
         "Private operations that the device has now.",
         FIELD(device_of[0].running)},
        {"warprsa_device_batches_total", "counter", "Batches of the device.",
         FIELD(device_of[0].batches)},
        {"warprsa_device_lost_total", "counter",
         "How often the device was taken out of use.",
         FIELD(device_of[0].losses)},
        {"warprsa_device_checks_failed_total", "counter",
         "Wrong results of the device, whatever the cause; none was used.",
         FIELD(device_of[0].checks_failed)},
        {"warprsa_device_wrong_total", "counter",
         "How often the device was taken out of use for wrong results.",
         FIELD(device_of[0].wrong)},
        {"warprsa_device_failovers_total", "counter",
         "Private operations that the device, a remote host, did not do and "
         "another one got.",
         FIELD(device_of[0].failovers)},
        {"warprsa_device_keys", "gauge", "Keys on the device.",
         FIELD(device_of[0].keys)},
        {"warprsa_device_sent_bytes_total", "counter",
         "Bytes sent to a remote host.",
         FIELD(device_of[0].traffic[WARPRSA_TRAFFIC_SENT])},
        {"warprsa_device_received_bytes_total", "counter",
         "Bytes received from a remote host.",
         FIELD(device_of[0].traffic[WARPRSA_TRAFFIC_RECEIVED])},
        {"warprsa_device_credit_waits_total", "counter",
         "Batches for a remote host that had as much in flight as it grants.",
         FIELD(device_of[0].traffic[WARPRSA_TRAFFIC_CREDIT_WAITS])},
    };
    static const histogram times =
        TIMES("warprsa_device_batch_seconds",
              "How long batches were on this device, from launch to end.",
              device_of[0].compute_times, device_of[0].compute_ns);

    describe(to, "warprsa_device_info", "gauge", "The name of a device.");
    each_device(programs, write_device_name, NULL, to);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        describe(to, words[i].name, words[i].type, words[i].help);
        each_device(programs, write_device_word, &words[i], to);
    }
    describe(to, times.name, "histogram", times.help);
    each_device(programs, write_device_times, &times, to);
}

void warprsa_prometheus_write(const warprsa_programs *programs, FILE *to)
{
    write_processes(programs, to);
    write_left_out(programs, to);
    write_operations(programs, to);
    write_daemon(programs, to);
    write_histograms(programs, to);
    write_words(programs, to);
    write_devices(programs, to);
}
