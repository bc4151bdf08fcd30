/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Clocks of the SMs; sm_clocks.h describes the functions.
 */
#include "bench/programs/sm_clocks.h"

#include "bench/programs/bench.h"

enum {
    /* Before the first launch so many clocks, 0.1 ms, give the host the time to
     * queue the others: gaps in which the GPU waits would count, too. */
    LEAD = 200000,
};

/* The clock of each SM; 0: not read. */
typedef struct sm_stamps {
    uint64_t before[SM_STAMP_ROOM], after[SM_STAMP_ROOM];
} sm_stamps;

/* A launches_bracket. */
static void read_clocks(void *arg, size_t index, bool after,
                        cudaStream_t stream)
{
    sm_clocks *c = arg;
    sm_stamps *of = (sm_stamps *)c->stamps + index;

    c->launches = index + 1;
    bench_cuda(sm_stamp_launch(after ? of->after : of->before, c->sms,
                               index == 0 && !after ? LEAD : 0, stream),
               "reading the SMs' clocks");
}

void sm_clocks_new(sm_clocks *c)
{
    int sms = 0;

    bench_cuda(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0),
               "the device");
    *c = (sm_clocks){.sms = (unsigned)sms, .least = (unsigned)sms};
    c->stamps = bench_device_memory(LAUNCHES_MAX * sizeof(sm_stamps));
    bench_cuda(cudaDeviceSynchronize(), "device memory");
    launches_bracket_by(read_clocks, c);
}

void sm_clocks_free(sm_clocks *c)
{
    launches_bracket_by(NULL, NULL);
    bench_cuda(cudaFree(c->stamps), "freeing memory");
}

/* The clocks of an SM over all launches; 0 if some of them were not read. */
static uint64_t clocks_of(const sm_stamps *stamps, size_t launches, size_t sm)
{
    uint64_t clocks = 0;

    for (size_t i = 0; i < launches; i++) {
        if (stamps[i].before[sm] == 0 || stamps[i].after[sm] == 0)
            return 0;
        clocks += stamps[i].after[sm] - stamps[i].before[sm];
    }
    return clocks;
}

spread sm_clocks_take(sm_clocks *c, cudaStream_t stream)
{
    static sm_stamps stamps[LAUNCHES_MAX];
    const size_t bytes = c->launches * sizeof(*stamps), launches = c->launches;
    double clocks[SM_STAMP_ROOM];
    unsigned count = 0;

    bench_cuda(cudaMemcpyAsync(stamps, c->stamps, bytes, cudaMemcpyDeviceToHost,
                               stream),
               "copying clocks");
    bench_cuda(cudaMemsetAsync(c->stamps, 0, bytes, stream), "clearing clocks");
    bench_cuda(cudaStreamSynchronize(stream), "copying clocks");
    c->launches = 0;
    for (size_t sm = 0; sm < SM_STAMP_ROOM; sm++) {
        const uint64_t of = clocks_of(stamps, launches, sm);

        if (of != 0)
            clocks[count++] = (double)of;
    }
    if (count < c->least)
        c->least = count;
    if (count < c->sms / 2 + 1)
        bench_fail("the clocks of most SMs were not read");
    return spread_of(clocks, count);
}
