/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Vector registers that hold a secret hold zeros after
 * warprsa_wipe_registers(), all that the processor has.
 */
#include "tests/unit/support/unit_test.h"

#include <stdbool.h>
#include <string.h>

#include "batching/base/wipe_registers.h"

enum {
    REGISTERS = 32,
    REGISTER_BYTES = 64,
    SECRET = 0x5a
};

#ifdef __x86_64__
#define LOWER "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"
#define ALL   LOWER ",16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"
#define CLOBBERS                                                               \
    "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",  \
        "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"

/* Fills the registers, wipes them if told to, and stores them: no compiler puts
 * vector code between these. */
#define FILL_AND_STORE(numbers, move, name)                                    \
    do {                                                                       \
        __asm__ volatile(".irp n, " numbers "\n\t" move " (%0), %%" name       \
                         "\\n\n\t.endr" ::"r"(secret)                          \
                         : CLOBBERS);                                          \
        if (wipes)                                                             \
            warprsa_wipe_registers();                                          \
        __asm__ volatile(".irp n, " numbers "\n\t" move " %%" name             \
                         "\\n, \\n*64(%0)\n\t.endr" ::"r"(stored)              \
                         : "memory");                                          \
    } while (0)

/* How many bytes of the registers hold the secret afterwards. */
static unsigned secret_bytes(bool wipes)
{
    static uint8_t secret[REGISTER_BYTES], stored[REGISTERS * REGISTER_BYTES];
    unsigned count = 0;

    memset(secret, SECRET, sizeof(secret));
    memset(stored, 0, sizeof(stored));
    if (__builtin_cpu_supports("avx512vl"))
        FILL_AND_STORE(ALL, "vmovdqu64", "zmm");
    else if (__builtin_cpu_supports("avx"))
        FILL_AND_STORE(LOWER, "vmovups", "ymm");
    else
        FILL_AND_STORE(LOWER, "movups", "xmm");
    for (size_t i = 0; i < sizeof(stored); i++)
        count += stored[i] == SECRET;
    return count;
}

static unsigned all_bytes(void)
{
    if (__builtin_cpu_supports("avx512vl"))
        return 32 * 64;
    return __builtin_cpu_supports("avx") ? 16 * 32 : 16 * 16;
}

TEST(all_registers_are_wiped)
{
    assert_int_equal(secret_bytes(false), all_bytes());
    assert_int_equal(secret_bytes(true), 0);
}
#else
static void all_registers_are_wiped(void **state)
{
    warprsa_wipe_registers();
    skip();
}
#endif

RUN_TESTS(NULL, NULL)
