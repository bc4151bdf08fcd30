/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the benchmarks of the kernels share: error messages, random numbers,
 * time, arguments, device memory. Errors end the program with a message.
 */
#ifndef WARPRSA_BENCH_H
#define WARPRSA_BENCH_H

#include <stddef.h>

#include <cuda_runtime_api.h>

/* The program's name, for messages; each program defines it. */
extern const char bench_name[];

/* Prints a line to stderr and ends the program with status 1. */
void bench_fail(const char *what) __attribute__((noreturn));
/* Says that an option has a value that is not allowed, and what is allowed, and
 * ends the program with status 2. */
void bench_refuse(const char *name, const char *value, const char *allowed)
    __attribute__((noreturn));
/* As bench_fail() if `error` is an error; nothing otherwise. */
void bench_cuda(cudaError_t error, const char *what);

/* Fills `length` bytes with libcrypto's random numbers. */
void bench_random(void *out, size_t length);

/* Seconds of the monotonic clock; only differences mean anything. */
double bench_now(void);

/* Parses numbers with commas between, "1,2,3", into `list`, which has room for
 * `room` of them. Returns how many there are; 0 if the text is no such list, it
 * is too long, or a number is 0 or too large. */
size_t bench_parse_list(const char *text, size_t *list, size_t room);

/* Parses a number from 1 to `most`; 0 if the text is none. */
size_t bench_parse_number(const char *text, size_t most);

/* Zeroed device memory, never NULL; the caller calls cudaFree(). */
void *bench_device_memory(size_t bytes);
/* The same, holding a copy of `bytes` bytes of host memory. */
void *bench_device_copy(const void *from, size_t bytes);

/* Measures the SMs' clock in Hz, which takes about 1 ms. It must be called
 * right after the work in question, before the device lowers its clock. */
double bench_clock_rate(cudaStream_t stream);

#endif
