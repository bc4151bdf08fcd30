/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Error messages, random numbers, time, arguments and device memory of the
 * benchmarks.
 */
#include "bench/programs/bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <openssl/rand.h>

#include "bench/programs/clock_rate.h"

void bench_fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", bench_name, what);
    exit(EXIT_FAILURE);
}

void bench_refuse(const char *name, const char *value, const char *allowed)
{
    fprintf(stderr, "%s: %s: \"%s\" is not allowed; %s\n", bench_name, name,
            value, allowed);
    exit(2);
}

void bench_cuda(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s: %s\n", bench_name, what,
            cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}

void bench_random(void *out, size_t length)
{
    const size_t most = 1u << 30;

    for (char *at = out; length > 0;) {
        size_t part = length < most ? length : most;

        if (RAND_bytes((unsigned char *)at, (int)part) != 1)
            bench_fail("no random numbers");
        at += part;
        length -= part;
    }
}

double bench_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

size_t bench_parse_number(const char *text, size_t most)
{
    char *end;
    unsigned long number;

    errno = 0;
    number = strtoul(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 &&
                   number <= most
               ? (size_t)number
               : 0;
}

size_t bench_parse_list(const char *text, size_t *list, size_t room)
{
    size_t count = 0;

    for (;; text++) {
        char *end;
        unsigned long number;

        if (count == room || text[0] < '0' || text[0] > '9')
            return 0;
        errno = 0;
        number = strtoul(text, &end, 10);
        if (number == 0 || errno != 0)
            return 0;
        list[count++] = (size_t)number;
        text = end;
        if (*text != ',')
            return *text == '\0' ? count : 0;
    }
}

void *bench_device_memory(size_t bytes)
{
    void *memory = NULL;

    bench_cuda(cudaMalloc(&memory, bytes), "device memory");
    bench_cuda(cudaMemset(memory, 0, bytes), "device memory");
    return memory;
}

void *bench_device_copy(const void *from, size_t bytes)
{
    void *memory = bench_device_memory(bytes);

    bench_cuda(cudaMemcpy(memory, from, bytes, cudaMemcpyHostToDevice),
               "copying to the device");
    return memory;
}

double bench_clock_rate(cudaStream_t stream)
{
    uint64_t seen[2], *out = bench_device_memory(sizeof(seen));

    bench_cuda(clock_rate_launch(out, stream), "reading the clock");
    bench_cuda(cudaStreamSynchronize(stream), "reading the clock");
    bench_cuda(cudaMemcpy(seen, out, sizeof(seen), cudaMemcpyDeviceToHost),
               "reading the clock");
    bench_cuda(cudaFree(out), "reading the clock");
    return 1e9 * (double)seen[0] / (double)seen[1];
}
