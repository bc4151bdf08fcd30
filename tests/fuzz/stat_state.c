/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzer: warprsa-stat's state file. The bytes become a file of a head and
 * records, each 12 bytes of the input: what of it is read must give metrics
 * that any parser takes, and a file that is read again without a complaint.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batching/stat/programs.h"
#include "batching/stat/prometheus.h"

enum {
    RECORD_INPUT = 12,
    RECORDS_MAX = 40, /* more programs than a user may have */
};

/* As the head of a state file, see programs.c. */
typedef struct head {
    char magic[8];
    uint32_t version, record_size;
    uint64_t records;
} head;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void want(bool condition)
{
    if (!condition)
        abort();
}

/* One name, user, process and place of a counter, from the input. */
static void fill(warprsa_seen *seen, const uint8_t *data)
{
    const size_t words =
        (sizeof(*seen) - offsetof(warprsa_seen, uid)) / sizeof(uint64_t);
    const size_t word = (data[8] | (size_t)data[9] << 8) % words;
    uint64_t *place = (uint64_t *)(void *)&seen->uid + word;

    memset(seen, 0, sizeof(*seen));
    for (size_t i = 0; i < sizeof(seen->name); i++) /* with no end, too */
        seen->name[i] = (char)data[i % 6];
    if (data[6] < 128)
        seen->name[data[6] % 8] = '\0';
    seen->uid = data[7];
    *place = (uint64_t)data[10] << (data[11] % 64);
}

static void write_file(const char *path, const uint8_t *data, size_t size)
{
    static warprsa_seen seen;
    head h = {"warprsa", warprsa_counters_version(), sizeof(seen), data[1]};
    FILE *file = fopen(path, "w");
    size_t cut = data[2] | (size_t)data[3] << 8;

    want(file != NULL);
    ((uint8_t *)&h)[data[0] % 64 % sizeof(h)] ^= data[0] >> 6;
    fwrite(&h, sizeof(h), 1, file);
    for (size_t at = 4, i = 0; at + RECORD_INPUT <= size && i < RECORDS_MAX;
         at += RECORD_INPUT, i++) {
        fill(&seen, data + at);
        fwrite(&seen, sizeof(seen), 1, file);
    }
    want(fclose(file) == 0);
    if (data[1] % 2 == 1)
        want(truncate(path, (off_t)cut) == 0);
}

/* A line is a comment or NAME{LABELS} NUMBER, of printable characters; in
 * labels no quote but those around a value. */
static void check_line(const char *line)
{
    const char *labels = strchr(line, '{');
    const char *end = strrchr(line, '}');
    unsigned quotes = 0;

    for (const char *c = line; *c != '\0'; c++)
        want(isprint((unsigned char)*c) && *c != '\\');
    if (line[0] == '#' || labels == NULL)
        return;
    want(end != NULL && end[1] == ' ' && end > labels);
    for (const char *c = labels; c < end; c++) {
        const bool opens = *c == '"' && quotes % 2 == 0;
        const bool closes = *c == '"' && quotes % 2 == 1;

        want(!opens || c[-1] == '=');
        want(!closes || c[1] == ',' || c + 1 == end);
        quotes += *c == '"';
    }
    want(quotes > 0 && quotes % 2 == 0);
}

static void check_metrics(const warprsa_programs *programs)
{
    char *text = NULL, *rest, *line;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    want(to != NULL);
    warprsa_prometheus_write(programs, to);
    want(fclose(to) == 0);
    for (line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        check_line(line);
    free(text);
}

static void remember(const char *path, char *why, size_t why_size)
{
    warprsa_programs *programs = calloc(1, sizeof(*programs));

    want(programs != NULL);
    want(warprsa_programs_remember(programs, path, why, why_size));
    want(warprsa_programs_sum(programs));
    check_metrics(programs);
    warprsa_programs_free(programs);
    free(programs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], why[256];

    if (size < 4)
        return 0;
    snprintf(path, sizeof(path), "/dev/shm/warprsa-fuzz.%d", (int)getpid());
    write_file(path, data, size);
    remember(path, why, sizeof(why));
    remember(path, why, sizeof(why));
    want(why[0] == '\0');
    unlink(path);
    return 0;
}
