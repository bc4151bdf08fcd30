/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The tensor cores' part of a fold on Hopper (sm_90a): 64 messages of unsigned
 * bytes times a matrix, summed in 32 bits (PTX ISA, "wgmma"). Both factors are
 * in shared memory without swizzling, in blocks of 8 x 16 bytes.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_MMA_CUH
#define WARPRSA_GPU_KERNELS_FOLD_MMA_CUH

#include <stdint.h>

/* A matrix descriptor: `depth_stride` bytes from a block to the next along the
 * depth, 128 bytes along messages or columns. */
static __device__ __forceinline__ uint64_t
warprsa_fold_descriptor(uint32_t shared, uint32_t depth_stride)
{
    return (uint64_t)(shared >> 4) | (uint64_t)(depth_stride >> 4) << 16 |
           (uint64_t)(128 >> 4) << 32;
}

/* Operands of the asm statements below; `c` is "=r" or "+r". */
#define WARPRSA_REGS8(c, d, i)                                                 \
    c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3]), c(d[i + 4]), c(d[i + 5]),  \
        c(d[i + 6]), c(d[i + 7])
#define WARPRSA_REGS56(c, d)                                                   \
    WARPRSA_REGS8(c, d, 0), WARPRSA_REGS8(c, d, 8), WARPRSA_REGS8(c, d, 16),   \
        WARPRSA_REGS8(c, d, 24), WARPRSA_REGS8(c, d, 32),                      \
        WARPRSA_REGS8(c, d, 40), WARPRSA_REGS8(c, d, 48)
#define WARPRSA_REGS72(c, d)                                                   \
    WARPRSA_REGS56(c, d), WARPRSA_REGS8(c, d, 56), WARPRSA_REGS8(c, d, 64)
#define WARPRSA_NAMES56                                                        \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,"   \
    "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,"     \
    "%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,"     \
    "%54,%55"
#define WARPRSA_NAMES72                                                        \
    WARPRSA_NAMES56 ",%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,"    \
                    "%69,%70,%71"
#define WARPRSA_MMA(columns, names, a, b, more)                                \
    "{ .reg .pred p; setp.ne.b32 p, " more ", 0;"                              \
    "wgmma.mma_async.sync.aligned.m64n" columns "k32.s32.u8.u8 {" names        \
    "}, " a ", " b ", p; }"
#define WARPRSA_MMA_144(c, d, a, b, more)                                      \
    asm volatile(WARPRSA_MMA("144", WARPRSA_NAMES72, "%72", "%73", more)       \
                 : WARPRSA_REGS72(c, d)                                        \
                 : "l"(a), "l"(b))
#define WARPRSA_MMA_112(c, d, a, b, more)                                      \
    asm volatile(WARPRSA_MMA("112", WARPRSA_NAMES56, "%56", "%57", more)       \
                 : WARPRSA_REGS56(c, d)                                        \
                 : "l"(a), "l"(b))

/* d = 64 messages times the first 32 rows of the matrix. d is not read. The
 * compiler must know that, or it would keep the registers of d for it all the
 * time. */
template <int COLUMNS>
static __device__ __forceinline__ void
warprsa_fold_mma_first(uint32_t *d, uint64_t a, uint64_t b)
{
    if (COLUMNS == 144)
        WARPRSA_MMA_144("=r", d, a, b, "0");
    else
        WARPRSA_MMA_112("=r", d, a, b, "0");
}

/* d += 64 messages times 32 more rows of the matrix. */
template <int COLUMNS>
static __device__ __forceinline__ void
warprsa_fold_mma_more(uint32_t *d, uint64_t a, uint64_t b)
{
    if (COLUMNS == 144)
        WARPRSA_MMA_144("+r", d, a, b, "1");
    else
        WARPRSA_MMA_112("+r", d, a, b, "1");
}

/* Starts d = messages times matrix. d must be left alone until a wait. If the
 * depth ends with 16 of 32 rows, the other 16 are read behind the matrix and
 * meet zeros: `last` is the descriptor of the last 16 bytes of the messages and
 * of as many zeros. */
template <int DEPTH, int COLUMNS>
static __device__ __forceinline__ void
warprsa_fold_mma_start(uint32_t *d, uint64_t a, uint64_t b,
                       uint32_t depth_stride, uint64_t last)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    warprsa_fold_mma_first<COLUMNS>(d, a, b);
#pragma unroll
    for (int i = 1; i < DEPTH / 32; i++)
        warprsa_fold_mma_more<COLUMNS>(d, a + i * (2 * depth_stride >> 4),
                                       b + i * (32 * COLUMNS >> 4));
    if (DEPTH % 32 != 0)
        warprsa_fold_mma_more<COLUMNS>(d, last,
                                       b + DEPTH / 32 * (32 * COLUMNS >> 4));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Waits until d is complete. LATER multiplications that were started after it
 * may still be under way. */
template <int COLUMNS, int LATER>
static __device__ __forceinline__ void warprsa_fold_mma_wait(uint32_t *d)
{
    if (COLUMNS == 144)
        asm volatile("wgmma.wait_group.sync.aligned %72;"
                     : WARPRSA_REGS72("+r", d)
                     : "n"(LATER)
                     : "memory");
    else
        asm volatile("wgmma.wait_group.sync.aligned %56;"
                     : WARPRSA_REGS56("+r", d)
                     : "n"(LATER)
                     : "memory");
}

#endif
