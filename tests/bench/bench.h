/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the benchmarks of the kernels share: they end with a message at the
 * first error, and random numbers are libcrypto's.
 */
#ifndef WARPRSA_BENCH_H
#define WARPRSA_BENCH_H

#include <stddef.h>

#include <cuda_runtime_api.h>

/* The program's name, for messages; each program defines it. */
extern const char bench_name[];

/* A line on stderr, and the end of the program: status 1. */
void bench_fail(const char *what) __attribute__((noreturn));
/* The same, if it is an error. */
void bench_cuda(cudaError_t error, const char *what);

void bench_random(void *out, size_t length);

/* Seconds since some moment. */
double bench_now(void);

/* "1,2,3" into list, room numbers at most: how many; 0 if the text is no such
 * list, or a number is 0 or too large. */
size_t bench_parse_list(const char *text, size_t *list, size_t room);

/* One of 1 to most, or 0. */
size_t bench_parse_number(const char *text, size_t most);

/* Device memory, zeroed; never NULL. */
void *bench_device_memory(size_t bytes);
/* Device memory with a copy of this. */
void *bench_device_copy(const void *from, size_t bytes);

/* The clock of the SMs in Hz, measured now: to be asked at once
 * after the work in question, before the device slows down. */
double bench_clock_rate(cudaStream_t stream);

#endif
