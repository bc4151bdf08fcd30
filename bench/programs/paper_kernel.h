/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The baseline of this project's rates: the modular exponentiation of Emmart,
 * Zheng, Weems, "Faster Modular Exponentiation using Double Precision
 * Floating Point Arithmetic on the GPU", written from its figures with its
 * parameters (table I). It computes a^k mod p and nothing else: no CRT, no
 * blinding, no check. It reads its table at the exponent's digits, so it leaks
 * them. It is for benchmarks only.
 */
#ifndef WARPRSA_BENCH_PAPER_KERNEL_H
#define WARPRSA_BENCH_PAPER_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PAPER_WINDOW = 5,
    PAPER_ENTRIES = 1 << PAPER_WINDOW,
    /* The paper's 768 threads with 80 registers were for Kepler; on an H200
     * blocks of 256, with as many registers as the compiler takes, are at
     * least as fast. */
    PAPER_BLOCK = 256,
    PAPER_SAMPLE_BITS = 52,
    PAPER_SIZES = 4,
};

/* Table I: a number of `bits` is `samples` samples of 52 bits, `per_thread`
 * of them in each of `threads` threads; per_thread * threads >= samples. */
typedef struct paper_shape {
    int bits, samples, threads, per_thread;
} paper_shape;

/* The four sizes, halves of RSA-1024, 2048, 3072 and 4096. The first is not in
 * the paper; it has its 1024 bits' samples per thread. Static storage. */
extern const paper_shape paper_shapes[PAPER_SIZES];

/* Samples of a number in memory, those beyond `samples` zero. */
static inline size_t paper_stride(const paper_shape *shape)
{
    return (size_t)shape->threads * (size_t)shape->per_thread;
}

/* Words of an exponent in memory, low word first; the last is zero. */
static inline size_t paper_exponent_words(const paper_shape *shape)
{
    return (size_t)shape->bits / 32 + 1;
}

/* Bytes of device memory for the tables of `count` instances. */
size_t paper_table_bytes(const paper_shape *shape, size_t count);

/* `count` instances in device memory. Samples are integers; those of number i
 * begin at index i * paper_stride(). With R = 2^(52 samples), r2 is R^2 mod p
 * and n0inv is -1/p mod 2^52. p is odd, a < R and 2p < R. */
typedef struct paper_batch {
    const uint64_t *a, *p, *r2;
    const uint64_t *n0inv; /* [count] */
    const uint32_t *k;     /* paper_exponent_words() each */
    uint64_t *result;      /* a^k mod p, or p more */
    double *table;         /* paper_table_bytes() */
    uint32_t count;
} paper_batch;

/* Queues the kernel on the stream; the launch's own error is returned. */
cudaError_t paper_launch(const paper_shape *shape, const paper_batch *batch,
                         cudaStream_t stream);

/* The same with a second leak, for tests that must find it: if all digits of a
 * warp are zero, it skips the multiplication. Only for 1024 bits. */
cudaError_t paper_launch_skipping(const paper_shape *shape,
                                  const paper_batch *batch,
                                  cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
