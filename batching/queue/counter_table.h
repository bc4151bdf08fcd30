/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The counters, one row each. Whatever shows counters is made of these rows:
 * the provider's parameters, warprsa-stat with its metrics for Prometheus, the
 * columns of warprsa-load, and the manual page warprsa-stat(1). A new counter
 * is a row here, and the line that counts it.
 *
 *     X(NAME, KIND, UNIT, METRIC, HELP)
 *
 * NAME is the field in warprsa_counters or warprsa_device_counters, and what
 * users see: keys_loaded is the parameter "warprsa-keys-loaded". KIND is one of
 *
 *     COUNTER   what has happened so far
 *     GAUGE     what is so now; it ends with the process
 *     PEAK      the most that there has been in the process
 *
 * METRIC is the name in Prometheus, "" if it is no metric there. One that
 * begins with warprsad_ is of the daemon alone. HELP ends where the manual page
 * has its full stop. It has neither quotes nor backslashes.
 */
#ifndef WARPRSA_BATCHING_QUEUE_COUNTER_TABLE_H
#define WARPRSA_BATCHING_QUEUE_COUNTER_TABLE_H

#include <stdio.h>

/* clang-format off */

/* Operations by where they were computed, each a word for each size of the
 * modulus: X(NAME, KIND, WORDS, HELP). */
#define WARPRSA_EACH_ROUTE(X)                                                  \
    X(gpu, COUNTER, WARPRSA_CLASSES,                                           \
      "computed by a device other than the CPUs' vector units")                \
    X(ifma, COUNTER, WARPRSA_CLASSES,                                          \
      "computed by the CPUs' vector units")                                    \
    X(cpu, COUNTER, WARPRSA_CLASSES + 1,                                       \
      "computed by OpenSSL itself")

/* Why an operation ran on the CPU: X(ID, NAME, PHRASE, HELP). The counter is
 * called cpu_NAME; the phrase ends the first line of warprsa-stat. */
#define WARPRSA_EACH_REASON(X)                                                 \
    X(ROUTE, route, "sent to the CPU by the router",                           \
      "the router chose the CPU: by configuration, or because the operation"   \
      " was expected to finish sooner there")                                  \
    X(UNSUPPORTED_KEY, unsupported_key,                                        \
      "with keys that the GPU does not take",                                  \
      "the key is of a kind or size that no device in use takes")              \
    X(STARTING, starting, "while the GPU was being opened",                    \
      "the device was still being opened")                                     \
    X(NO_DEVICE, no_device, "without a GPU in use",                            \
      "there is no device, or all are lost")                                   \
    X(QUEUE_FULL, queue_full, "with all of its request slots taken",           \
      "all request slots were taken, or as many as one user of the daemon may" \
      " have")                                                                 \
    X(DEADLINE, deadline, "not answered in time",                              \
      "there was no answer in time")                                           \
    X(CHECK_FAILED, check_failed, "whose result failed its check",             \
      "the device's result failed its check")                                  \
    X(ERROR, error, "after an error",                                          \
      "something else failed: a launch, memory, randomness, a fork")           \
    X(KEY_CACHE_FULL, key_cache_full, "with too many keys for the GPU at once",\
      "more keys were in use at the same moment than the device holds")        \
    X(OVERFLOW, overflow, "because the GPU had too much to do",                \
      "the device had more to do than it can, and the CPU took a share")       \
    X(KEY_RATE, key_rate, "with more new keys than one user may bring",        \
      "in warprsad: one user brought more new keys than are prepared for one"  \
      " user")                                                                 \
    X(NO_THREADS, no_threads, "in a process that may start no threads",        \
      "the process may start no threads, or too few, and mode = process needs" \
      " some")                                                                 \
    X(WRONG_KEY, wrong_key, "with a key whose numbers are wrong",              \
      "an earlier result with this key has shown that its own numbers are"     \
      " wrong; no device computes with it any more")

/* All others of a process. */
#define WARPRSA_EACH_COUNTER(X)                                                \
    X(batches, COUNTER, "batches", "warprsa_batches_total",                    \
      "Batches run on devices")                                                \
    X(batch_max, PEAK, "operations", "",                                       \
      "Operations in the largest batch")                                       \
    X(batch_operations, COUNTER, "operations", "",                             \
      "Operations in all batches")                                             \
    X(wait_ns, COUNTER, "ns", "",                                              \
      "From the submission of an operation until a batch took it, summed over" \
      " operations")                                                           \
    X(batch_ns, COUNTER, "ns", "",                                             \
      "From then to the end of that batch, summed over operations")            \
    X(compute_ns, COUNTER, "ns", "",                                           \
      "From the launch of a batch to its end, summed over batches")            \
    X(checks_failed, COUNTER, "results", "warprsa_checks_failed_total",        \
      "Wrong results of devices, or of keys whose own numbers are wrong; none" \
      " of them was used")                                                     \
    X(device_losses, COUNTER, "losses", "warprsa_device_losses_total",         \
      "How often a device was taken out of use")                               \
    X(devices, GAUGE, "devices", "warprsa_devices",                            \
      "Devices in use")                                                        \
    X(keys, GAUGE, "keys", "warprsa_keys",                                     \
      "Keys held")                                                             \
    X(keys_loaded, COUNTER, "keys", "warprsa_keys_loaded_total",               \
      "Keys loaded on a device")                                               \
    X(keys_wiped, COUNTER, "keys", "warprsa_keys_wiped_total",                 \
      "Keys wiped from a device; one on a device that was lost, or of a"       \
      " daemon's process that was killed, is not wiped")                       \
    X(keys_evicted, COUNTER, "keys", "warprsa_keys_evicted_total",             \
      "Keys wiped from a device to make room for others")                      \
    X(keys_wrong, COUNTER, "keys", "warprsa_keys_wrong_total",                 \
      "Keys whose own numbers give wrong results")                             \
    X(slots, GAUGE, "operations", "warprsa_slots",                             \
      "Operations that can be in flight")                                      \
    X(slots_bytes, GAUGE, "bytes", "",                                         \
      "Memory allocated for them at the start; no more is allocated later")    \
    X(clients, GAUGE, "processes", "warprsad_clients",                         \
      "Processes that are connected to warprsad")                              \
    X(jobs_left, COUNTER, "jobs", "warprsa_jobs_left_total",                   \
      "Async jobs that the program has left in a pause, as when a client goes" \
      " away in a handshake; libcrypto keeps 10 to 20 KiB of each")            \
    X(vault_uses, COUNTER, "operations", "warprsa_vault_uses_total",           \
      "Uses of keys of the vault that had a result")                           \
    X(vault_libcrypto, COUNTER, "operations", "warprsa_vault_libcrypto_total", \
      "Those of them that libcrypto computed in warprsad")                     \
    X(vault_remote, COUNTER, "operations", "warprsa_vault_remote_total",       \
      "Those of them that another host computed, which has the key")           \
    X(vault_remote_moved, COUNTER, "operations",                               \
      "warprsa_vault_remote_moved_total",                                      \
      "Uses of keys of other hosts that a host did not answer and another one" \
      " got")                                                                  \
    X(vault_remote_wrong, COUNTER, "operations",                               \
      "warprsa_vault_remote_wrong_total",                                      \
      "Wrong results of hosts that have keys; none of them was used")          \
    X(vault_denials, COUNTER, "operations", "warprsa_vault_denials_total",     \
      "Uses of keys of the vault that were denied")                            \
    X(vault_late, COUNTER, "operations", "warprsa_vault_late_total",           \
      "Uses of keys of the vault that warprsad did not answer in time")        \
    WARPRSA_TEST_COUNTER(X)

/* How many were how large or took how long, a bin for each power of two:
 * X(NAME, BINS, SUM, METRIC, HELP), SUM being the counter of their sum. */
#define WARPRSA_EACH_HISTOGRAM(X)                                              \
    X(batch_sizes, WARPRSA_HISTOGRAM_BINS, batch_operations,                   \
      "warprsa_batch_operations", "Operations in a batch")                     \
    X(wait_times, WARPRSA_TIME_BINS, wait_ns, "warprsa_queue_seconds",         \
      "How long operations waited for a batch")                                \
    X(batch_times, WARPRSA_TIME_BINS, batch_ns, "warprsa_batch_seconds",       \
      "How long operations were in a batch, from when it took them to its end")\
    X(compute_times, WARPRSA_TIME_BINS, compute_ns, "warprsa_device_seconds",  \
      "How long batches were on the device, from launch to end")

/* Counters of each device: `keys` is shown as device0_keys. */
#define WARPRSA_EACH_DEVICE_COUNTER(X)                                         \
    X(ready, GAUGE, "devices", "warprsa_device_ready",                         \
      "1 if the device takes operations, else 0; in Prometheus, processes that"\
      " use it")                                                               \
    X(gpu, COUNTER, "operations", "warprsa_device_operations_total",           \
      "Private operations computed by the device, whatever its engine")        \
    X(running, GAUGE, "operations", "warprsa_device_running",                  \
      "Private operations that the device has now")                            \
    X(batches, COUNTER, "batches", "warprsa_device_batches_total",             \
      "Batches of the device")                                                 \
    X(losses, COUNTER, "losses", "warprsa_device_lost_total",                  \
      "How often the device was taken out of use")                             \
    X(checks_failed, COUNTER, "results", "warprsa_device_checks_failed_total", \
      "Wrong results of the device, whatever the cause; none was used")        \
    X(wrong, COUNTER, "losses", "warprsa_device_wrong_total",                  \
      "How often the device was taken out of use for wrong results")           \
    X(failovers, COUNTER, "operations", "warprsa_device_failovers_total",      \
      "Private operations that the device, a remote host, did not do and"      \
      " another one got")                                                      \
    X(keys, GAUGE, "keys", "warprsa_device_keys",                              \
      "Keys on the device")                                                    \
    X(sent_bytes, COUNTER, "bytes", "warprsa_device_sent_bytes_total",         \
      "Bytes sent to a remote host, with what TLS adds")                       \
    X(received_bytes, COUNTER, "bytes", "warprsa_device_received_bytes_total", \
      "Bytes received from a remote host, with what TLS adds")                 \
    X(credit_waits, COUNTER, "batches", "warprsa_device_credit_waits_total",   \
      "Batches for a remote host that had as much in flight as it grants")     \
    X(compute_ns, COUNTER, "ns", "",                                           \
      "From the launch of a batch to its end, summed over the batches of the"  \
      " device")

/* A test adds one, to find it wherever counters are shown. */
#ifndef WARPRSA_TEST_COUNTER
#define WARPRSA_TEST_COUNTER(X)
#endif
/* clang-format on */

/* Why an operation ran on the CPU. */
typedef enum warprsa_cpu_reason {
#define REASON(id, ...) WARPRSA_CPU_##id,
    WARPRSA_EACH_REASON(REASON)
#undef REASON
    WARPRSA_CPU_REASONS
} warprsa_cpu_reason;

enum {
    WARPRSA_COUNTER_NAME_SIZE = 48, /* of any name of a counter */
};

/* The provider's parameter for a counter: "warprsa-keys-loaded". */
static inline void
warprsa_counter_parameter(const char *counter,
                          char name[WARPRSA_COUNTER_NAME_SIZE])
{
    snprintf(name, WARPRSA_COUNTER_NAME_SIZE, "warprsa-%s", counter);
    for (char *c = name; *c != '\0'; c++)
        if (*c == '_')
            *c = '-';
}

#endif
