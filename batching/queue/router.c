/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The decisions of the router, and the periods in which it judges its probes:
 * see router.h.
 */
#include "batching/queue/router.h"

#include <string.h>
#include <sys/resource.h>

#include "batching/base/clock.h"

enum {
    /* Operations within OPEN_DEMAND_NS that are worth opening the devices. */
    OPEN_DEMAND = 16,
    /* The scale of shares, and the largest one computed on overflow. */
    WHOLE = 65536,
    SHARE_MAX = WHOLE / 2,
    /* Answers of a device in a period of the process, so that batches which
     * end just before or after its end don't matter. */
    BATCHES = 10,
};

#define MS             WARPRSA_NS_PER_MS
#define OPEN_DEMAND_NS (1000 * MS)

/* A period of the process lasts BATCHES answers of a device within these. */
#define PROCESS_NS     (20 * MS)
#define PROCESS_MAX_NS (200 * MS)

static uint64_t system_process_cpu(void)
{
    struct timespec used;

    /* Cannot fail for a clock of the caller's own. */
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * WARPRSA_NS_PER_SEC + (uint64_t)used.tv_nsec;
}

/* Not getrusage()'s times: for a running thread these are as old as the last
 * timer tick. */
static warprsa_router_usage system_thread(void)
{
    warprsa_router_usage usage = {warprsa_thread_cpu_ns(), 0};
    struct rusage r;

    if (getrusage(RUSAGE_THREAD, &r) == 0)
        usage.slept = (uint64_t)r.ru_nvcsw;
    return usage;
}

const warprsa_router_clocks warprsa_router_system_clocks = {
    warprsa_clock_ns, system_process_cpu, warprsa_thread_cpu_ns, system_thread};

static uint64_t get(const _Atomic uint64_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static void set(_Atomic uint64_t *number, uint64_t value)
{
    atomic_store_explicit(number, value, memory_order_relaxed);
}

void warprsa_router_init(warprsa_router *router,
                         const warprsa_router_clocks *clocks, unsigned cpus)
{
    memset(router, 0, sizeof(*router));
    router->clocks = clocks;
    router->cpus = cpus > 0 ? cpus : 1;
    atomic_flag_clear(&router->evaluating);
    set(&router->period_start_ns, clocks->now());
    set(&router->period_cpu_ns, clocks->process_cpu());
}

void warprsa_router_devices_opened(warprsa_router *router)
{
    atomic_store_explicit(&router->devices_opened, true, memory_order_relaxed);
}

void warprsa_router_set_devices_up(warprsa_router *router, bool up)
{
    atomic_store_explicit(&router->devices_up, up, memory_order_relaxed);
}

static warprsa_router_cpus cpus_of(const warprsa_router *router)
{
    return (warprsa_router_cpus)atomic_load_explicit(&router->cpus_kind,
                                                     memory_order_relaxed);
}

uint64_t warprsa_router_cpu_ns(const warprsa_router *router,
                               warprsa_size_class size)
{
    uint64_t computing =
        1 + atomic_load_explicit(&router->computing, memory_order_relaxed);
    uint64_t ns = warprsa_router_times_cpu(&router->times, size);

    return computing <= router->cpus ? ns : ns * computing / router->cpus;
}

uint64_t warprsa_router_device_ns(const warprsa_router *router,
                                  warprsa_size_class size, unsigned before)
{
    return warprsa_router_times_device(&router->times, size, before);
}

/* What was done in a period of the process. */
typedef struct period {
    uint64_t now, elapsed;
    uint64_t done;  /* CPU time of its operations, per 65536 ns */
    uint64_t share; /* of its operations for which the CPUs have time beside
                       all else, a quarter left idle; of 65536 */
    bool contended, saturated;
    bool paused; /* for a part of it there was no operation */
} period;

static bool take_flag(_Atomic bool *what)
{
    return atomic_exchange_explicit(what, false, memory_order_relaxed);
}

static void set_flag(_Atomic bool *what)
{
    if (!atomic_load_explicit(what, memory_order_relaxed))
        atomic_store_explicit(what, true, memory_order_relaxed);
}

/* Begins a new period, `elapsed` after the last. */
static period next_period(warprsa_router *router, uint64_t now,
                          uint64_t elapsed)
{
    uint64_t cpu = router->clocks->process_cpu();
    uint64_t used = cpu - get(&router->period_cpu_ns);
    uint64_t computed =
        atomic_exchange_explicit(&router->computed_ns, 0, memory_order_relaxed);
    uint64_t work =
        atomic_exchange_explicit(&router->work_ns, 0, memory_order_relaxed);
    uint64_t spare = elapsed * router->cpus / 4 * 3;
    uint64_t share;

    set(&router->period_start_ns, now);
    set(&router->period_cpu_ns, cpu);
    used = used > computed ? used - computed : 0;
    spare = spare > used ? spare - used : 0;
    share = work == 0 || spare >= work ? WHOLE : spare * WHOLE / work;
    return (period){
        .now = now,
        .elapsed = elapsed,
        .done = work * WHOLE / elapsed,
        .share = share < SHARE_MAX ? share : SHARE_MAX,
        .contended = take_flag(&router->contended),
        .saturated = take_flag(&router->saturated),
    };
}

static bool is_up(const warprsa_router *router)
{
    return atomic_load_explicit(&router->devices_up, memory_order_relaxed);
}

/* At the end of a period with an active probe, in which so much got `done`. A
 * period in which the callers paused is not held against the probe. */
static void judge(const warprsa_router *router, warprsa_probe *probe,
                  const period *p, uint64_t done)
{
    if (!is_up(router))
        warprsa_probe_restart(probe, p->now);
    else if (p->elapsed > WARPRSA_PROBE_IDLE_NS ||
             p->now - probe->began_ns > WARPRSA_ROUTER_RENEW_NS ||
             (p->paused && !probe->proven))
        warprsa_probe_pause(probe);
    else
        warprsa_probe_judge(probe, p->now, done, false);
}

/*
 * Rule 2's probe. It begins if callers found the CPUs busy, in a period without
 * a pause, and if the devices alone could do at least two thirds of what was
 * done in that period: `callers` operations of `op_ns` in the `device_ns` that
 * such a batch is expected to take, which is an optimistic guess. A period in
 * which the CPUs alone could have done the work counts as no gain.
 */
static void judge_contention(warprsa_router *router, const period *p,
                             uint64_t op_ns, uint64_t device_ns,
                             uint64_t callers)
{
    warprsa_probe *contention = &router->contention;

    if (contention->active)
        judge(router, contention, p,
              p->done < router->cpus * WHOLE ? 0 : p->done);
    else if (p->contended && !p->paused && is_up(router) &&
             warprsa_probe_may_begin(contention, p->now) &&
             callers * op_ns * WHOLE / device_ns > p->done / 3 * 2)
        warprsa_probe_begin(contention, p->now, p->done);
    atomic_store_explicit(&router->contention_to_device, contention->active,
                          memory_order_relaxed);
}

/* Rule 3's second probe: a share of the operations on the CPUs while the
 * devices are saturated, which are GPUs alone. */
static void judge_overflow(warprsa_router *router, const period *p)
{
    warprsa_probe *overflow = &router->overflow;
    const bool gpus_alone = cpus_of(router) == WARPRSA_CPUS_NONE;

    if (overflow->active)
        judge(router, overflow, p, p->done);
    else if (gpus_alone && p->saturated && p->share > 0 && is_up(router) &&
             warprsa_probe_may_begin(overflow, p->now))
        warprsa_probe_begin(overflow, p->now, p->done);
    atomic_store_explicit(&router->overflow_share,
                          overflow->active && gpus_alone ? (uint32_t)p->share
                                                         : 0,
                          memory_order_relaxed);
}

void warprsa_router_set_cpus(warprsa_router *router, warprsa_router_cpus cpus)
{
    uint32_t before = atomic_exchange(&router->cpus_kind, (uint32_t)cpus);

    if ((before == WARPRSA_CPUS_ALONE) == (cpus == WARPRSA_CPUS_ALONE))
        return;
    warprsa_router_times_forget(&router->times);
}

/* Begins a new period of the process if it is time. `op_ns`, `device_ns`: the
 * CPU time of the operation at hand, and its expected time on the devices;
 * `before`: requests before it. */
static void check_process_period(warprsa_router *router, uint64_t now,
                                 uint64_t op_ns, uint64_t device_ns,
                                 uint64_t before)
{
    uint64_t since = get(&router->period_start_ns);
    uint64_t due_ns =
        warprsa_probe_period(PROCESS_NS, BATCHES * device_ns, PROCESS_MAX_NS);
    period p;

    if (now < since || now - since < due_ns)
        return;
    if (atomic_flag_test_and_set_explicit(&router->evaluating,
                                          memory_order_acquire))
        return;
    /* Another thread may have done it in the meantime. */
    if (get(&router->period_start_ns) == since) {
        p = next_period(router, now, now - since);
        p.paused = p.elapsed > 2 * due_ns;
        warprsa_router_times_forget_old(&router->times, now);
        judge_contention(router, &p, op_ns, device_ns,
                         before + atomic_load_explicit(&router->computing,
                                                       memory_order_relaxed));
        judge_overflow(router, &p);
    }
    atomic_flag_clear_explicit(&router->evaluating, memory_order_release);
}

static void check_thread_period(const warprsa_router *router,
                                warprsa_router_thread *thread, uint64_t now,
                                uint64_t device_ns)
{
    warprsa_router_usage usage;

    if (!warprsa_router_thread_period_is_over(thread, now, device_ns))
        return;
    usage = router->clocks->thread();
    warprsa_router_thread_next_period(thread, now, device_ns, &usage,
                                      is_up(router));
}

/* Whether the devices are open, or enough operations want them opened. */
static bool demands_open(warprsa_router *router, uint64_t now)
{
    if (atomic_load_explicit(&router->devices_opened, memory_order_relaxed))
        return true;
    if (now - get(&router->open_demand_ns) > OPEN_DEMAND_NS) {
        set(&router->open_demand_ns, now);
        atomic_store_explicit(&router->open_demand, 0, memory_order_relaxed);
    }
    return atomic_fetch_add_explicit(&router->open_demand, 1,
                                     memory_order_relaxed) +
               1 >=
           OPEN_DEMAND;
}

/* An operation of a thread that uses the devices: when they are saturated, the
 * thread computes the router's share of its operations itself. */
static warprsa_router_choice device_or_overflow(warprsa_router *router,
                                                warprsa_router_thread *thread,
                                                bool saturated)
{
    if (!saturated)
        return WARPRSA_RUN_DEVICE;
    set_flag(&router->saturated);
    thread->overflow +=
        atomic_load_explicit(&router->overflow_share, memory_order_relaxed);
    if (thread->overflow < WHOLE)
        return WARPRSA_RUN_DEVICE;
    thread->overflow -= WHOLE;
    return WARPRSA_RUN_CPU_OVERFLOW;
}

/* Rules 1 and 2: for a caller that blocks, or an event loop that does not use
 * the devices. */
static warprsa_router_choice choose_for_caller(warprsa_router *router,
                                               uint64_t cpu_ns,
                                               uint64_t device_ns, bool blocks,
                                               bool saturated)
{
    const warprsa_router_facts facts = {
        .cpus = router->cpus,
        .computing =
            atomic_load_explicit(&router->computing, memory_order_relaxed),
        .cpu_ns = cpu_ns,
        .device_ns = device_ns,
        .saturated = saturated,
    };

    if (blocks && atomic_load_explicit(&router->contention_to_device,
                                       memory_order_relaxed))
        return WARPRSA_RUN_DEVICE;
    if (blocks && warprsa_router_are_cpus_busy(facts.cpus, facts.computing))
        set_flag(&router->contended);
    return warprsa_router_decide(&facts);
}

warprsa_router_choice warprsa_router_choose(warprsa_router *router,
                                            warprsa_router_thread *thread,
                                            warprsa_size_class size,
                                            const void *job, unsigned before)
{
    uint64_t now = router->clocks->now();
    uint64_t op_ns = warprsa_router_times_cpu(&router->times, size);
    uint64_t cpu_ns = warprsa_router_cpu_ns(router, size);
    uint64_t device_ns = warprsa_router_device_ns(router, size, before);
    bool saturated = cpus_of(router) != WARPRSA_CPUS_ALONE &&
                     warprsa_router_is_saturated(
                         device_ns, warprsa_router_device_ns(router, size, 0));
    warprsa_router_choice choice;

    warprsa_router_thread_note_yield(thread, job, now);
    check_process_period(router, now, op_ns, device_ns, before);
    atomic_fetch_add_explicit(&router->work_ns, op_ns, memory_order_relaxed);
    if (job != NULL) {
        check_thread_period(router, thread, now, device_ns);
        warprsa_router_thread_note_job(thread, job, op_ns);
    }
    thread->last_job = job;
    if (op_ns == 0)
        return WARPRSA_RUN_CPU; /* so that it is measured */
    if (job != NULL && thread->offload.active)
        choice = device_or_overflow(router, thread, saturated);
    else
        choice = choose_for_caller(router, cpu_ns, device_ns, job == NULL,
                                   saturated);
    if (choice == WARPRSA_RUN_DEVICE && !demands_open(router, now))
        return WARPRSA_RUN_CPU;
    if (choice == WARPRSA_RUN_DEVICE)
        thread->offloaded_ns += op_ns;
    return choice;
}

/* Whether devices were opened, and none takes requests. */
static bool is_down(const warprsa_router *router)
{
    return atomic_load_explicit(&router->devices_opened,
                                memory_order_relaxed) &&
           !is_up(router);
}

bool warprsa_router_should_yield(warprsa_router *router,
                                 warprsa_router_thread *thread,
                                 warprsa_size_class size, const void *job)
{
    uint64_t now;
    warprsa_router_usage usage;

    if (!warprsa_router_thread_may_yield(thread, job) || is_down(router))
        return false;
    now = router->clocks->now();
    if (!warprsa_router_thread_yield_is_due(thread, now) ||
        warprsa_router_thread_could_gain(
            thread, warprsa_router_device_ns(router, size, 0)))
        return false;
    usage = router->clocks->thread();
    return warprsa_router_thread_yield(thread, job, now, &usage);
}

uint64_t warprsa_router_cpu_begin(warprsa_router *router)
{
    atomic_fetch_add_explicit(&router->computing, 1, memory_order_relaxed);
    return router->clocks->thread_cpu();
}

/* Measures CPU time. While many threads share the CPUs, a computation takes
 * much longer by the clock. Such an average would be too long once they are
 * gone, and nothing would ever correct it: everybody would go to the devices,
 * and nobody would measure the CPU again. */
void warprsa_router_cpu_end(warprsa_router *router, warprsa_size_class size,
                            uint64_t begun_ns)
{
    uint64_t op_ns = router->clocks->thread_cpu() - begun_ns;

    atomic_fetch_sub_explicit(&router->computing, 1, memory_order_relaxed);
    warprsa_router_times_computed(&router->times, size, op_ns);
    atomic_fetch_add_explicit(&router->computed_ns, op_ns,
                              memory_order_relaxed);
}

void warprsa_router_device_response(warprsa_router *router,
                                    warprsa_size_class size, unsigned depth,
                                    uint64_t response_ns)
{
    warprsa_router_times_answered(&router->times, size,
                                  depth > 0 ? depth - 1 : 0, response_ns,
                                  router->clocks->now());
}

void warprsa_router_calibrate(warprsa_router *router, uint64_t test_ns,
                              bool on_cpus)
{
    warprsa_router_times_calibrate(&router->times, test_ns, on_cpus);
}
