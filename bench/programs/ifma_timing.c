/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Compares the CPU time of the engine "ifma" for fixed and for random inputs,
 * by Welch's t. There is no blinding here: the random source gives zeros, and
 * the batches have two keys, so that none is kept from one to the next. What
 * differs between inputs is not hidden then. Bind it to a CPU:
 *
 *   taskset -c 1 build/bench/programs/ifma_timing [BATCHES]
 *
 * BATCHES of eight RSA-2048 operations, 20,000 unless given, are inputs of
 * zeros but for the last byte, one fixed input, or random ones, in random
 * order. Exit status 1: the times of a fixed kind differ from those of random
 * inputs (|t| of 4.5 or more), or the control, a batch that computes
 * one operation of the smallest class more for zeros, was not found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/rand.h>

#include "bench/programs/welch.h"
#include "gpu/engine.h"
#include "gpu/known_answer.h"

enum {
    LANES = 8,
    BATCHES = 20000,
    KINDS = 3,
    RANDOM = 2,
    BYTES = 256,
    KEYS = 3,
    LAST_KEY = KEYS - 1
};
#define LIMIT 4.5

static const char *const names[KINDS] = {"zeros", "fixed", "random"};
static const warprsa_engine *engine;
static warprsa_device *device;
static uint32_t keys[KEYS]; /* of RSA-1024, and the same of RSA-2048 twice */

static int give_zeros(void *arg, void *out, size_t len)
{
    (void)arg;
    memset(out, 0, len);
    return 1;
}

static void compute(warprsa_size_class size, const uint8_t *input, size_t count)
{
    static uint8_t output[LANES][WARPRSA_MODULUS_BYTES_MAX];
    warprsa_task tasks[LANES];

    for (size_t i = 0; i < count; i++)
        tasks[i] =
            (warprsa_task){.key = keys[i + 1 < LANES ? (int)size : LAST_KEY],
                           .input = input,
                           .output = output[i]};
    if (engine->start(device, 0, size, tasks, count) != WARPRSA_OK ||
        engine->wait(device, 0, 1000) != WARPRSA_OK ||
        tasks[0].status != WARPRSA_OK) {
        fputs("ifma_timing: the engine failed\n", stderr);
        exit(2);
    }
}

static double cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Random bytes are always drawn, whatever kind the input is of. */
static void make_input(uint8_t *input, const uint8_t *fixed, int kind)
{
    if (RAND_bytes(input, BYTES) != 1)
        exit(2);
    if (kind == 0) {
        memset(input, 0, BYTES);
        input[BYTES - 1] = 2;
    } else if (kind == 1) {
        memcpy(input, fixed, BYTES);
    }
    input[0] = 0;
}

/* The largest |t| of a fixed kind against random inputs. */
static double largest_t(size_t count, bool control)
{
    double *times = calloc(2 * count, sizeof(*times)), largest = 0;
    uint8_t *kind = calloc(count, 1), input[BYTES], fixed[BYTES];
    moments of[KINDS] = {{0}};

    if (times == NULL || kind == NULL || RAND_bytes(fixed, BYTES) != 1 ||
        RAND_bytes(kind, (int)count) != 1)
        exit(2);
    for (size_t i = 0; i < count; i++) {
        kind[i] %= KINDS;
        make_input(input, fixed, kind[i]);
        times[i] = -cpu_us();
        compute(WARPRSA_CLASS_2048, input, LANES);
        if (control && kind[i] == 0)
            compute(WARPRSA_CLASS_1024, input + BYTES / 2, 1);
        times[i] += cpu_us();
    }
    moments_of_kinds(of, times, kind, times + count, count);
    for (int i = 0; i < RANDOM; i++) {
        const double t = welch_t(&of[i], &of[RANDOM]);

        printf("%s%s: %.0f batches, %.2f us, t = %.2f\n",
               control ? "control " : "", names[i], of[i].count, of[i].mean, t);
        largest = fmax(largest, fabs(t));
    }
    free(times);
    free(kind);
    return largest;
}

int main(int argc, char **argv)
{
    const size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : BATCHES;
    const warprsa_device_config config = {.streams = 1,
                                          .batch_max = LANES,
                                          .keys_max = KEYS,
                                          .random = give_zeros};
    warprsa_private_key key;
    char why[160] = "";
    bool good;

    engine = warprsa_engine_ifma();
    if (engine->open(&config, &device, why, sizeof(why)) != WARPRSA_OK) {
        fprintf(stderr, "ifma_timing: %s\n", why);
        return 77;
    }
    for (int i = 0; i < KEYS; i++) {
        warprsa_known_answer_key(&key, i == 0 ? WARPRSA_CLASS_1024
                                              : WARPRSA_CLASS_2048);
        if (engine->load_key(device, &key, &keys[i]) != WARPRSA_OK)
            return 2;
    }
    good = largest_t(count, false) < LIMIT;
    good = largest_t(count / 10 + 300, true) >= LIMIT && good;
    engine->close(device);
    return good ? 0 : 1;
}
