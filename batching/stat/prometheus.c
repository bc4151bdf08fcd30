/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Metrics: see prometheus.h, and warprsa-stat(1) for what each one means. The
 * operations of warprsad have names of their own: its clients count the same
 * operations too, and a sum over all programs must not have them twice.
 */
#include "batching/stat/prometheus.h"

#include <inttypes.h>
#include <string.h>

#define DAEMON "warprsad"

static const char *const sizes[WARPRSA_CLASSES + 1] = {"1024", "2048", "3072",
                                                       "4096", "other"};

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

static bool is_daemon(const warprsa_program *p)
{
    return strcmp(p->name, DAEMON) == 0;
}

static void write_processes(const warprsa_programs *programs, FILE *to)
{
    static const char *const states[WARPRSA_PROCESS_STATES] = {
        [WARPRSA_PROCESS_ACTIVE] = "active",
        [WARPRSA_PROCESS_IDLE] = "idle",
        [WARPRSA_PROCESS_OTHER_VERSION] = "other_version"};

    describe(to, "warprsa_processes", "gauge",
             "Processes that have loaded warprsa. idle: no private operation "
             "yet; other_version: not readable by this warprsa-stat.");
    for (size_t i = 0; i < programs->count; i++)
        for (unsigned s = 0; s < WARPRSA_PROCESS_STATES; s++)
            fprintf(to,
                    "warprsa_processes{program=\"%s\",state=\"%s\"} %" PRIu64
                    "\n",
                    programs->list[i].name, states[s],
                    programs->list[i].processes[s]);
    describe(to, "warprsa_unreadable_processes", "gauge",
             "Processes that warprsa-stat may not look at.");
    fprintf(to, "warprsa_unreadable_processes %" PRIu64 "\n",
            programs->unreadable);
}

static void write_operations(const warprsa_programs *programs, FILE *to)
{
    describe(to, "warprsa_operations_total", "counter",
             "Private operations by where they were computed and by bits of "
             "the modulus.");
    for (size_t i = 0; i < programs->count; i++) {
        const warprsa_program *p = &programs->list[i];

        if (is_daemon(p))
            continue;
        for (unsigned s = 0; s <= WARPRSA_CLASSES; s++) {
            if (s < WARPRSA_CLASSES)
                fprintf(to,
                        "warprsa_operations_total{program=\"%s\","
                        "route=\"gpu\",size=\"%s\"} %" PRIu64 "\n",
                        p->name, sizes[s], (uint64_t)p->sum.gpu[s]);
            if (s < WARPRSA_CLASSES)
                fprintf(to,
                        "warprsa_operations_total{program=\"%s\","
                        "route=\"ifma\",size=\"%s\"} %" PRIu64 "\n",
                        p->name, sizes[s], (uint64_t)p->sum.ifma[s]);
            fprintf(to,
                    "warprsa_operations_total{program=\"%s\",route=\"cpu\","
                    "size=\"%s\"} %" PRIu64 "\n",
                    p->name, sizes[s], (uint64_t)p->sum.cpu[s]);
        }
    }
    describe(to, "warprsa_cpu_operations_total", "counter",
             "Private operations computed on the CPU, by reason.");
    for (size_t i = 0; i < programs->count; i++)
        for (unsigned r = 0;
             r < WARPRSA_CPU_REASONS && !is_daemon(&programs->list[i]); r++)
            fprintf(to,
                    "warprsa_cpu_operations_total{program=\"%s\","
                    "reason=\"%s\"} %" PRIu64 "\n",
                    programs->list[i].name, reason_label(r),
                    (uint64_t)programs->list[i].sum.cpu_reason[r]);
}

static const warprsa_program *find_daemon(const warprsa_programs *programs)
{
    for (size_t i = 0; i < programs->count; i++)
        if (is_daemon(&programs->list[i]))
            return &programs->list[i];
    return NULL;
}

static void write_daemon(const warprsa_programs *programs, FILE *to)
{
    const warprsa_program *daemon = find_daemon(programs);

    describe(to, "warprsad_operations_total", "counter",
             "Private operations that warprsad has computed for its clients, "
             "by bits of the modulus.");
    for (unsigned s = 0; s < WARPRSA_CLASSES && daemon != NULL; s++)
        fprintf(to, "warprsad_operations_total{size=\"%s\"} %" PRIu64 "\n",
                sizes[s], (uint64_t)(daemon->sum.gpu[s] + daemon->sum.ifma[s]));
    describe(to, "warprsad_refused_total", "counter",
             "Private operations that warprsad has left to its clients, by "
             "reason.");
    for (unsigned r = 0; r < WARPRSA_CPU_REASONS && daemon != NULL; r++)
        fprintf(to, "warprsad_refused_total{reason=\"%s\"} %" PRIu64 "\n",
                reason_label(r), (uint64_t)daemon->sum.cpu_reason[r]);
    describe(to, "warprsad_clients", "gauge",
             "Processes that are connected to warprsad.");
    if (daemon != NULL)
        fprintf(to, "warprsad_clients %" PRIu64 "\n",
                (uint64_t)daemon->sum.clients);
}

/* The bins of a histogram, the upper bound of the first one in units of the
 * metric (each next one is twice that), and the sum in the same units. */
typedef struct histogram {
    const char *name, *help;
    size_t bins, offset; /* of the first bin in warprsa_counters */
    double first, sum_unit;
    size_t sum; /* offset of the sum, in sum_unit */
    bool open;  /* the last bin has no upper bound */
} histogram;

static uint64_t word_at(const warprsa_counters *c, size_t offset)
{
    return atomic_load_explicit(
        (const _Atomic uint64_t *)((const char *)c + offset),
        memory_order_relaxed);
}

static void write_one_histogram(const histogram *h, const warprsa_program *p,
                                FILE *to)
{
    uint64_t count = 0;
    double bound = h->first;

    for (size_t i = 0; i < h->bins; i++, bound *= 2) {
        count += word_at(&p->sum, h->offset + i * sizeof(uint64_t));
        if (i + 1 < h->bins || !h->open)
            fprintf(to, "%s_bucket{program=\"%s\",le=\"%.9g\"} %" PRIu64 "\n",
                    h->name, p->name, bound, count);
    }
    fprintf(to, "%s_bucket{program=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", h->name,
            p->name, count);
    fprintf(to, "%s_sum{program=\"%s\"} %.9f\n", h->name, p->name,
            (double)word_at(&p->sum, h->sum) * h->sum_unit);
    fprintf(to, "%s_count{program=\"%s\"} %" PRIu64 "\n", h->name, p->name,
            count);
}

/* Programs without batches have none: clients of the daemon, mostly. */
static void write_histogram(const histogram *h,
                            const warprsa_programs *programs, FILE *to)
{
    describe(to, h->name, "histogram", h->help);
    for (size_t i = 0; i < programs->count; i++)
        if (programs->list[i].sum.batches > 0)
            write_one_histogram(h, &programs->list[i], to);
}

#define FIELD(field) offsetof(warprsa_counters, field)
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

/* Metrics that are one word of a program's. */
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
        {"warprsa_slots", "gauge", "Operations that can be in flight.",
         FIELD(slots)},
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        describe(to, list[i].name, list[i].type, list[i].help);
        for (size_t p = 0; p < programs->count; p++)
            fprintf(to, "%s{program=\"%s\"} %" PRIu64 "\n", list[i].name,
                    programs->list[p].name,
                    word_at(&programs->list[p].sum, list[i].offset));
    }
}

/* Metrics that are one word of a device's. A device that several processes have
 * open is summed over them. */
static void write_device_words(const warprsa_programs *programs, FILE *to)
{
    static const struct {
        const char *name, *type, *help;
        size_t offset;
    } list[] = {
        {"warprsa_device_ready", "gauge", "Processes that use the device.",
         FIELD(device_of[0].ready)},
        {"warprsa_device_operations_total", "counter",
         "Private operations computed by the device.", FIELD(device_of[0].gpu)},
        {"warprsa_device_batches_total", "counter", "Batches of the device.",
         FIELD(device_of[0].batches)},
        {"warprsa_device_keys", "gauge", "Keys on the device.",
         FIELD(device_of[0].keys)},
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        describe(to, list[i].name, list[i].type, list[i].help);
        for (size_t p = 0; p < programs->count; p++)
            for (unsigned d = 0; d < WARPRSA_COUNTERS_DEVICES; d++) {
                const warprsa_program *program = &programs->list[p];
                const warprsa_device_counters *of = &program->sum.device_of[d];

                if (of->ready == 0 && of->batches == 0 && of->losses == 0)
                    continue;
                fprintf(
                    to, "%s{program=\"%s\",device=\"%u\"} %" PRIu64 "\n",
                    list[i].name, program->name, d,
                    word_at(&program->sum, list[i].offset + d * sizeof(*of)));
            }
    }
}

void warprsa_prometheus_write(const warprsa_programs *programs, FILE *to)
{
    write_processes(programs, to);
    write_operations(programs, to);
    write_daemon(programs, to);
    write_histograms(programs, to);
    write_words(programs, to);
    write_device_words(programs, to);
}
