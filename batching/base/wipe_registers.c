/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Zeroes vector registers: see wipe_registers.h.
 */
#include "batching/base/wipe_registers.h"

#ifdef __x86_64__
/* Writing to the lowest 128 bits this way zeroes the rest of a register. No
 * compiler uses these registers here, and callers expect none to be kept. */
static void wipe_upper_sixteen(void)
{
    __asm__ volatile(
        ".irp n, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n\t"
        "vpxord %%xmm\\n, %%xmm\\n, %%xmm\\n\n\t"
        ".endr" ::);
}

static void wipe_without_avx(void)
{
    __asm__ volatile(".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t"
                     "xorps %%xmm\\n, %%xmm\\n\n\t"
                     ".endr" ::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
                           "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                           "xmm12", "xmm13", "xmm14", "xmm15");
}

static void wipe_lower_sixteen(void)
{
    __asm__ volatile("vzeroall" ::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
                           "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                           "xmm12", "xmm13", "xmm14", "xmm15");
}

void warprsa_wipe_registers(void)
{
    if (__builtin_cpu_supports("avx512vl"))
        wipe_upper_sixteen();
    if (__builtin_cpu_supports("avx"))
        wipe_lower_sixteen();
    else
        wipe_without_avx();
}
#else
void warprsa_wipe_registers(void)
{
}
#endif
