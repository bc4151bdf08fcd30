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

const char warprsa_counters_magic[WARPRSA_COUNTERS_MAGIC] = "warprsa-counter";

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
    file->counters.version = WARPRSA_COUNTERS_VERSION;
    file->counters.pid = (uint64_t)getpid();
    file->counters.created_ns = warprsa_clock_ns();
    file->fd = fd;
    return &file->counters;
}

void warprsa_counters_restart(warprsa_counters *counters)
{
    atomic_store(&counters->serving_pid, (uint64_t)getpid());
    warprsa_counters_set_device(counters, "none: starting");
    atomic_store(&counters->devices, 0);
    atomic_store(&counters->clients, 0);
    atomic_store(&counters->keys, 0);
    atomic_store(&counters->slots, 0);
    atomic_store(&counters->slots_bytes, 0);
    for (unsigned d = 0; d < WARPRSA_COUNTERS_DEVICES; d++) {
        atomic_store(&counters->device_of[d].ready, 0);
        atomic_store(&counters->device_of[d].keys, 0);
        atomic_store(&counters->device_of[d].running, 0);
        warprsa_counters_set_name(counters, d, "");
    }
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
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static uint64_t read_sum(const _Atomic uint64_t *counters, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += read_one(&counters[i]);
    return sum;
}

uint64_t warprsa_times_quantile(const warprsa_times times, unsigned percent)
{
    uint64_t all = read_sum(times, WARPRSA_TIME_BINS), below = 0;

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

/* The counters of the devices that have been used: "device0_gpu" and so on. */
static void each_device(const warprsa_counters *c, warprsa_counter_fn each,
                        void *arg)
{
    for (unsigned d = 0; d < WARPRSA_COUNTERS_DEVICES; d++) {
        const warprsa_device_counters *device = &c->device_of[d];
        const _Atomic uint64_t *traffic = device->traffic;
        const struct {
            const char *name;
            uint64_t value;
        } list[] = {
            {"ready", read_one(&device->ready)},
            {"gpu", read_one(&device->gpu)},
            {"running", read_one(&device->running)},
            {"batches", read_one(&device->batches)},
            {"losses", read_one(&device->losses)},
            {"checks_failed", read_one(&device->checks_failed)},
            {"wrong", read_one(&device->wrong)},
            {"failovers", read_one(&device->failovers)},
            {"compute_ns", read_one(&device->compute_ns)},
            {"p50_ns", warprsa_times_quantile(device->compute_times, 50)},
            {"p99_ns", warprsa_times_quantile(device->compute_times, 99)},
            {"keys", read_one(&device->keys)},
            {"sent_bytes", read_one(&traffic[WARPRSA_TRAFFIC_SENT])},
            {"received_bytes", read_one(&traffic[WARPRSA_TRAFFIC_RECEIVED])},
            {"credit_waits", read_one(&traffic[WARPRSA_TRAFFIC_CREDIT_WAITS])},
        };
        char name[32];

        if (!warprsa_device_is_known(device))
            continue;
        for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
            snprintf(name, sizeof(name), "device%u_%s", d, list[i].name);
            each(arg, name, list[i].value);
        }
    }
}

const char *warprsa_cpu_reason_name(warprsa_cpu_reason reason)
{
    static const char *const names[WARPRSA_CPU_REASONS] = {
        [WARPRSA_CPU_ROUTE] = "cpu_route",
        [WARPRSA_CPU_UNSUPPORTED_KEY] = "cpu_unsupported_key",
        [WARPRSA_CPU_STARTING] = "cpu_starting",
        [WARPRSA_CPU_NO_DEVICE] = "cpu_no_device",
        [WARPRSA_CPU_QUEUE_FULL] = "cpu_queue_full",
        [WARPRSA_CPU_DEADLINE] = "cpu_deadline",
        [WARPRSA_CPU_CHECK_FAILED] = "cpu_check_failed",
        [WARPRSA_CPU_ERROR] = "cpu_error",
        [WARPRSA_CPU_KEY_CACHE_FULL] = "cpu_key_cache_full",
        [WARPRSA_CPU_OVERFLOW] = "cpu_overflow",
        [WARPRSA_CPU_KEY_RATE] = "cpu_key_rate",
        [WARPRSA_CPU_NO_THREADS] = "cpu_no_threads",
        [WARPRSA_CPU_WRONG_KEY] = "cpu_wrong_key",
    };

    return names[reason];
}

void warprsa_counters_each(const warprsa_counters *c, warprsa_counter_fn each,
                           void *arg)
{
    static const char *const gpu[WARPRSA_CLASSES] = {
        "gpu_1024", "gpu_2048", "gpu_3072", "gpu_4096", "gpu_6144", "gpu_8192"};
    static const char *const ifma[WARPRSA_CLASSES] = {"ifma_1024", "ifma_2048",
                                                      "ifma_3072", "ifma_4096",
                                                      "ifma_6144", "ifma_8192"};
    static const char *const cpu[WARPRSA_CLASSES + 1] = {
        "cpu_1024", "cpu_2048", "cpu_3072",      "cpu_4096",
        "cpu_6144", "cpu_8192", "cpu_other_size"};

    each(arg, "gpu", read_sum(c->gpu, WARPRSA_CLASSES));
    for (size_t i = 0; i < WARPRSA_CLASSES; i++)
        each(arg, gpu[i], read_one(&c->gpu[i]));
    each(arg, "ifma", read_sum(c->ifma, WARPRSA_CLASSES));
    for (size_t i = 0; i < WARPRSA_CLASSES; i++)
        each(arg, ifma[i], read_one(&c->ifma[i]));
    each(arg, "cpu", read_sum(c->cpu, WARPRSA_CLASSES + 1));
    for (unsigned i = 0; i < WARPRSA_CPU_REASONS; i++)
        each(arg, warprsa_cpu_reason_name((warprsa_cpu_reason)i),
             read_one(&c->cpu_reason[i]));
    for (size_t i = 0; i < WARPRSA_CLASSES + 1; i++)
        each(arg, cpu[i], read_one(&c->cpu[i]));
    each(arg, "batches", read_one(&c->batches));
    each(arg, "batch_max", read_one(&c->batch_max));
    each(arg, "batch_operations", read_one(&c->batch_operations));
    each(arg, "wait_ns", read_one(&c->wait_ns));
    each(arg, "batch_ns", read_one(&c->batch_ns));
    each(arg, "compute_ns", read_one(&c->compute_ns));
    each(arg, "checks_failed", read_one(&c->checks_failed));
    each(arg, "device_losses", read_one(&c->device_losses));
    each(arg, "devices", read_one(&c->devices));
    each(arg, "keys", read_one(&c->keys));
    each(arg, "keys_loaded", read_one(&c->keys_loaded));
    each(arg, "keys_wiped", read_one(&c->keys_wiped));
    each(arg, "keys_evicted", read_one(&c->keys_evicted));
    each(arg, "keys_wrong", read_one(&c->keys_wrong));
    each(arg, "slots", read_one(&c->slots));
    each(arg, "slots_bytes", read_one(&c->slots_bytes));
    each(arg, "clients", read_one(&c->clients));
    each_device(c, each, arg);
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
