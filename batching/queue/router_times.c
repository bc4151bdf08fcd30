/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How long operations take: see router_times.h.
 */
#include "batching/queue/router_times.h"

enum {
    /* A measurement counts for no more than so many times what was expected: a
     * preempted thread must not spoil the average. */
    OUTLIER = 4,
};

/* An idle device's answer before one was measured: an H200's, by class. The
 * large ones' are the guesses of another engine, whose time grows alike. */
static const uint64_t device_guess_ns[WARPRSA_CLASSES] = {
    1300000, 2800000, 6200000, 9600000, 32000000, 76000000};

/* The time of eight operations by AVX-512 IFMA on one CPU. */
static const uint64_t cpus_guess_ns[WARPRSA_CLASSES] = {
    110000, 720000, 3440000, 6620000, 22000000, 53000000};

static uint64_t get(const _Atomic uint64_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static void set(_Atomic uint64_t *number, uint64_t value)
{
    atomic_store_explicit(number, value, memory_order_relaxed);
}

/* Moves an average a quarter of the way to what was measured now. `expected`:
 * the value beyond which it is an outlier; 0: not known. */
static void average(_Atomic uint64_t *number, uint64_t expected,
                    uint64_t measured)
{
    uint64_t old = get(number);

    if (expected != 0 && measured > OUTLIER * expected)
        measured = OUTLIER * expected;
    set(number, old == 0 ? measured : old - old / 4 + measured / 4);
}

static unsigned bin_of(unsigned before)
{
    unsigned bin = before == 0 ? 0 : 32 - (unsigned)__builtin_clz(before);

    return bin < WARPRSA_ROUTER_BINS ? bin : WARPRSA_ROUTER_BINS - 1;
}

void warprsa_router_times_computed(warprsa_router_times *times,
                                   warprsa_size_class size, uint64_t ns)
{
    average(&times->op_cpu_ns[size], get(&times->op_cpu_ns[size]), ns);
}

uint64_t warprsa_router_times_device(const warprsa_router_times *times,
                                     warprsa_size_class size, unsigned before)
{
    const _Atomic uint64_t *device = times->op_device_ns[size];
    unsigned bin = bin_of(before);
    uint64_t ns = 0;

    for (unsigned b = bin + 1; ns == 0 && b-- > 0;)
        ns = get(&device[b]);
    for (unsigned b = bin + 1; ns == 0 && b < WARPRSA_ROUTER_BINS; b++)
        ns = get(&device[b]);
    return ns != 0 ? ns : device_guess_ns[size];
}

void warprsa_router_times_answered(warprsa_router_times *times,
                                   warprsa_size_class size, unsigned before,
                                   uint64_t response_ns, uint64_t now_ns)
{
    _Atomic uint64_t *device = times->op_device_ns[size];
    unsigned bin = bin_of(before);

    average(&device[bin], warprsa_router_times_device(times, size, before),
            response_ns);
    set(&times->response_at_ns[size], now_ns);
    /* With fewer requests before it no answer takes longer. A bin below that
     * says so is out of date. */
    for (unsigned b = 0; b < bin; b++)
        if (get(&device[b]) > get(&device[bin]))
            set(&device[b], get(&device[bin]));
}

static void forget(warprsa_router_times *times, unsigned size)
{
    for (unsigned b = 0; b < WARPRSA_ROUTER_BINS; b++)
        set(&times->op_device_ns[size][b],
            b == 0 ? get(&times->calibrated_ns[size]) : 0);
}

void warprsa_router_times_forget(warprsa_router_times *times)
{
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        forget(times, c);
}

void warprsa_router_times_forget_old(warprsa_router_times *times,
                                     uint64_t now_ns)
{
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++) {
        /* Another thread's answer may be later than now. */
        if (now_ns < get(&times->response_at_ns[c]) + WARPRSA_ROUTER_RENEW_NS)
            continue;
        forget(times, c);
        set(&times->response_at_ns[c], now_ns);
    }
}

void warprsa_router_times_calibrate(warprsa_router_times *times,
                                    uint64_t test_ns, bool on_cpus)
{
    const uint64_t *guesses = on_cpus ? cpus_guess_ns : device_guess_ns;
    uint64_t guess = 0;

    /* The test is of these classes. */
    for (unsigned c = 0; c < WARPRSA_CLASS_LARGE; c++)
        guess += guesses[c];
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++) {
        uint64_t ns =
            (uint64_t)((double)guesses[c] * (double)test_ns / (double)guess);

        set(&times->calibrated_ns[c], ns > 0 ? ns : 1);
        if (get(&times->op_device_ns[c][0]) == 0)
            set(&times->op_device_ns[c][0], ns > 0 ? ns : 1);
    }
}
