/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Prints what the choice of kernels knows of the first GPU: what CUDA says of
 * it, what its SMs are taken to do in a clock, and of each kernel whether it
 * suits and what it is estimated to make. `bench/report --card` reads it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/programs/bench.h"
#include "gpu/cuda/gpu_facts.h"
#include "gpu/select/estimate.h"

const char bench_name[] = "card_facts";

static void print_kernels(const warprsa_gpu *gpu)
{
    const warprsa_kernel_list all = warprsa_all_kernels();
    const bool int32_keys = warprsa_prefers_int32_keys(all, gpu);

    for (int i = 0; i < all.count; i++) {
        const warprsa_kernel *kernel = all.kernel[i];

        printf("kernel %s: %s", kernel->name,
               warprsa_kernel_suits(kernel, gpu, int32_keys) ? "suits"
                                                             : "left out");
        for (int c = 0; c < WARPRSA_CLASS_LARGE; c++)
            printf(" %.0f",
                   warprsa_estimate(kernel, gpu, (warprsa_size_class)c));
        puts("");
    }
}

int main(int argc, char **argv)
{
    struct cudaDeviceProp device;
    warprsa_throughput throughput;
    warprsa_gpu gpu;
    int driver = 0;

    if (argc != 1)
        bench_refuse("argument", argv[1], "none");
    bench_cuda(cudaGetDeviceProperties(&device, 0), "the first GPU");
    bench_cuda(warprsa_gpu_facts(&gpu, 0), "its attributes");
    bench_cuda(cudaDriverGetVersion(&driver), "the driver's version");
    throughput = warprsa_throughput_of(&gpu);
    printf("card: %s\n", device.name);
    printf("compute capability: %u.%u\n", gpu.capability / 10,
           gpu.capability % 10);
    printf("SMs: %u\n", gpu.sms);
    printf("clock: %u MHz at most\n", gpu.clock_khz / 1000);
    printf("L2: %u MiB\n", gpu.l2_bytes >> 20);
    printf("memory: %zu MiB\n", device.totalGlobalMem >> 20);
    printf("singles per double: %u\n", gpu.singles_per_double);
    printf("an SM in a clock: %g doubles, %g bytes, %g multiplications\n",
           throughput.doubles, throughput.bytes, throughput.multiplies);
    printf("CUDA of the driver: %d.%d\n", driver / 1000, driver % 1000 / 10);
    print_kernels(&gpu);
    return EXIT_SUCCESS;
}
