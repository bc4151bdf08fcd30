/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What gpu/ offers to batching/: engines that compute RSA private operations
 * by the batch. Plain C; no CUDA and no OpenSSL type appears here.
 *
 * Numbers are byte strings, most significant byte first (RFC 8017, I2OSP),
 * left-padded with zeros to the size the text states.
 */
#ifndef WARPRSA_GPU_ENGINE_H
#define WARPRSA_GPU_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WARPRSA_MODULUS_BITS_MIN = 1024,
    WARPRSA_MODULUS_BITS_MAX = 4096,
    WARPRSA_MODULUS_BYTES_MAX = 512,
    /* A prime of the largest class: 40 samples of 52 bits less 5 bits of
     * head room for Montgomery's bound 32P < R, 2075 bits. */
    WARPRSA_PRIME_BYTES_MAX = 260,
    WARPRSA_EXPONENT_BYTES = 8,
    WARPRSA_STREAMS_MAX = 8,
};

typedef enum warprsa_status {
    WARPRSA_OK = 0,
    WARPRSA_CHECK_FAILED,    /* s^e did not give back the input; s is gone */
    WARPRSA_DEADLINE,        /* not finished in the time allowed */
    WARPRSA_DEVICE_ERROR,    /* the device or its driver reported an error */
    WARPRSA_NO_DEVICE,       /* none there, none chosen, or all lost */
    WARPRSA_NO_MEMORY,       /* of host or device */
    WARPRSA_NO_RANDOM,       /* the source of blinding factors failed */
    WARPRSA_UNSUPPORTED_KEY, /* see warprsa_key_class() */
} warprsa_status;

/* A short English name, never NULL; static storage. */
const char *warprsa_status_text(warprsa_status status);

/* Size classes, named after the usual modulus; a key belongs to the smallest
 * class whose samples hold its longer prime (10, 20, 30 or 40 of 52 bits). */
typedef enum warprsa_size_class {
    WARPRSA_CLASS_1024, /* primes up to  515 bits */
    WARPRSA_CLASS_2048, /* primes up to 1035 bits */
    WARPRSA_CLASS_3072, /* primes up to 1555 bits */
    WARPRSA_CLASS_4096, /* primes up to 2075 bits */
    WARPRSA_CLASSES
} warprsa_size_class;

/* A two-prime RSA private key (RFC 8017, section 3.2, second form), all
 * numbers left-padded. Plain data: can be copied and mapped. SECRET: whoever
 * owns one wipes it. */
typedef struct warprsa_private_key {
    uint32_t modulus_bytes; /* length of n without leading zeros */
    uint8_t n[WARPRSA_MODULUS_BYTES_MAX];
    uint8_t e[WARPRSA_EXPONENT_BYTES];
    uint8_t p[WARPRSA_PRIME_BYTES_MAX];
    uint8_t q[WARPRSA_PRIME_BYTES_MAX];
    uint8_t dp[WARPRSA_PRIME_BYTES_MAX];
    uint8_t dq[WARPRSA_PRIME_BYTES_MAX];
    uint8_t qinv[WARPRSA_PRIME_BYTES_MAX];
} warprsa_private_key;

/*
 * The size class of a key, or -1 when the engines can't take it: modulus
 * outside WARPRSA_MODULUS_BITS_MIN..MAX or not of modulus_bytes bytes, a
 * prime longer than the largest class holds, primes too short or too long for
 * their product to have n's length, n, p or q even, e even or below 3. What
 * takes more than a look is load_key()'s to refuse (n is not p q); a key that
 * lies otherwise fails its check at each operation. Any thread.
 */
int warprsa_key_class(const warprsa_private_key *key);

/* Fills `out` with `len` unpredictable bytes; 1 on success, 0 on failure.
 * Called by any thread that calls start(). */
typedef int (*warprsa_random_fn)(void *arg, void *out, size_t len);

/* Receives one line without a newline; never key material. Levels: 1 life of
 * devices and errors, 2 batches. Any thread. */
typedef void (*warprsa_trace_fn)(void *arg, int level, const char *line);

typedef struct warprsa_device_config {
    unsigned ordinal;   /* which device, 0 .. count() - 1 */
    unsigned streams;   /* batches that may be under way, 1..STREAMS_MAX */
    unsigned batch_max; /* requests in one batch at most, >= 1 */
    unsigned keys_max;  /* keys loaded at once at most, >= 1 */
    /* Kernel by name, where it has one for a size class: for tests and
     * benchmarks. NULL: the engine chooses the fastest for each batch. */
    const char *kernel;
    /* Where a device's times are kept that had to be measured to choose by; see
     * gpu/select/calibration_file.h. NULL or empty: nowhere. */
    const char *calibration_file;
    /* Kernels may read the one entry of a table that they need: its address
     * depends on the secret exponent. For devices that nobody else uses. */
    bool direct_table_reads;
    warprsa_random_fn random;
    void *random_arg;
    warprsa_trace_fn trace; /* may be NULL */
    void *trace_arg;
} warprsa_device_config;

/* One private operation: output = input^d mod n. Both of the key's
 * modulus_bytes, input < n. Input and output are read in start() and written
 * in wait(); they must live from the one to the other. */
typedef struct warprsa_task {
    uint32_t key; /* as given by load_key(); of the batch's size class */
    const uint8_t *input;
    uint8_t *output;       /* zeros unless status is WARPRSA_OK */
    warprsa_status status; /* set by wait() */
} warprsa_task;

typedef struct warprsa_device warprsa_device;

/*
 * An engine. Functions that return a warprsa_status leave nothing half done
 * on failure. `why` receives one line for a person.
 */
typedef struct warprsa_engine {
    const char *name; /* "cuda", "host" */

    /* How many devices there are; 0 with the reason in why. */
    unsigned (*count)(char *why, size_t why_size);

    /* Opens a device, allocates everything a batch needs and runs the
     * known-answer test of every size class on it; only a device that passes
     * is returned. May take seconds; not for a caller's thread. */
    warprsa_status (*open)(const warprsa_device_config *config,
                           warprsa_device **device, char *why, size_t why_size);

    /* Wipes all keys and staging memory, host and device, and frees. Waits
     * for batches under way unless the device is lost. NULL is allowed. */
    void (*close)(warprsa_device *device);

    /* Model and ordinal, and where the choice of kernels comes from, for
     * people, e.g. "NVIDIA H200 (cuda 0, paces: table)"; lives as long as the
     * device. */
    const char *(*describe)(const warprsa_device *device);

    /* Prepares a key (Montgomery constants) and puts it on the device.
     * WARPRSA_NO_MEMORY when keys_max are loaded. Any thread. */
    warprsa_status (*load_key)(warprsa_device *device,
                               const warprsa_private_key *key, uint32_t *index);

    /* Wipes a key. No batch that uses it may be under way. Any thread. */
    void (*unload_key)(warprsa_device *device, uint32_t index);

    /* Starts a batch of 1..batch_max tasks, all keys of one size class, on an
     * idle stream. One thread at a time per stream. */
    warprsa_status (*start)(warprsa_device *device, unsigned stream,
                            warprsa_size_class size, warprsa_task *tasks,
                            size_t count);

    /* Waits up to timeout_ms for the stream's batch; WARPRSA_OK: every
     * task's status and output are set. WARPRSA_DEADLINE: the tasks are
     * untouched and forgotten, the stream stays busy; a later wait() says
     * WARPRSA_OK once it is idle again. Any other status: the device is lost,
     * the tasks are untouched and forgotten, only close() is left. */
    warprsa_status (*wait)(warprsa_device *device, unsigned stream,
                           unsigned timeout_ms);

    /* The known-answer test again, on an idle stream, e.g. before a device
     * that missed a deadline is used again. */
    warprsa_status (*self_test)(warprsa_device *device, unsigned stream);
} warprsa_engine;

/* The same arithmetic on the CPU: the proof of it where no GPU is. One
 * device, always there. */
const warprsa_engine *warprsa_engine_host(void);

/* NVIDIA GPUs; NULL in a build without CUDA. Needs no driver to load:
 * count() is 0 without one. */
const warprsa_engine *warprsa_engine_cuda(void);

#ifdef __cplusplus
}
#endif
#endif
