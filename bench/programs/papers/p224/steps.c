/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The steps of the point multiplication.
 */
#include <stdlib.h>

#include "bench/programs/bench.h"
#include "bench/programs/papers/common/step.h"
#include "bench/programs/papers/p224/kernel.h"
#include "bench/programs/papers/p224/points.h"

enum {
    CHECKS = 64,
};

typedef struct p224_run {
    p224_curve curve;
    uint32_t *scalars, *points;               /* host */
    uint32_t *device_scalars, *device_points; /* device memory */
    size_t count;
} p224_run;

static cudaError_t launch_batch(void *arg, cudaStream_t stream)
{
    const p224_run *r = arg;

    return p224_launch(r->device_scalars, r->device_points, r->curve.x,
                       r->curve.y, (uint32_t)r->count, stream);
}

static size_t check(void *arg)
{
    const p224_run *r = arg;
    size_t checked = 0;
    size_t step = r->count > CHECKS ? (r->count - 1) / (CHECKS - 1) : 1;

    bench_cuda(cudaMemcpy(r->points, r->device_points,
                          r->count * sizeof(p224_point),
                          cudaMemcpyDeviceToHost),
               "copying points");
    for (size_t n = 0; n < r->count; n += step) {
        size_t i = n + step < r->count ? n : r->count - 1;
        uint32_t k[P224_WORDS];
        p224_point point;
        p224_number *coordinates[] = {&point.x, &point.y, &point.z};

        for (size_t j = 0; j < P224_WORDS; j++) {
            k[j] = r->scalars[j * r->count + i];
            for (size_t c = 0; c < 3; c++)
                coordinates[c]->w[j] =
                    r->points[(c * P224_WORDS + j) * r->count + i];
        }
        if (!p224_is(&r->curve, k, &point))
            return 0;
        checked++;
    }
    return checked;
}

static void run(papers_bench *b, size_t count)
{
    p224_run r = {.count = count};
    size_t bytes = count * sizeof(p224_number);

    p224_curve_new(&r.curve);
    r.scalars = papers_memory(1, bytes);
    r.points = papers_memory(3, bytes);
    for (size_t i = 0; i < count; i++) {
        uint32_t k[P224_WORDS];

        p224_scalar(&r.curve, k, i);
        for (size_t j = 0; j < P224_WORDS; j++)
            r.scalars[j * count + i] = k[j];
    }
    r.device_scalars = bench_device_copy(r.scalars, bytes);
    r.device_points = bench_device_memory(3 * bytes);
    papers_step_run(b, &(papers_step){
                           .system = "p224",
                           .variant = "P-224",
                           .operation = "point product",
                           .bits = 224,
                           .threads = 1,
                           .batch = count,
                           /* 8 and 11 of each of 224 bits. */
                           .products = 224 * (8 + 11),
                           .launch = launch_batch,
                           .check = check,
                           .arg = &r,
                       });
    bench_cuda(cudaFree(r.device_scalars), "freeing memory");
    bench_cuda(cudaFree(r.device_points), "freeing memory");
    free(r.scalars);
    free(r.points);
    p224_curve_free(&r.curve);
}

void p224_steps(papers_bench *b)
{
    const size_t wave = (size_t)b->sms * 512;

    run(b, P224_BLOCK);
    if (b->quick)
        return;
    run(b, wave);
    run(b, 4 * wave);
}
