/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The device's part of int_fold.h: a thread has a number, and the 32 threads of
 * a warp fold together, with mma.m16n8k32 on unsigned bytes. The warp's 32
 * numbers are two tiles of 16.
 *
 * Rows go through the buffer of the warp twice. H is written as it is and read
 * by ldmatrix, as the first factor. The sums come as c[2 r + i] of lane
 * 4 g + t: of message g + 8 r, columns 2 t + i of the eight. The lane makes a
 * digit of the two, and four n-tiles give it four digits side by side, which it
 * stores as one chunk. Neither way do lanes meet in a bank.
 */
#ifndef WARPRSA_GPU_KERNELS_INT32_FOLD_GROUP_CUH
#define WARPRSA_GPU_KERNELS_INT32_FOLD_GROUP_CUH

#include "gpu/kernels/int32_fold/prime.h"
#include "gpu/kernels/int32_fold/products.h"

typedef struct warprsa_int_fold_group {
    const warprsa_int_fold_prime *prime;
    uint32_t prime_at, matrix; /* addresses in shared memory */
    uint32_t warp;             /* the warp's buffer, likewise */
    warprsa_int_fold_place row, stage;
    /* Memory of the thread, chunk c at 4 c stride. SECRET. */
    uint32_t *registers, *table;
    int stride;
} warprsa_int_fold_group;

/* The bytes of H of both tiles: first factors of each step of 32 bytes. */
typedef struct warprsa_int_fold_bytes {
    uint32_t of[2][WARPRSA_INT_FOLD_LIMBS_MAX / 8][4];
} warprsa_int_fold_bytes;

/* threadIdx.x, read again where it is asked for: what is made of it then takes
 * no register in between. */
static __device__ __forceinline__ uint32_t warprsa_int_fold_thread()
{
    uint32_t thread;

    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
}

/* threadIdx.x, read again where registers are scarcest: the assembler for 8.x
 * spills one in the powers of RSA-2048 otherwise, and that for 9.0 does so with
 * this. */
static __device__ __forceinline__ uint32_t warprsa_int_fold_thread_now()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    return warprsa_int_fold_thread();
#else
    return threadIdx.x;
#endif
}

/* The row of lane `lane` of a warp, as a place. */
static __device__ __forceinline__ uint32_t
warprsa_int_fold_row_of(uint32_t warp, uint32_t lane, const int n)
{
    return warp + lane * WARPRSA_INT_FOLD_ROW(n) +
           (WARPRSA_INT_FOLD_PERMUTES(n) ? 16 * (lane % 8) : 0);
}

static __device__ __forceinline__ void
warprsa_int_fold_load_matrix(uint32_t *to, uint32_t at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, "
                 "[%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
}

/* Before this all lanes of the warp have written H. After it rows may be
 * written again. */
static __device__ __forceinline__ void
warprsa_int_fold_get_bytes(warprsa_int_fold_bytes *bytes,
                           const warprsa_int_fold_group *g, const int n)
{
    const uint32_t lane = warprsa_int_fold_thread_now() % 32;
    /* Lanes 0 to 15 have the addresses of the first 16 bytes of a step, of the
     * rows of a tile, the others those of the next 16. */
    const uint32_t at =
        warprsa_int_fold_chunk(warprsa_int_fold_row_of(g->warp, lane % 16, n),
                               (int)(lane / 16), WARPRSA_INT_FOLD_KIND(n));

    __syncwarp();
    WARPRSA_UNROLL
    for (int tile = 0; tile < 2; tile++) {
        WARPRSA_UNROLL
        for (int step = 0; step < n / 8; step++)
            warprsa_int_fold_load_matrix(
                bytes->of[tile][step],
                warprsa_int_fold_chunk(at + (uint32_t)tile * 16 *
                                                WARPRSA_INT_FOLD_ROW(n),
                                       2 * step, WARPRSA_INT_FOLD_KIND(n)));
    }
    __syncwarp();
}

static __device__ __forceinline__ void
warprsa_int_fold_mma(uint32_t *c, const uint32_t *a, uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0),
                   "r"(b1));
}

/* 16 bytes of the matrix. It does not change while a fold reads it, so the
 * compiler may move these loads. */
static __device__ __forceinline__ void warprsa_int_fold_get_matrix(uint32_t *to,
                                                                   uint32_t at)
{
    asm("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
        : "r"(at));
}

/* c[i][tile] = the sums of n-tiles first to first + 3. */
static __device__ __forceinline__ void warprsa_int_fold_sums_of(
    uint32_t (*c)[2][4], const warprsa_int_fold_bytes *bytes,
    const warprsa_int_fold_group *g, int first, const int n)
{
    const uint32_t lane = threadIdx.x % 32;

    WARPRSA_UNROLL
    for (int i = 0; i < 4; i++) {
        WARPRSA_UNROLL
        for (int k = 0; k < 8; k++)
            c[i][k / 4][k % 4] = 0;
    }
    WARPRSA_UNROLL
    for (int pair = 0; pair < n / 16; pair++) {
        uint32_t b[4][4];

        WARPRSA_UNROLL
        for (int i = 0; i < 4; i++)
            warprsa_int_fold_get_matrix(
                b[i],
                g->matrix +
                    (((uint32_t)(first + i) * (n / 16) + pair) * 32 + lane) *
                        16);
        WARPRSA_UNROLL
        for (int k = 0; k < 2; k++) {
            WARPRSA_UNROLL
            for (int tile = 0; tile < 2; tile++) {
                WARPRSA_UNROLL
                for (int i = 0; i < 4; i++)
                    warprsa_int_fold_mma(c[i][tile],
                                         bytes->of[tile][2 * pair + k],
                                         b[i][2 * k], b[i][2 * k + 1]);
            }
        }
    }
}

/* The digits of block h of this thread's number. All lanes must have read them
 * before rows are written again. */
static __device__ __forceinline__ void
warprsa_int_fold_digits(uint32_t *even, uint32_t *odd,
                        const warprsa_int_fold_bytes *bytes,
                        const warprsa_int_fold_group *g, int h, const int n)
{
    const uint32_t lane =
        (n > 48 ? warprsa_int_fold_thread() : threadIdx.x) % 32;
    const warprsa_int_fold_kind kind = WARPRSA_INT_FOLD_KIND(n);
    /* Chunk 2 t of row g. */
    const uint32_t to =
        warprsa_int_fold_chunk(warprsa_int_fold_row_of(g->warp, lane / 4, n),
                               (int)(2 * (lane % 4)), kind);

    WARPRSA_ROLLED
    for (int q = 0; q < 2; q++) {
        uint32_t c[4][2][4];

        warprsa_int_fold_sums_of(c, bytes, g, 8 * h + 4 * q, n);
        WARPRSA_UNROLL
        for (int r = 0; r < 4; r++) {
            uint32_t d[4];

            WARPRSA_UNROLL
            for (int i = 0; i < 4; i++)
                d[i] =
                    c[i][r / 2][r % 2 * 2] + (c[i][r / 2][r % 2 * 2 + 1] << 8);
            warprsa_int_fold_put_words(
                warprsa_int_fold_chunk(
                    to + (uint32_t)r * 8 * WARPRSA_INT_FOLD_ROW(n), q, kind),
                d[0], d[1], d[2], d[3]);
        }
    }
    __syncwarp();
    WARPRSA_UNROLL
    for (int i = 0; i < 8; i++) {
        uint32_t d[4];

        warprsa_int_fold_get_words(d, warprsa_int_fold_chunk(g->row, i, kind));
        even[2 * i] = d[0];
        odd[2 * i] = d[1];
        even[2 * i + 1] = d[2];
        odd[2 * i + 1] = d[3];
    }
}

/* Volatile, or the compiler would keep P in registers. */
static __device__ __forceinline__ void
warprsa_int_fold_get_prime(uint32_t *to, const warprsa_int_fold_group *g,
                           int odd, int i)
{
    asm volatile(
        "ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
        : "r"(g->prime_at +
              (uint32_t)(odd * 2 * WARPRSA_INT_FOLD_LIMBS_MAX + 16 * i)));
}

static __device__ __forceinline__ uint32_t
warprsa_int_fold_inverse(const warprsa_int_fold_group *g)
{
    uint32_t inverse;

    asm volatile("ld.shared.u32 %0, [%1];"
                 : "=r"(inverse)
                 : "r"(g->prime_at +
                       (uint32_t)offsetof(warprsa_int_fold_prime, inverse)));
    return inverse;
}

#endif
