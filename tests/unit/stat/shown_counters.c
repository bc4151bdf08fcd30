/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every row of the table of counters, and one more that one_more_counter.h
 * adds, is found with its value wherever counters are shown. All that shows
 * them is compiled into this program with that row.
 */
#include "tests/unit/support/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/params.h>

#include "batching/queue/counters.h"
#include "batching/stat/prometheus.h"
#include "bench/load/report.h"
#include "provider/instance.h"
#include "provider/status.h"
#include "tests/unit/support/stat_output.h"

enum {
    FIRST_VALUE = 1000, /* of row 0 */
    FIRST_DEVICE_VALUE = 2000,
};

/* What the rows have beside their names. */
typedef struct shown_row {
    const char *name, *unit, *metric, *help;
} shown_row;

#define SHOWN(name, kind, unit, metric, help) {#name, unit, metric, help},
static const shown_row rows[] = {WARPRSA_EACH_COUNTER(SHOWN)};
static const shown_row device_rows[] = {WARPRSA_EACH_DEVICE_COUNTER(SHOWN)};
enum {
    ROWS = sizeof(rows) / sizeof(rows[0]),
    FIRST_ROW = WARPRSA_COUNTERS - ROWS, /* before it: routes and reasons */
};

static warprsa_counters *block;

/* Instead of the provider's and the load generator's own. */
bool warprsa_instance_is_mine(const warprsa_instance *instance)
{
    return instance->counters == block;
}

double load_result_rate(const load_result *result)
{
    return (double)result->measured;
}

static void set(const warprsa_counter *row, void *in, uint64_t value)
{
    *(_Atomic uint64_t *)((char *)in + row->offset) = value;
}

/* Each counter gets a value that tells it from all others. */
static int make_block(void **state)
{
    block = warprsa_counters_new();
    if (block == NULL)
        return 1;
    for (unsigned i = 0; i < WARPRSA_COUNTERS; i++)
        set(&warprsa_counter_table[i], block, FIRST_VALUE + i);
    for (unsigned i = 0; i < WARPRSA_DEVICE_COUNTERS; i++)
        set(&warprsa_device_counter_table[i], &block->device_of[0],
            FIRST_DEVICE_VALUE + i);
    return 0;
}

static int free_block(void **state)
{
    warprsa_counters_free(block);
    return 0;
}

/* `format` has a name and a number. */
static void expect(const char *in, const char *format, const char *name,
                   unsigned value)
{
    char wanted[256];

    snprintf(wanted, sizeof(wanted), format, name, value);
    if (strstr(in, wanted) == NULL)
        fail_msg("there is no \"%s\" in: %s", wanted, in);
}

/* Each counter, and each of device 0, by its name in warprsa-stat. */
static void expect_all(const char *in, const char *format)
{
    char name[WARPRSA_COUNTER_NAME_SIZE];

    for (unsigned i = 0; i < WARPRSA_COUNTERS; i++)
        expect(in, format, warprsa_counter_table[i].name, FIRST_VALUE + i);
    for (unsigned i = 0; i < WARPRSA_DEVICE_COUNTERS; i++) {
        snprintf(name, sizeof(name), "device0_%s",
                 warprsa_device_counter_table[i].name);
        expect(in, format, name, FIRST_DEVICE_VALUE + i);
    }
}

/* The row that this program adds is the last one. */
TEST(the_row_is_there)
{
    assert_string_equal(rows[ROWS - 1].name, "test_events");
    assert_int_equal(block->test_events, FIRST_VALUE + WARPRSA_COUNTERS - 1);
    for (unsigned i = 0; i < ROWS; i++) {
        const char *name = rows[i].name;
        const size_t length = strlen(name);

        assert_string_equal(name, warprsa_counter_table[FIRST_ROW + i].name);
        assert_int_equal(strcmp(name + length - 3, "_ns") == 0,
                         strcmp(rows[i].unit, "ns") == 0);
        assert_int_equal(strstr(name, "_bytes") != NULL,
                         strcmp(rows[i].unit, "bytes") == 0);
    }
}

TEST(in_the_line)
{
    char line[WARPRSA_COUNTERS_LINE];

    assert_true(warprsa_counters_format(block, line, sizeof(line)) > 0);
    expect_all(line, " %s=%u ");
}

TEST(as_parameters)
{
    warprsa_instance instance = {.counters = block};
    static warprsa_context context;

    atomic_init(&context.instance, &instance);
    for (unsigned i = 0; i < WARPRSA_COUNTERS; i++) {
        char name[WARPRSA_COUNTER_NAME_SIZE];
        uint64_t value = 0;
        OSSL_PARAM wanted[] = {OSSL_PARAM_uint64(name, &value), OSSL_PARAM_END};
        const OSSL_PARAM *said;

        warprsa_counter_parameter(warprsa_counter_table[i].name, name);
        assert_null(strchr(name, '_'));
        said = OSSL_PARAM_locate_const(warprsa_status_gettable(&context), name);
        assert_non_null(said);
        assert_int_equal(said->data_type, OSSL_PARAM_UNSIGNED_INTEGER);
        assert_int_equal(warprsa_status_get(&context, wanted), 1);
        assert_true(OSSL_PARAM_modified(&wanted[0]));
        assert_int_equal(value, FIRST_VALUE + i);
    }
}

/* A file for what is written, and what then is in it. */
static char path[64], text[65536];

static void make_path(void)
{
    int fd;

    strcpy(path, "/tmp/warprsa-counters.XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
}

static void read_text(const char *from)
{
    FILE *file = fopen(from, "r");
    size_t length;

    assert_non_null(file);
    length = fread(text, 1, sizeof(text) - 1, file);
    assert_in_range(length, 1, sizeof(text) - 2);
    text[length] = '\0';
    fclose(file);
}

TEST(by_warprsa_stat)
{
    const char *json;

    expect_all(stat_this_process(NULL), "\n  %-18s %u\n");
    json = stat_this_process("--json");
    expect_all(json, " \"%s\": %u,");
#define LIST(name, ...) assert_non_null(strstr(json, " \"" #name "\": ["));
    WARPRSA_EACH_HISTOGRAM(LIST)
#undef LIST
}

/* After an upgrade. Without it the list would say that no process uses
 * warprsa. */
TEST(of_another_version)
{
    static warprsa_reading reading;
    warprsa_stats_reader reader;
    output out = {0};

    warprsa_stats_open(&reader);
    block->version++;
    warprsa_stats_read(&reader, getpid(), NULL, &reading);
    block->version--;
    assert_int_equal(reading.found, WARPRSA_OTHER_COUNTERS);
    show_each(&out, &reading);
    assert_int_equal(out.printed, 1);
    warprsa_stats_close(&reader);
}

static void expect_metrics(const shown_row *list, unsigned count,
                           const char *labels, unsigned value)
{
    char wanted[512];

    for (unsigned i = 0; i < count; i++) {
        const bool of_daemon = strncmp(list[i].metric, "warprsad_", 9) == 0;

        if (list[i].metric[0] == '\0')
            continue;
        snprintf(wanted, sizeof(wanted), "# HELP %s %s.\n# TYPE %s ",
                 list[i].metric, list[i].help, list[i].metric);
        assert_non_null(strstr(text, wanted));
        snprintf(wanted, sizeof(wanted), "\n%s{user=\"root\"%s} %%s%%u\n",
                 list[i].metric, of_daemon ? "" : labels);
        expect(text, wanted, "", value + i);
    }
}

TEST(in_prometheus)
{
    static warprsa_user_seat user = {.label = "root"};
    static warprsa_program list[2] = {{.user = &user, .name = "test"},
                                      {.user = &user, .name = "warprsad"}};
    static warprsa_programs programs = {.list = list, .count = 2};
    FILE *to = fmemopen(text, sizeof(text), "w");

    assert_non_null(to);
    programs.users.count = 1;
    programs.users.seats[0] = user;
    list[0].user = list[1].user = &programs.users.seats[0];
    memcpy(&list[0].sum, block, sizeof(*block));
    memcpy(&list[1].sum, block, sizeof(*block));
    warprsa_prometheus_write(&programs, to);
    assert_int_equal(fclose(to), 0);
    expect_metrics(rows, ROWS, ",program=\"test\"", FIRST_VALUE + FIRST_ROW);
    expect_metrics(device_rows, WARPRSA_DEVICE_COUNTERS,
                   ",program=\"test\",device=\"0\"", FIRST_DEVICE_VALUE);
    for (unsigned i = 0; i < WARPRSA_CPU_REASONS; i++)
        expect(text, ",program=\"test\",reason=\"%s\"} %u\n",
               warprsa_cpu_reason_name((warprsa_cpu_reason)i),
               FIRST_VALUE + WARPRSA_ROUTES + i);
    for (unsigned i = 0; i < WARPRSA_ROUTES; i++)
        expect(text, ",program=\"test\",route=\"%s\",size=\"1024\"} %u\n",
               warprsa_counter_table[i].name, FIRST_VALUE + i);
}

/* The columns of warprsa-load have the names of warprsa-stat. */
TEST(in_the_load_report)
{
    load_options options = {.csv = path, .subjects_count = 1};
    load_counters last = {0}, now;
    load_result result = {0};
    load_report report;

    make_path();
    for (unsigned i = 0; i < WARPRSA_COUNTERS; i++)
        now.value[i] = FIRST_VALUE + i;
    assert_int_equal(now.test_events, block->test_events);
    assert_int_equal(now.cpu_no_threads,
                     block->cpu_reason[WARPRSA_CPU_NO_THREADS]);
    last.test_events = last.devices = 7;
    result.counters = load_counters_between(&last, &now, &now);
    assert_int_equal(result.counters.test_events, now.test_events - 7);
    assert_int_equal(result.counters.devices, now.devices);
    result.counters = now;
    strcpy(options.subjects[0].name, "test");
    load_report_begin(&report, &options);
    load_report_result(&report, &result);
    assert_true(load_report_end(&report));
    read_text(path);
    for (unsigned i = 0; i < WARPRSA_COUNTERS; i++) {
        expect(text, ",%s,", warprsa_counter_table[i].name, 0);
        expect(text, ",%s%u,", "", FIRST_VALUE + i);
    }
    unlink(path);
}

/* Writes the table with one more row. */
static void write_table(const char *table)
{
#define TEXT(...)    #__VA_ARGS__
#define TEXT_OF(...) TEXT(__VA_ARGS__)
    static const char place[] = "    WARPRSA_TEST_COUNTER(X)\n";
    const char *at = strstr(table, place);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_non_null(at);
    fprintf(file, "%.*s    %s\n%s", (int)(at - table), table,
            TEXT_OF(WARPRSA_TEST_COUNTER(X)), at + sizeof(place) - 1);
    assert_int_equal(fclose(file), 0);
}

TEST(in_the_manual)
{
    const char *source = getenv("SOURCE_DIR");
    char command[2048];

    if (source == NULL || system("python3 --version") != 0)
        skip();
    make_path();
    snprintf(command, sizeof(command), "%s/batching/queue/counter_table.h",
             source);
    read_text(command);
    write_table(text);
    snprintf(command, sizeof(command),
             "python3 %s/scripts/fill-manual %s %s/doc/man/warprsa-stat.1.in "
             "%s",
             source, path, source, path);
    assert_int_equal(system(command), 0);
    read_text(path);
    for (unsigned i = 0; i < WARPRSA_COUNTERS; i++)
        expect(text, i < WARPRSA_ROUTES ? "\n.IR %s \", \"" : "\n.TP\n.I %s\n",
               warprsa_counter_table[i].name, 0);
    for (unsigned i = 0; i < WARPRSA_DEVICE_COUNTERS; i++)
        expect(text, "\n.TP\n.I device0_%s\n",
               warprsa_device_counter_table[i].name, 0);
    for (unsigned i = 0; i < ROWS; i++)
        if (rows[i].metric[0] != '\0')
            expect(text, "\n.TP\n.B %s{user", rows[i].metric, 0);
    for (unsigned i = 0; i < WARPRSA_DEVICE_COUNTERS; i++)
        if (device_rows[i].metric[0] != '\0')
            expect(text, "\n.TP\n.B %s{user,program,device}\n",
                   device_rows[i].metric, 0);
    unlink(path);
}

RUN_TESTS(make_block, free_block)
