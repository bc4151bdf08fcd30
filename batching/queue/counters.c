/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The counter block of a process: its memory, and its counters as text.
 */
#include "batching/queue/counters.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/base/own_fd.h"
#include "batching/base/quiet.h"

/* The block, and behind it what its owner needs to give it back. The block
 * stands first: other processes read it there. */
typedef struct counters_file {
    warprsa_counters counters;
    warprsa_own_fd fd; /* none: anonymous memory */
} counters_file;

#define AT(name) offsetof(warprsa_counters, name)
#define ROUTE_ROW(name, kind, words, ...)                                      \
    {#name, WARPRSA_##kind, AT(name), words},
#define REASON_ROW(id, name, ...)                                              \
    {"cpu_" #name, WARPRSA_COUNTER, AT(cpu_reason[WARPRSA_CPU_##id]), 1},
#define ROW(name, kind, ...) {#name, WARPRSA_##kind, AT(name), 1},
#define DEVICE_ROW(name, kind, ...)                                            \
    {#name, WARPRSA_##kind, offsetof(warprsa_device_counters, name), 1},

const warprsa_counter warprsa_counter_table[WARPRSA_COUNTERS] = {
    WARPRSA_EACH_ROUTE(ROUTE_ROW) WARPRSA_EACH_REASON(REASON_ROW)
        WARPRSA_EACH_COUNTER(ROW)};
const warprsa_counter warprsa_device_counter_table[WARPRSA_DEVICE_COUNTERS] = {
    WARPRSA_EACH_DEVICE_COUNTER(DEVICE_ROW)};

const char *const warprsa_size_names[WARPRSA_CLASSES + 1] = {
    "1024", "2048", "3072", "4096", "6144", "8192", "other"};

const char warprsa_counters_magic[WARPRSA_COUNTERS_MAGIC] = "warprsa-counter";

/* FNV-1a. */
static uint32_t digest(uint32_t before, const void *data, size_t size)
{
    for (const unsigned char *c = data; size > 0; c++, size--)
        before = (before ^ *c) * UINT32_C(16777619);
    return before;
}

uint32_t warprsa_counters_version(void)
{
#define NAME(name, ...)      #name " "
#define REASON_NAME(id, ...) #id " "
    static const char names[] = WARPRSA_EACH_ROUTE(NAME)
        WARPRSA_EACH_REASON(REASON_NAME) WARPRSA_EACH_COUNTER(NAME)
            WARPRSA_EACH_HISTOGRAM(NAME) WARPRSA_EACH_DEVICE_COUNTER(NAME);
    const uint64_t size = sizeof(warprsa_counters);

    return digest(digest(UINT32_C(2166136261), names, sizeof(names)), &size,
                  sizeof(size));
}

/* Gives it the size. The process may be limited to smaller files. */
static bool set_size(int fd)
{
    const warprsa_quiet quiet = warprsa_quiet_begin();
    const bool ok = ftruncate(fd, sizeof(counters_file)) == 0;

    warprsa_quiet_end(&quiet);
    return ok;
}

static warprsa_own_fd memory_file(void)
{
    warprsa_own_fd fd;

    if (warprsa_own_fd_take(&fd,
                            memfd_create("warprsa-counters", MFD_CLOEXEC)) &&
        !set_size(fd.fd))
        warprsa_own_fd_close(&fd);
    return fd;
}

warprsa_counters *warprsa_counters_new(void)
{
    warprsa_own_fd fd = memory_file();
    int flags = MAP_SHARED | (fd.fd >= 0 ? 0 : MAP_ANONYMOUS);
    counters_file *file =
        mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, flags, fd.fd, 0);

    if (file == MAP_FAILED) {
        warprsa_own_fd_close(&fd);
        return NULL;
    }
    memcpy(file->counters.magic, warprsa_counters_magic,
           sizeof(warprsa_counters_magic));
    file->counters.version = warprsa_counters_version();
    file->counters.pid = (uint64_t)getpid();
    file->counters.created_ns = warprsa_clock_ns();
    file->fd = fd;
    return &file->counters;
}

/* Makes gauges zero, and `also` those of another kind. */
static void clear(const warprsa_counter *table, unsigned rows, void *block,
                  warprsa_counter_kind also)
{
    for (unsigned i = 0; i < rows; i++)
        if (table[i].kind == WARPRSA_GAUGE || table[i].kind == also)
            atomic_store((_Atomic uint64_t *)((char *)block + table[i].offset),
                         0);
}

static void clear_all(warprsa_counters *counters, warprsa_counter_kind also)
{
    clear(warprsa_counter_table, WARPRSA_COUNTERS, counters, also);
    for (unsigned d = 0; d < WARPRSA_COUNTERS_DEVICES; d++)
        clear(warprsa_device_counter_table, WARPRSA_DEVICE_COUNTERS,
              &counters->device_of[d], also);
}

void warprsa_counters_restart(warprsa_counters *counters)
{
    atomic_store(&counters->serving_pid, (uint64_t)getpid());
    warprsa_counters_set_device(counters, "none: starting");
    clear_all(counters, WARPRSA_GAUGE);
    for (unsigned d = 0; d < WARPRSA_COUNTERS_DEVICES; d++)
        warprsa_counters_set_name(counters, d, "");
}

void warprsa_counters_end(warprsa_counters *counters)
{
    clear_all(counters, WARPRSA_PEAK);
}

void warprsa_counters_free(warprsa_counters *counters)
{
    counters_file *file = (counters_file *)counters;

    if (file == NULL)
        return;
    warprsa_own_fd_close(&file->fd);
    munmap(file, sizeof(*file));
}

static void set_text(warprsa_counters_text to, const char *text)
{
    static const char cut[] = "...";
    const size_t room = WARPRSA_COUNTERS_TEXT - sizeof(cut);
    const bool fits =
        strnlen(text, WARPRSA_COUNTERS_TEXT) < WARPRSA_COUNTERS_TEXT;
    size_t i = 0;

    for (; i < WARPRSA_COUNTERS_TEXT - 1 && text[i] != '\0'; i++)
        atomic_store_explicit(&to[i],
                              fits || i < room ? text[i] : cut[i - room],
                              memory_order_relaxed);
    for (; i < WARPRSA_COUNTERS_TEXT; i++)
        atomic_store_explicit(&to[i], '\0', memory_order_relaxed);
}

static void get_text(const warprsa_counters_text from,
                     char text[WARPRSA_COUNTERS_TEXT])
{
    size_t i;

    for (i = 0; i < WARPRSA_COUNTERS_TEXT - 1; i++) {
        char c = atomic_load_explicit(&from[i], memory_order_relaxed);

        if (c == '\0')
            break;
        text[i] = c < ' ' || c > '~' || c == '"' || c == '\\' ? '?' : c;
    }
    text[i] = '\0';
}

void warprsa_counters_set_device(warprsa_counters *counters, const char *text)
{
    set_text(counters->device, text);
}

void warprsa_counters_set_name(warprsa_counters *counters, unsigned device,
                               const char *text)
{
    set_text(counters->device_names[device], text);
}

void warprsa_counters_device(const warprsa_counters *counters,
                             char text[WARPRSA_COUNTERS_TEXT])
{
    get_text(counters->device, text);
}

void warprsa_counters_name(const warprsa_counters *counters, unsigned device,
                           char text[WARPRSA_COUNTERS_TEXT])
{
    get_text(counters->device_names[device], text);
}

static uint64_t read_one(const _Atomic uint64_t *counter)
{
    return warprsa_counted(counter, 1);
}

uint64_t warprsa_times_quantile(const warprsa_times times, unsigned percent)
{
    uint64_t all = warprsa_counted(times, WARPRSA_TIME_BINS), below = 0;

    for (unsigned i = 0; i < WARPRSA_TIME_BINS; i++) {
        below += read_one(&times[i]);
        if (below > 0 && below * 100 >= all * percent)
            return UINT64_C(1) << (WARPRSA_TIME_BIN_SHIFT + i);
    }
    return 0;
}

bool warprsa_device_is_known(const warprsa_device_counters *device)
{
    return read_one(&device->ready) != 0 || read_one(&device->batches) != 0 ||
           read_one(&device->losses) != 0;
}

/* The counters of a device: "device0_gpu" and so on. */
static void each_of_device(const warprsa_device_counters *device,
                           unsigned number, warprsa_counter_fn each, void *arg)
{
    static const struct {
        const char *name;
        unsigned percent;
    } quantiles[] = {{"p50_ns", 50}, {"p99_ns", 99}};
    char name[WARPRSA_COUNTER_NAME_SIZE];

    for (unsigned i = 0; i < WARPRSA_DEVICE_COUNTERS; i++) {
        const warprsa_counter *row = &warprsa_device_counter_table[i];

        snprintf(name, sizeof(name), "device%u_%s", number, row->name);
        each(arg, name, read_one(warprsa_counter_words(row, device)));
    }
    for (unsigned i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
        snprintf(name, sizeof(name), "device%u_%s", number, quantiles[i].name);
        each(arg, name,
             warprsa_times_quantile(device->compute_times,
                                    quantiles[i].percent));
    }
}

#define REASON_TEXT(id, name, phrase, help) {#name, phrase},
static const struct {
    const char *name, *phrase;
} reasons[WARPRSA_CPU_REASONS] = {WARPRSA_EACH_REASON(REASON_TEXT)};

const char *warprsa_cpu_reason_name(warprsa_cpu_reason reason)
{
    return reasons[reason].name;
}

const char *warprsa_cpu_reason_phrase(warprsa_cpu_reason reason)
{
    return reasons[reason].phrase;
}

/* The words of a route: "gpu_2048" and so on. */
static void each_size(const warprsa_counter *row, const _Atomic uint64_t *words,
                      warprsa_counter_fn each, void *arg)
{
    char name[WARPRSA_COUNTER_NAME_SIZE];

    for (unsigned i = 0; i < row->words; i++) {
        snprintf(name, sizeof(name), "%s_%s%s", row->name,
                 warprsa_size_names[i], i == WARPRSA_CLASSES ? "_size" : "");
        each(arg, name, read_one(&words[i]));
    }
}

void warprsa_counters_each(const warprsa_counters *c, warprsa_counter_fn each,
                           void *arg)
{
    for (unsigned i = 0; i < WARPRSA_COUNTERS; i++) {
        const warprsa_counter *row = &warprsa_counter_table[i];
        const _Atomic uint64_t *words = warprsa_counter_words(row, c);

        each(arg, row->name, warprsa_counted(words, row->words));
        if (row->words > 1)
            each_size(row, words, each, arg);
    }
    for (unsigned d = 0; d < WARPRSA_COUNTERS_DEVICES; d++)
        if (warprsa_device_is_known(&c->device_of[d]))
            each_of_device(&c->device_of[d], d, each, arg);
}

/* A line being written: keeps what fits. */
typedef struct line_buffer {
    char *text;
    size_t size;
    size_t length;
} line_buffer;

__attribute__((format(printf, 2, 3))) static void
append(line_buffer *line, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(line->text + line->length, line->size - line->length, format,
                  args);
    va_end(args);
    if (n > 0)
        line->length += (size_t)n;
    if (line->length >= line->size)
        line->length = line->size - 1;
}

static void append_counter(void *arg, const char *name, uint64_t value)
{
    append(arg, " %s=%" PRIu64, name, value);
}

size_t warprsa_counters_format(const warprsa_counters *counters, char *line,
                               size_t size)
{
    line_buffer out = {line, size, 0};
    char device[WARPRSA_COUNTERS_TEXT];

    if (size == 0)
        return 0;
    warprsa_counters_device(counters, device);
    append(&out, "device=\"%s\"", device);
    warprsa_counters_each(counters, append_counter, &out);
    for (unsigned i = 0; i < WARPRSA_HISTOGRAM_BINS; i++)
        if (read_one(&counters->batch_sizes[i]) != 0)
            append(&out, " batches_to_%lu=%" PRIu64, 1ul << i,
                   read_one(&counters->batch_sizes[i]));
    return out.length;
}
