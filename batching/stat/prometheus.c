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

static const char *reason_label(unsigned reason)
{
    return warprsa_cpu_reason_name((warprsa_cpu_reason)reason);
}

static void describe(FILE *to, const char *name, const char *type,
                     const char *help)
{
    fprintf(to, "# HELP %s %s.\n# TYPE %s %s\n", name, help, name, type);
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
        "counters may not be read");
    for (size_t i = 0; i < programs->count; i++)
        for (unsigned s = 0; s < WARPRSA_PROCESS_STATES; s++)
            fprintf(to, "warprsa_processes{%s,state=\"%s\"} %" PRIu64 "\n",
                    labels_of(&programs->list[i], labels), states[s],
                    programs->list[i].processes[s]);
    describe(to, "warprsa_unreadable_processes", "gauge",
             "Processes that warprsa-stat may not look at");
    fprintf(to, "warprsa_unreadable_processes %" PRIu64 "\n",
            programs->unreadable);
}

/* Writes what was left out of each user's numbers. */
static void write_left_out(const warprsa_programs *programs, FILE *to)
{
    const warprsa_users *users = &programs->users;

    describe(to, "warprsa_left_out_processes", "gauge",
             "Processes of a user that were not read, or not all of them: it "
             "has too many, or too much open in them");
    for (size_t i = 0; i < users->count; i++)
        fprintf(to, "warprsa_left_out_processes{user=\"%s\"} %" PRIu64 "\n",
                users->seats[i].label, users->seats[i].left_out);
    describe(to, "warprsa_foreign_counters", "gauge",
             "Counters of a user's making in another user's process: they "
             "count for nobody");
    for (size_t i = 0; i < users->count; i++)
        fprintf(to, "warprsa_foreign_counters{user=\"%s\"} %" PRIu64 "\n",
                users->seats[i].label, users->seats[i].foreign);
}

static void write_operations(const warprsa_programs *programs, FILE *to)
{
    char labels[LABELS_SIZE];

    describe(to, "warprsa_operations_total", "counter",
             "Private operations by where they were computed and by bits of "
             "the modulus");
    for (size_t i = 0; i < programs->count; i++) {
        const warprsa_program *p = &programs->list[i];

        for (unsigned r = 0; r < WARPRSA_ROUTES && !is_daemon(p); r++) {
            const warprsa_counter *route = &warprsa_counter_table[r];
            const _Atomic uint64_t *words =
                warprsa_counter_words(route, &p->sum);

            for (unsigned s = 0; s < route->words; s++)
                fprintf(to,
                        "warprsa_operations_total{%s,route=\"%s\",size=\"%s\"} "
                        "%" PRIu64 "\n",
                        labels_of(p, labels), route->name,
                        warprsa_size_names[s], warprsa_counted(&words[s], 1));
        }
    }
    describe(to, "warprsa_cpu_operations_total", "counter",
             "Private operations computed on the CPU, by reason");
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
    return warprsa_counted((const _Atomic uint64_t *)((const char *)c + offset),
                           1);
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
             "by bits of the modulus");
    for (unsigned s = 0; s < WARPRSA_CLASSES; s++) {
        snprintf(label, sizeof(label), ",size=\"%s\"", warprsa_size_names[s]);
        write_daemon_word(programs, "warprsad_operations_total", label,
                          FIELD(gpu[0]) + s * sizeof(uint64_t),
                          FIELD(ifma[0]) + s * sizeof(uint64_t), to);
    }
    describe(to, "warprsad_refused_total", "counter",
             "Private operations that warprsad has left to its clients, by "
             "reason");
    for (unsigned r = 0; r < WARPRSA_CPU_REASONS; r++) {
        const size_t offset = FIELD(cpu_reason[0]) + r * sizeof(uint64_t);

        snprintf(label, sizeof(label), ",reason=\"%s\"", reason_label(r));
        write_daemon_word(programs, "warprsad_refused_total", label, offset,
                          offset, to);
    }
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

#define TIME_UNIT  1e-9
#define FIRST_TIME (TIME_UNIT * (1 << WARPRSA_TIME_BIN_SHIFT))
#define HISTOGRAM(bins, size, sum, metric, help)                               \
    {                                                                          \
        metric, help, size, FIELD(bins),                                       \
            (size) == WARPRSA_TIME_BINS ? FIRST_TIME : 1,                      \
            (size) == WARPRSA_TIME_BINS ? TIME_UNIT : 1, FIELD(sum),           \
            (size) == WARPRSA_TIME_BINS                                        \
    }

static void write_histograms(const warprsa_programs *programs, FILE *to)
{
#define ROW(...) HISTOGRAM(__VA_ARGS__),
    static const histogram list[] = {WARPRSA_EACH_HISTOGRAM(ROW)};
#undef ROW

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        write_histogram(&list[i], programs, to);
}

/* A metric that is one word: of a program, or of its device 0. */
typedef struct metric {
    const char *name, *type, *help;
    size_t offset;
} metric;

#define TYPE_COUNTER "counter"
#define TYPE_GAUGE   "gauge"
#define TYPE_PEAK    "gauge"
#define METRIC(name, kind, unit, metric, help)                                 \
    {metric, TYPE_##kind, help, FIELD(name)},
#define DEVICE_METRIC(name, kind, unit, metric, help)                          \
    {metric, TYPE_##kind, help, FIELD(device_of[0].name)},

static void write_words(const warprsa_programs *programs, FILE *to)
{
    static const metric list[] = {WARPRSA_EACH_COUNTER(METRIC)};
    char labels[LABELS_SIZE];

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        const metric *m = &list[i];
        const bool of_daemon = strncmp(m->name, "warprsad_", 9) == 0;

        if (m->name[0] == '\0')
            continue;
        describe(to, m->name, m->type, m->help);
        if (of_daemon)
            write_daemon_word(programs, m->name, "", m->offset, m->offset, to);
        for (size_t p = 0; p < programs->count && !of_daemon; p++)
            fprintf(to, "%s{%s} %" PRIu64 "\n", m->name,
                    labels_of(&programs->list[p], labels),
                    word_at(&programs->list[p].sum, m->offset));
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

static void write_device_word(const void *what, const warprsa_program *program,
                              unsigned device, FILE *to)
{
    const metric *word = what;
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
    static const metric words[] = {WARPRSA_EACH_DEVICE_COUNTER(DEVICE_METRIC)};
    static const histogram times =
        HISTOGRAM(device_of[0].compute_times, WARPRSA_TIME_BINS,
                  device_of[0].compute_ns, "warprsa_device_batch_seconds",
                  "How long batches were on this device, from launch to end");

    describe(to, "warprsa_device_info", "gauge", "The name of a device");
    each_device(programs, write_device_name, NULL, to);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (words[i].name[0] == '\0')
            continue;
        describe(to, words[i].name, words[i].type, words[i].help);
        each_device(programs, write_device_word, &words[i], to);
    }
    describe(to, times.name, "histogram", times.help);
    each_device(programs, write_device_times, &times, to);
}

/* Writes uses and denials of vault keys by key and user. */
static void write_keys(const warprsa_key_sums *keys, FILE *to)
{
    describe(to, "warprsad_key_uses_total", "counter",
             "Uses of a key of the vault that were allowed, by who asked");
    for (size_t i = 0; i < keys->count; i++)
        fprintf(to,
                "warprsad_key_uses_total{user=\"%s\",key=\"%s\",by=\"%s\"} "
                "%" PRIu64 "\n",
                keys->list[i].user->label, keys->list[i].key, keys->list[i].by,
                keys->list[i].uses);
    describe(to, "warprsad_key_denials_total", "counter",
             "Uses of a key of the vault that were denied, by who asked and "
             "why");
    for (size_t i = 0; i < keys->count; i++)
        for (unsigned d = WARPRSA_DENIED_NO_KEY; d < WARPRSA_DENIALS; d++)
            fprintf(to,
                    "warprsad_key_denials_total{user=\"%s\",key=\"%s\","
                    "by=\"%s\",reason=\"%s\"} %" PRIu64 "\n",
                    keys->list[i].user->label, keys->list[i].key,
                    keys->list[i].by, warprsa_denial_name((warprsa_denial)d),
                    keys->list[i].denials[d]);
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
    write_keys(&programs->keys, to);
}
