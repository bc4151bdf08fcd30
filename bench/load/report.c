/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The columns of the results, as a table, CSV and JSON.
 */
#include "bench/load/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 512,
};

/* A result by columns, each a name and a text: what CSV and JSON share. */
typedef struct column {
    const char *name;
    bool quoted; /* in JSON */
    char text[TEXT_MAX];
} column;

enum {
    COLUMNS_MAX = 40 + LOAD_COUNTERS,
};

typedef struct row {
    column columns[COLUMNS_MAX];
    unsigned count;
} row;

__attribute__((format(printf, 4, 5))) static void
add(row *row, const char *name, bool quoted, const char *format, ...)
{
    column *column = &row->columns[row->count++];
    va_list arguments;

    column->name = name;
    column->quoted = quoted;
    va_start(arguments, format);
    vsnprintf(column->text, sizeof(column->text), format, arguments);
    va_end(arguments);
}

static double microseconds(uint64_t ns)
{
    return 1e-3 * (double)ns;
}

/* CPU time of one operation, in us. */
static double cpu_us(const load_result *r)
{
    return r->measured > 0 ? microseconds(r->cpu_ns) / (double)r->measured : 0;
}

/* Percent of the operations that a device has answered. */
static double device_share(const load_result *r)
{
    uint64_t all = r->device + r->cpu;

    return all > 0 ? 100 * (double)r->device / (double)all : 0;
}

static void mix_text(const load_options *o, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (int i = 0; i < LOAD_KINDS && length < size; i++)
        if (o->weights[i] > 0)
            length += (size_t)snprintf(text + length, size - length, "%s%s:%u",
                                       length > 0 ? "," : "",
                                       load_kind_names[i], o->weights[i]);
}

static void keys_text(const load_options *o, char *text, size_t size)
{
    size_t length = 0;

    if (o->key_files_count > 0) {
        snprintf(text, size, "%zu files", o->key_files_count);
        return;
    }
    for (size_t i = 0; i < o->groups_count && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%ux%u:%u",
                                   length > 0 ? "," : "", o->groups[i].bits,
                                   o->groups[i].count, o->groups[i].weight);
}

static void add_setting(row *row, const load_options *o, const load_result *r)
{
    const load_subject_options *subject = &o->subjects[r->subject];
    char text[TEXT_MAX];

    add(row, "subject", true, "%s", subject->name);
    add(row, "settings", true, "%s", subject->settings);
    mix_text(o, text, sizeof(text));
    add(row, "mix", true, "%s", text);
    keys_text(o, text, sizeof(text));
    add(row, "key_groups", true, "%s", text);
    if (o->zipf > 0)
        add(row, "distribution", true, "zipf:%g", o->zipf);
    else
        add(row, "distribution", true, "uniform");
    add(row, "bits", false, "%u",
        o->key_files_count == 0 && o->groups_count == 1 ? o->groups[0].bits
                                                        : 0);
    add(row, "callers", true, "%s",
        o->blocking ? "blocking" : (o->callbacks ? "callback" : "fd"));
    add(row, "contexts", true, "%s", o->fresh ? "fresh" : "kept");
    add(row, "threads", false, "%u", r->threads);
    add(row, "in_flight", false, "%u", r->in_flight);
    add(row, "loop", true, "%s",
        r->offered == 0 ? "closed" : (o->even ? "even" : "poisson"));
    add(row, "offered", false, "%.1f", r->offered);
    add(row, "of_closed", false, "%g", r->of_closed);
    add(row, "run", false, "%u", r->run);
}

static void add_counters(row *row, const load_result *r)
{
    for (int i = 0; i < LOAD_COUNTERS; i++)
        add(row, load_counter_table[i].name, false, "%" PRIu64,
            r->counters.value[i]);
}

static void add_results(row *row, const load_result *r)
{
    add(row, "seconds", false, "%.3f", r->seconds);
    add(row, "operations", false, "%" PRIu64, r->measured);
    add(row, "rate", false, "%.1f", load_result_rate(r));
    add(row, "mean_us", false, "%.1f", microseconds(r->mean_ns));
    add(row, "p50_us", false, "%.1f", microseconds(r->p50_ns));
    add(row, "p99_us", false, "%.1f", microseconds(r->p99_ns));
    add(row, "p999_us", false, "%.1f", microseconds(r->p999_ns));
    add(row, "max_us", false, "%.1f", microseconds(r->most_ns));
    add(row, "cpu_us", false, "%.3f", cpu_us(r));
    add(row, "switches", false, "%" PRIu64, r->switches);
    add(row, "device_share", false, "%.2f", device_share(r));
    add_counters(row, r);
    add(row, "started", false, "%" PRIu64, r->started);
    add(row, "verified", false, "%" PRIu64, r->verified);
    add(row, "wrong", false, "%" PRIu64, r->wrong);
    add(row, "failed", false, "%" PRIu64, r->failed);
    add(row, "lost", false, "%" PRIu64, r->lost);
    add(row, "unstarted", false, "%" PRIu64, r->unstarted);
    add(row, "uncounted", false, "%" PRId64, r->uncounted);
    add(row, "memory_kib", false, "%" PRIu64, r->memory_kib);
    add(row, "descriptors", false, "%u", r->descriptors);
}

static FILE *open_file(const char *path)
{
    FILE *file = NULL;

    if (path == NULL)
        return NULL;
    file = fopen(path, "w");
    if (file == NULL)
        load_fail("%s: %s", path, strerror(errno));
    return file;
}

void load_report_begin(load_report *report, const load_options *options)
{
    *report = (load_report){.options = options,
                            .csv = open_file(options->csv),
                            .json = open_file(options->json)};
    if (report->json != NULL)
        fputs("[", report->json);
    printf("%-10s %9s %7s %10s %10s %9s %9s %9s %8s %7s %6s %6s\n", "subject",
           "in flight", "threads", "offered/s", "rate/s", "p50 us", "p99 us",
           "p99.9 us", "CPU us", "device%", "wrong", "failed");
    fflush(stdout);
}

static void write_csv(FILE *file, const row *row, bool first)
{
    for (unsigned i = 0; first && i < row->count; i++)
        fprintf(file, "%s%s", i > 0 ? "," : "", row->columns[i].name);
    if (first)
        fputc('\n', file);
    for (unsigned i = 0; i < row->count; i++) {
        const char *quote = strchr(row->columns[i].text, ',') ? "\"" : "";

        fprintf(file, "%s%s%s%s", i > 0 ? "," : "", quote, row->columns[i].text,
                quote);
    }
    fputc('\n', file);
    fflush(file);
}

static void write_json(FILE *file, const row *row, bool first)
{
    fputs(first ? "\n {" : ",\n {", file);
    for (unsigned i = 0; i < row->count; i++) {
        const char *quote = row->columns[i].quoted ? "\"" : "";

        fprintf(file, "%s\"%s\": %s%s%s", i > 0 ? ", " : "",
                row->columns[i].name, quote, row->columns[i].text, quote);
    }
    fputs("}", file);
}

void load_report_result(load_report *report, const load_result *r)
{
    row *row = calloc(1, sizeof(*row));
    bool first = report->results++ == 0;

    if (row == NULL)
        load_fail("no memory");
    add_setting(row, report->options, r);
    add_results(row, r);
    if (report->csv != NULL)
        write_csv(report->csv, row, first);
    if (report->json != NULL)
        write_json(report->json, row, first);
    free(row);
    printf("%-10s %9u %7u %10.0f %10.1f %9.0f %9.0f %9.0f %8.2f %7.2f %6" PRIu64
           " %6" PRIu64 "\n",
           report->options->subjects[r->subject].name, r->in_flight, r->threads,
           r->offered, load_result_rate(r), microseconds(r->p50_ns),
           microseconds(r->p99_ns), microseconds(r->p999_ns), cpu_us(r),
           device_share(r), r->wrong, r->failed);
    fflush(stdout);
}

static bool closed(FILE *file, const char *path)
{
    bool ok = file == NULL;

    if (ok)
        return true;
    ok = !ferror(file);
    ok = fclose(file) == 0 && ok;
    if (!ok)
        fprintf(stderr, "warprsa-load: %s can't be written\n", path);
    return ok;
}

bool load_report_end(load_report *report)
{
    bool ok = true;

    if (report->json != NULL)
        fputs("\n]\n", report->json);
    ok = closed(report->csv, report->options->csv);
    return closed(report->json, report->options->json) && ok;
}

bool load_report_judge(const load_options *options, const load_result *r)
{
    if (r->wrong + r->failed + r->lost == 0 && r->uncounted == 0)
        return true;
    fprintf(stderr,
            "warprsa-load: %s, %u in flight: of %" PRIu64 " operations %" PRIu64
            " failed, %" PRIu64 " were lost, %" PRIu64 " of %" PRIu64
            " verified were wrong, %" PRId64
            " were not counted by the provider\n",
            options->subjects[r->subject].name, r->in_flight, r->started,
            r->failed, r->lost, r->wrong, r->verified, r->uncounted);
    return false;
}
