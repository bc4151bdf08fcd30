/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The contract between batching/ and gpu/: engines that compute RSA private
 * operations by the batch. This is the only header of gpu/ that batching/
 * includes. It is plain C; no CUDA type and no OpenSSL type appears here.
 *
 * Numbers are byte strings, most significant byte first (the octet strings of
 * RFC 8017's I2OSP), padded with zeros on the left to the size that the text
 * states.
 *
 * "Any thread" means that any number of threads may call at the same time.
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
    WARPRSA_MODULUS_BITS_MAX = 8192,
    WARPRSA_MODULUS_BYTES_MAX = 1024,
    /* The longest prime of the largest class: 80 samples of 52 bits, less
     * the 5 bits of head room that Montgomery's bound 32P < R needs, are
     * 4155 bits. */
    WARPRSA_PRIME_BYTES_MAX = 520,
    WARPRSA_EXPONENT_BYTES = 8,
    /* Requests that the engine "ifma" computes at a time. A batch of fewer
     * takes as long. */
    WARPRSA_IFMA_LANES = 8,
    WARPRSA_STREAMS_MAX = 256,
    WARPRSA_GPU_STREAMS_MAX = 32, /* CUDA has no more hardware queues */
    /* Operations that a device may have under way in all of its batches: a
     * queue has no more slots. */
    WARPRSA_UNDER_WAY_MAX = 65536,
};

typedef enum warprsa_status {
    WARPRSA_OK = 0,
    WARPRSA_CHECK_FAILED,    /* s^e mod n is not the input; s was discarded */
    WARPRSA_DEADLINE,        /* not finished in the time allowed */
    WARPRSA_DEVICE_ERROR,    /* the device or its driver reported an error */
    WARPRSA_NO_DEVICE,       /* none present, none configured, or all lost */
    WARPRSA_NO_MEMORY,       /* memory of the host or the device ran out */
    WARPRSA_NO_RANDOM,       /* the source of blinding factors failed */
    WARPRSA_UNSUPPORTED_KEY, /* see warprsa_key_class() */
    WARPRSA_LARGE_KEYS_FULL, /* see load_key(), which alone returns it */
} warprsa_status;

/* Describes a status in a few English words. Never NULL; static storage. Any
 * thread. */
const char *warprsa_status_text(warprsa_status status);

/* Size classes, named after the usual modulus. A key belongs to the smallest
 * class whose samples hold its longer prime: 10, 20, 30, 40, 60 or 80 samples
 * of 52 bits. Keys of the large classes, the last two, are rare and long; an
 * engine need not take them (warprsa_engine.classes). */
typedef enum warprsa_size_class {
    WARPRSA_CLASS_1024, /* primes up to  515 bits */
    WARPRSA_CLASS_2048, /* primes up to 1035 bits */
    WARPRSA_CLASS_3072, /* primes up to 1555 bits */
    WARPRSA_CLASS_4096, /* primes up to 2075 bits */
    WARPRSA_CLASS_6144, /* primes up to 3115 bits */
    WARPRSA_CLASS_8192, /* primes up to 4155 bits */
    WARPRSA_CLASSES,
    WARPRSA_CLASS_LARGE = WARPRSA_CLASS_6144, /* the first large class */
} warprsa_size_class;

/* The bits of the modulus that a class is named after. */
static inline unsigned warprsa_class_bits(warprsa_size_class size)
{
    static const unsigned bits[] = {1024, 2048, 3072, 4096, 6144, 8192};

    return bits[size];
}

/* A two-prime RSA private key (RFC 8017, section 3.2, second form). All numbers
 * are padded on the left to their arrays. Plain data: it may be copied and
 * mapped. SECRET: its owner wipes it. */
typedef struct warprsa_private_key {
    uint32_t modulus_bytes; /* bytes of n without leading zeros */
    uint8_t n[WARPRSA_MODULUS_BYTES_MAX];
    uint8_t e[WARPRSA_EXPONENT_BYTES];
    uint8_t p[WARPRSA_PRIME_BYTES_MAX];
    uint8_t q[WARPRSA_PRIME_BYTES_MAX];
    uint8_t dp[WARPRSA_PRIME_BYTES_MAX];
    uint8_t dq[WARPRSA_PRIME_BYTES_MAX];
    uint8_t qinv[WARPRSA_PRIME_BYTES_MAX];
} warprsa_private_key;

/*
 * Returns the size class of a key (a warprsa_size_class), or -1 if the engines
 * do not take it: the modulus is outside WARPRSA_MODULUS_BITS_MIN..MAX or does
 * not have modulus_bytes bytes; a prime is longer than the largest class holds;
 * the primes are too short or too long for their product to have n's length; n,
 * p, q, dp or dq is even; p is q; e is even or below 3.
 *
 * This multiplies nothing. load_key() refuses a key whose n is not p q, or
 * whose qinv is not the inverse of q. A key that is wrong in another way fails
 * the check of each of its operations. Any thread.
 */
int warprsa_key_class(const warprsa_private_key *key);

/* Whether the numbers of a key that the engines take are those of an RSA key
 * (RFC 8017, 3.2), after a result has failed its check. WARPRSA_OK: p and q are
 * primes, and n, dp, dq and qinv belong to them and e; so whatever computed the
 * result did it wrongly, for any input. WARPRSA_CHECK_FAILED: they are not, and
 * the engines, which blind exponents by p - 1 and q - 1, promise nothing.
 * Another status: it could not be found out. Wrong numbers take less than a
 * private operation, right ones as long as 64 of them, or 128 above 4096 bits,
 * for two primes are tested. Any thread. */
warprsa_status warprsa_check_key(const warprsa_private_key *key);

/* Fills `out` with `len` bytes that nobody can predict, for blinding. Returns 1
 * on success, 0 on failure. Called by any thread that calls start(). */
typedef int (*warprsa_random_fn)(void *arg, void *out, size_t len);

/* Receives one line of text without a newline; it never holds key material.
 * Levels: 1 for devices that come and go and for errors, 2 for batches. Called
 * by any thread. */
typedef void (*warprsa_trace_fn)(void *arg, int level, const char *line);

/* What a device on another host counts. */
typedef enum warprsa_traffic {
    WARPRSA_TRAFFIC_SENT,         /* bytes, as they are on the wire */
    WARPRSA_TRAFFIC_RECEIVED,     /* the same */
    WARPRSA_TRAFFIC_CREDIT_WAITS, /* batches, a part of which had to wait until
                                     the host had answered others */
    WARPRSA_TRAFFIC_KINDS
} warprsa_traffic;

typedef struct warprsa_device_config {
    unsigned ordinal;   /* index of the device, 0 .. count() - 1 */
    unsigned streams;   /* batches under way at a time, 1..STREAMS_MAX */
    unsigned batch_max; /* tasks in a batch at most, >= 1 */
    unsigned keys_max;  /* keys loaded at a time at most, >= 1 */
    /* The kernel by name, for the size classes that it supports: for tests and
     * benchmarks. NULL: the engine chooses the fastest for each batch. */
    const char *kernel;
    /* The file that keeps timings which had to be measured to choose kernels
     * by; see gpu/select/calibration_file.h. NULL or empty: they are not
     * kept. */
    const char *calibration_file;
    /* Lets kernels read only that entry of a table which they need, at an
     * address that depends on the secret exponent. For devices that nobody else
     * uses. */
    bool direct_table_reads;
    warprsa_random_fn random;
    void *random_arg;
    warprsa_trace_fn trace; /* may be NULL */
    void *trace_arg;
    /* For an engine whose devices come and go; each may be NULL. Any thread,
     * from open() to close(); they don't call the engine.
     * lost: the device takes no more batches from now on, for this reason,
     * which does not live on. Those under way may still be answered. */
    void (*lost)(void *arg, const char *why);
    void (*count)(void *arg, warprsa_traffic what, uint64_t number);
    void *device_arg;
} warprsa_device_config;

/* One private operation: output = input^d mod n (RFC 8017, RSADP and RSASP1).
 * Input and output have modulus_bytes bytes of the key each, and input < n.
 * Both belong to the caller and must live from start() until wait() has
 * returned. */
typedef struct warprsa_task {
    uint32_t key; /* index from load_key(); of the batch's size class */
    const uint8_t *input;
    uint8_t *output;       /* zeros unless status is WARPRSA_OK */
    warprsa_status status; /* set by wait() */
} warprsa_task;

typedef struct warprsa_device warprsa_device;

/* An engine: a kind of device and the functions that drive it. A function that
 * returns a warprsa_status leaves nothing half done if it fails. `why` receives
 * one line for a person, cut to why_size bytes with the final zero. */
typedef struct warprsa_engine {
    const char *name; /* "cuda", "ifma", "host": one word */

    /* Its devices take the size classes below this number. At least
     * WARPRSA_CLASS_LARGE. */
    unsigned classes;

    /* A batch of a large class has half as many tasks at most as the others:
     * each takes twice the memory. */
    bool halves_large_batches;

    /* Its kernels compute so many tasks of a key together, and take as long for
     * fewer. So a batch had better be a multiple of it. 0 or 1: any number is
     * as good. */
    unsigned granularity;

    /* A device that can't be opened, now or again, may be there later, for this
     * process too: it is another host. */
    bool comes_and_goes;

    /* Its devices are CPUs: start() computes the batch, however long that
     * takes. */
    bool computes_in_start;

    /* Returns the number of devices; if it is 0, the reason is in `why`. Any
     * thread. */
    unsigned (*count)(char *why, size_t why_size);

    /*
     * Opens a device, allocates what any batch needs at least, and runs the
     * known-answer test on it, of every size class but the large ones: their
     * test is run before the first batch of such a class. Only a device that
     * passes is returned; the caller closes it. *device is NULL on failure.
     * `config` is copied; what its pointers point to must live until close().
     * May take seconds, so no thread that a request waits for should call it.
     */
    warprsa_status (*open)(const warprsa_device_config *config,
                           warprsa_device **device, char *why, size_t why_size);

    /* Wipes all keys and staging memory, on the host and on the device, and
     * frees the device. Waits for batches under way, unless the device is lost.
     * No other function may be running on the device. NULL is allowed. Returns
     * whether the keys were wiped from the device: the driver of a lost one
     * does nothing any more. */
    bool (*close)(warprsa_device *device);

    /* Describes a device to people: its model and ordinal, and where the
     * timings come from by which kernels are chosen, as in "NVIDIA H200 (cuda
     * 0, kernel timings: table)". The string lives as long as the device. Any
     * thread. */
    const char *(*describe)(const warprsa_device *device);

    /* Prepares a key (computes its Montgomery constants), puts it on the device
     * and sets *index. The caller keeps its copy of the key.
     * WARPRSA_UNSUPPORTED_KEY if the engine does not take its class
     * (warprsa_key_class(), which may be -1) or the device has no memory for
     * keys of large classes, n is not p q or qinv is not the inverse of q
     * modulo p; WARPRSA_NO_MEMORY if keys_max keys are loaded;
     * WARPRSA_LARGE_KEYS_FULL if as many of large classes are loaded as the
     * device takes, and one of them has to be unloaded before this one. Any
     * thread. */
    warprsa_status (*load_key)(warprsa_device *device,
                               const warprsa_private_key *key, uint32_t *index);

    /* Wipes a key from the device and frees its index. No batch under way may
     * use it. On failure the key may still be there: the device is lost, and
     * close() is the only function that may still be called. Any thread. */
    warprsa_status (*unload_key)(warprsa_device *device, uint32_t index);

    /*
     * Starts a batch of 1..warprsa_engine_batch_max() tasks, whose keys are all
     * of one size class that the engine takes, on an idle stream. Returns
     * without waiting for the result, except for the engines on the CPU, which
     * compute here. On failure the stream stays idle, but with
     * WARPRSA_DEADLINE: a test that comes before the batch has not ended, and
     * the stream is busy as after such a wait(). One thread at a time for each
     * stream; different streams are independent.
     */
    warprsa_status (*start)(warprsa_device *device, unsigned stream,
                            warprsa_size_class size, warprsa_task *tasks,
                            size_t count);

    /*
     * Waits up to timeout_ms milliseconds for the batch of a stream.
     * WARPRSA_OK: status and output of every task are set, and the stream is
     * idle.
     *
     * WARPRSA_DEADLINE: the tasks are as they were and the engine has forgotten
     * them, but the stream stays busy; a later wait() returns WARPRSA_OK once
     * it is idle again.
     *
     * Any other status: the device is lost, the tasks are as they were and
     * forgotten, and close() is the only function that may still be called. One
     * thread at a time for each stream.
     */
    warprsa_status (*wait)(warprsa_device *device, unsigned stream,
                           unsigned timeout_ms);

    /* Runs the known-answer test of open() again, on an idle stream, for
     * instance before a device that missed a deadline is used again.
     * WARPRSA_OK if all answers are right. One thread at a time for each
     * stream. */
    warprsa_status (*self_test)(warprsa_device *device, unsigned stream);

    /* Runs the known-answer test of one size class, a large one too, on an idle
     * stream, of a device whose results of this class were wrong. WARPRSA_OK if
     * the answer is right. No other function may be running on the device. */
    warprsa_status (*test_class)(warprsa_device *device, unsigned stream,
                                 warprsa_size_class size);
} warprsa_engine;

/* How many requests a batch of a large class has at most, of an engine that
 * halves these. Any thread. */
static inline unsigned warprsa_half_batch_max(unsigned batch_max)
{
    return (batch_max + 1) / 2;
}

/* How many tasks of a class a batch of an engine's device may have that was
 * opened with this batch_max. A pure function. */
static inline unsigned warprsa_engine_batch_max(const warprsa_engine *engine,
                                                unsigned batch_max,
                                                warprsa_size_class size)
{
    return engine->halves_large_batches && size >= WARPRSA_CLASS_LARGE
               ? warprsa_half_batch_max(batch_max)
               : batch_max;
}

/* The same arithmetic on the CPU: it tests the arithmetic where there is no
 * GPU. It has one device, which is always present. */
const warprsa_engine *warprsa_engine_host(void);

/* The engine for CPUs with AVX-512 IFMA. It has one device: the CPUs of this
 * machine. Without the instructions count() is 0. It computes eight tasks of a
 * batch at a time, and fewer than eight in the same time; count tasks in
 * (count + 7) / 8 times that. */
const warprsa_engine *warprsa_engine_ifma(void);

/* A public key, as the same instructions check results with it. No secrets. */
typedef struct warprsa_ifma_public_key warprsa_ifma_public_key;

/* Prepares the public key of a private one, of which only n, e and the lengths
 * of the primes are used, and sets *out, which warprsa_ifma_public_key_free()
 * frees. On failure *out is NULL, and results have to be checked otherwise:
 * WARPRSA_NO_DEVICE, the CPU or this build lacks the instructions;
 * WARPRSA_UNSUPPORTED_KEY, the key is of a large class or of none;
 * WARPRSA_NO_MEMORY. Any thread. */
warprsa_status warprsa_ifma_public_key_new(const warprsa_private_key *key,
                                           warprsa_ifma_public_key **out);

/* NULL is allowed. Any thread. */
void warprsa_ifma_public_key_free(warprsa_ifma_public_key *key);

/* A private operation that somebody else has computed. Both numbers have the
 * bytes of the key's modulus. */
typedef struct warprsa_ifma_result {
    const warprsa_ifma_public_key *key;
    const uint8_t *input, *output;
    /* If this is there, `input` is not looked at: the caller has output^e mod n
     * here, and it is right if output < n. */
    uint8_t *power;
    bool is_right; /* set by warprsa_ifma_check() */
} warprsa_ifma_result;

/* Checks 1..WARPRSA_IFMA_LANES results. Their keys are of one size class and
 * may differ. One is right if output < n and output^e mod n = input (RFC 8017,
 * RSAVP1). Fewer take as long as WARPRSA_IFMA_LANES. The time depends on the
 * class and the public exponents alone; the longest of these counts for all.
 * Takes up to 64 KiB of the stack, and wipes it. Any thread. */
void warprsa_ifma_check(warprsa_ifma_result *results, size_t count);

/* The engine for NVIDIA GPUs. It is in a library of its own, which count()
 * opens, by an absolute path: without the library, the driver or a GPU, count()
 * is 0. No other function may be called before count(). */
const warprsa_engine *warprsa_engine_cuda(void);

/* Whether there is a file where the library of warprsa_engine_cuda() is to be.
 * If not, `why` names the place, as that of count() does. Opens nothing. Any
 * thread. */
bool warprsa_engine_cuda_is_installed(char *why, size_t why_size);

/*
 * How many of so many streams of a GPU work side by side in this process. CUDA
 * has 8 hardware queues for them, or up to 32 if the environment variable
 * CUDA_DEVICE_MAX_CONNECTIONS says so when CUDA starts ("CUDA environment
 * variables" in its programming guide); more streams wait for each other. If
 * more than 8 are wanted, the variable is not set and the process has one
 * thread, this function sets it to `wanted`, or 32: nobody else can be reading
 * the environment then. A number below 8 is no reason for fewer streams. Any
 * thread.
 */
unsigned warprsa_hardware_queues(unsigned wanted);

#ifdef __cplusplus
}
#endif
#endif
