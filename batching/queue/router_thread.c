/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the router knows of one thread: see router_thread.h.
 */
#include "batching/queue/router_thread.h"

enum {
    /* The scale of what gets done. */
    WHOLE = 65536,
    /* Answers of a device in a period, so that batches which end just before or
     * after its end don't matter. */
    THREAD_ANSWERS = 3,
    /* A failed probe doubles the thread's period so many times... */
    STRETCH = 2,
    /* ...up to so many times altogether. */
    STRETCH_MAX = 4,
    /* As much is done as before if no more than one part in so many is lacking.
     */
    TOLERANCE = 32,
    /* A job that turns out to be alone doubles the time to the next yield so
     * many times at most: then it pauses once in 0.64 s. */
    ALONE_MAX = 6,
};

#define MS UINT64_C(1000000)

/* A period of a thread lasts THREAD_ANSWERS answers of a device, THREAD_MAX_NS
 * at most; but at least THREAD_NS, doubled as often as its `stretch` says, or
 * THREAD_PROVEN_NS once its probe is proven. */
#define THREAD_NS        (10 * MS)
#define THREAD_MAX_NS    (100 * MS)
#define THREAD_PROVEN_NS (200 * MS)

/* Whether a thread had work to do all the time. One that waits for a CPU uses
 * little CPU time, but does not sleep either. */
static bool is_busy(const warprsa_router_usage *before,
                    const warprsa_router_usage *now, uint64_t elapsed)
{
    return now->slept == before->slept ||
           now->cpu_ns - before->cpu_ns >= elapsed / 10 * 9;
}

/* The bit by which a thread knows a job. Jobs that share one count as one. */
static uint64_t bit_of(const void *job)
{
    uint64_t mixed = (uint64_t)(uintptr_t)job * UINT64_C(0x9e3779b97f4a7c15);

    return UINT64_C(1) << (mixed >> 58);
}

void warprsa_router_thread_note_job(warprsa_router_thread *thread,
                                    const void *job, uint64_t op_ns)
{
    uint64_t bit = bit_of(job);

    if (!(thread->jobs & bit))
        thread->jobs_ns += op_ns;
    thread->jobs |= bit;
}

bool warprsa_router_thread_could_gain(const warprsa_router_thread *thread,
                                      uint64_t device_ns)
{
    bool several = (thread->jobs & (thread->jobs - 1)) != 0;

    return several && thread->jobs_ns > device_ns / 3 * 2;
}

void warprsa_router_thread_note_yield(warprsa_router_thread *thread,
                                      const void *job, uint64_t now)
{
    if (!thread->yielding)
        return;
    thread->yielding = false;
    if (job != thread->last_job) {
        thread->alone = 0;
        return;
    }
    thread->yield_ns = now + (THREAD_NS << thread->alone);
    if (thread->alone < ALONE_MAX)
        thread->alone++;
}

/* What a thread got done, per 65536 ns: its own CPU time, and the CPU time that
 * the operations it sent to the devices would have taken. On the CPU this is
 * all of its time, whether its jobs want operations or something else at the
 * moment. Counted by operations alone, waves of them would be taken for gains
 * and losses. */
static uint64_t work_done(const warprsa_router_thread *thread,
                          const warprsa_router_usage *now, uint64_t elapsed)
{
    return (now->cpu_ns - thread->usage.cpu_ns + thread->offloaded_ns) * WHOLE /
           elapsed;
}

/* Whether the probe leaves a thread that always had work some time to sleep, a
 * quarter of what it used at least, while as much gets done as before. Then its
 * clients are what takes longest now. A single period may have got a little
 * less done, so the average counts, in which the last period is one half. */
static bool is_eased(warprsa_router_thread *thread,
                     const warprsa_router_usage *now, uint64_t elapsed,
                     uint64_t done)
{
    uint64_t own = (now->cpu_ns - thread->usage.cpu_ns) * WHOLE / elapsed;
    uint64_t baseline = thread->offload.baseline;

    thread->done =
        thread->offload.periods <= 1 ? done : (thread->done + done) / 2;
    return !is_busy(&thread->usage, now, elapsed) && own < baseline / 4 * 3 &&
           thread->done >= baseline - baseline / TOLERANCE;
}

/* At the end of a thread's period with an active probe. */
static void judge(warprsa_router_thread *thread, uint64_t now, uint64_t elapsed,
                  const warprsa_router_usage *usage, bool devices_up)
{
    uint64_t done = work_done(thread, usage, elapsed);
    bool eased = is_eased(thread, usage, elapsed, done);
    warprsa_probe *offload = &thread->offload;
    unsigned failed = offload->failures;

    if (!devices_up)
        warprsa_probe_restart(offload, now);
    else if (elapsed > WARPRSA_PROBE_IDLE_NS)
        warprsa_probe_pause(offload);
    else
        warprsa_probe_judge(offload, now, done, eased);
    if (offload->failures > failed && thread->stretch < STRETCH_MAX)
        thread->stretch += STRETCH;
}

bool warprsa_router_thread_period_is_over(const warprsa_router_thread *thread,
                                          uint64_t now, uint64_t device_ns)
{
    const uint64_t least = thread->offload.proven
                               ? THREAD_PROVEN_NS
                               : THREAD_NS << thread->stretch;

    return now - thread->period_start_ns >=
           warprsa_probe_period(least, THREAD_ANSWERS * device_ns,
                                THREAD_MAX_NS);
}

void warprsa_router_thread_next_period(warprsa_router_thread *thread,
                                       uint64_t now, uint64_t device_ns,
                                       const warprsa_router_usage *usage,
                                       bool devices_up)
{
    const uint64_t elapsed = now - thread->period_start_ns;

    if (thread->offload.active)
        judge(thread, now, elapsed, usage, devices_up);
    else if (warprsa_router_thread_could_gain(thread, device_ns) &&
             warprsa_probe_may_begin(&thread->offload, now) &&
             is_busy(&thread->usage, usage, elapsed))
        warprsa_probe_begin(&thread->offload, now,
                            work_done(thread, usage, elapsed));
    thread->period_start_ns = now;
    thread->usage = *usage;
    thread->offloaded_ns = 0;
    thread->yielded = 0;
    thread->jobs = 0;
    thread->jobs_ns = 0;
}

bool warprsa_router_thread_may_yield(const warprsa_router_thread *thread,
                                     const void *job)
{
    return job == thread->last_job && !thread->offload.active &&
           (thread->yielded & bit_of(job)) == 0;
}

bool warprsa_router_thread_yield_is_due(const warprsa_router_thread *thread,
                                        uint64_t now)
{
    return now >= thread->yield_ns &&
           warprsa_probe_may_begin(&thread->offload, now);
}

bool warprsa_router_thread_yield(warprsa_router_thread *thread, const void *job,
                                 uint64_t now,
                                 const warprsa_router_usage *usage)
{
    thread->yielded |= bit_of(job);
    thread->yielding =
        is_busy(&thread->usage, usage, now - thread->period_start_ns);
    return thread->yielding;
}
