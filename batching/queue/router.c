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
    /* Devices that answer so many times later than idle ones are saturated. */
    SATURATED = 3,
    /* A measurement counts for no more than so many times what was expected: a
     * preempted thread must not spoil the average. */
    OUTLIER = 4,
    /* The scale of shares, and the largest one computed on overflow. */
    WHOLE = 65536,
    SHARE_MAX = WHOLE / 2,
    /* Answers of a device in a period of the process, so that batches which
     * end just before or after its end don't matter. */
    BATCHES = 10,
    /* The same for a period of a thread. */
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

#define MS             WARPRSA_NS_PER_MS
#define OPEN_DEMAND_NS (1000 * MS)

/* A period of the process lasts BATCHES answers of a device within these. */
#define PROCESS_NS     (20 * MS)
#define PROCESS_MAX_NS (200 * MS)

/* A period of a thread lasts THREAD_ANSWERS answers of a device, THREAD_MAX_NS
 * at most; but at least THREAD_NS, doubled as often as its `stretch` says, or
 * THREAD_PROVEN_NS once its probe is proven. */
#define THREAD_NS        (10 * MS)
#define THREAD_MAX_NS    (100 * MS)
#define THREAD_PROVEN_NS (200 * MS)

/* What was measured so long ago says nothing any more. */
#define RENEW_NS (10000 * MS)

/* A period longer than this had a pause in it, and is not judged. */
#define IDLE_NS (500 * MS)

/* An idle device's answer before one was measured: an H200's, by class. The
 * large ones' are the guesses of another engine, whose time grows alike. */
static const uint64_t device_guess_ns[WARPRSA_CLASSES] = {
    1300000, 2800000, 6200000, 9600000, 32000000, 76000000};

/* The same of eight operations by AVX-512 IFMA on one CPU. */
static const uint64_t cpus_guess_ns[WARPRSA_CLASSES] = {
    110000, 720000, 3440000, 6620000, 22000000, 53000000};

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

/* Moves an average a quarter of the way to what was measured now. `expected`:
 * the value beyond which it is an outlier; 0: not known. */
static void average(_Atomic uint64_t *number, uint64_t expected,
                    uint64_t measured)
{
    uint64_t old = get(number);

    if (expected != 0 && measured > OUTLIER * expected)
        measured = OUTLIER * expected;
    set(number, old == 0 ? measured : old - old / 4 + measured / 4);
}

static unsigned bin_of(unsigned before)
{
    unsigned bin = before == 0 ? 0 : 32 - (unsigned)__builtin_clz(before);

    return bin < WARPRSA_ROUTER_BINS ? bin : WARPRSA_ROUTER_BINS - 1;
}

uint64_t warprsa_router_cpu_ns(const warprsa_router *router,
                               warprsa_size_class size)
{
    uint64_t computing =
        1 + atomic_load_explicit(&router->computing, memory_order_relaxed);
    uint64_t ns = get(&router->op_cpu_ns[size]);

    return computing <= router->cpus ? ns : ns * computing / router->cpus;
}

uint64_t warprsa_router_device_ns(const warprsa_router *router,
                                  warprsa_size_class size, unsigned before)
{
    const _Atomic uint64_t *device = router->op_device_ns[size];
    unsigned bin = bin_of(before);
    uint64_t ns = 0;

    for (unsigned b = bin + 1; ns == 0 && b-- > 0;)
        ns = get(&device[b]);
    for (unsigned b = bin + 1; ns == 0 && b < WARPRSA_ROUTER_BINS; b++)
        ns = get(&device[b]);
    return ns != 0 ? ns : device_guess_ns[size];
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
    else if (p->elapsed > IDLE_NS || p->now - probe->began_ns > RENEW_NS ||
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

/* How long a period lasts: `wanted`, but `most` at most, and `least` at least
 * in any case. */
static uint64_t clamp_period(uint64_t least, uint64_t wanted, uint64_t most)
{
    uint64_t ns = wanted < most ? wanted : most;

    return ns > least ? ns : least;
}

static void forget_answers(warprsa_router *router, unsigned size)
{
    for (unsigned b = 0; b < WARPRSA_ROUTER_BINS; b++)
        set(&router->op_device_ns[size][b],
            b == 0 ? get(&router->calibrated_ns[size]) : 0);
}

void warprsa_router_set_cpus(warprsa_router *router, warprsa_router_cpus cpus)
{
    uint32_t before = atomic_exchange(&router->cpus_kind, (uint32_t)cpus);

    if ((before == WARPRSA_CPUS_ALONE) == (cpus == WARPRSA_CPUS_ALONE))
        return;
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        forget_answers(router, c);
}

/* Forgets the response times of devices that have not been used for RENEW_NS:
 * they are no reason not to use the devices now. */
static void forget_old_answers(warprsa_router *router, uint64_t now)
{
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++) {
        if (now - get(&router->response_at_ns[c]) < RENEW_NS)
            continue;
        forget_answers(router, c);
        set(&router->response_at_ns[c], now);
    }
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
        clamp_period(PROCESS_NS, BATCHES * device_ns, PROCESS_MAX_NS);
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
        forget_old_answers(router, now);
        judge_contention(router, &p, op_ns, device_ns,
                         before + atomic_load_explicit(&router->computing,
                                                       memory_order_relaxed));
        judge_overflow(router, &p);
    }
    atomic_flag_clear_explicit(&router->evaluating, memory_order_release);
}

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

/* Notes an operation of a job, which takes `op_ns` of CPU time. */
static void note_job(warprsa_router_thread *thread, const void *job,
                     uint64_t op_ns)
{
    uint64_t bit = bit_of(job);

    if (!(thread->jobs & bit))
        thread->jobs_ns += op_ns;
    thread->jobs |= bit;
}

/* Whether a thread has several jobs, and computing an operation of each takes
 * it more than two thirds of the time that devices take to answer. */
static bool could_gain(const warprsa_router_thread *thread, uint64_t device_ns)
{
    bool several = (thread->jobs & (thread->jobs - 1)) != 0;

    return several && thread->jobs_ns > device_ns / 3 * 2;
}

/* Before the next operation of a thread, of this job: whether the yield, if
 * there was one, has let another job go on, and when the next one is due. */
static void note_yield(warprsa_router_thread *thread, const void *job,
                       uint64_t now)
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
static void judge_thread(const warprsa_router *router,
                         warprsa_router_thread *thread, uint64_t now,
                         uint64_t elapsed, const warprsa_router_usage *usage)
{
    uint64_t done = work_done(thread, usage, elapsed);
    bool eased = is_eased(thread, usage, elapsed, done);
    warprsa_probe *offload = &thread->offload;
    unsigned failed = offload->failures;

    if (!is_up(router))
        warprsa_probe_restart(offload, now);
    else if (elapsed > IDLE_NS)
        warprsa_probe_pause(offload);
    else
        warprsa_probe_judge(offload, now, done, eased);
    if (offload->failures > failed && thread->stretch < STRETCH_MAX)
        thread->stretch += STRETCH;
}

/* Begins a new period of a thread if it is time. */
static void check_thread_period(const warprsa_router *router,
                                warprsa_router_thread *thread, uint64_t now,
                                uint64_t device_ns)
{
    uint64_t elapsed = now - thread->period_start_ns;
    uint64_t least = thread->offload.proven ? THREAD_PROVEN_NS
                                            : THREAD_NS << thread->stretch;
    warprsa_router_usage usage;

    if (elapsed <
        clamp_period(least, THREAD_ANSWERS * device_ns, THREAD_MAX_NS))
        return;
    usage = router->clocks->thread();
    if (thread->offload.active)
        judge_thread(router, thread, now, elapsed, &usage);
    else if (could_gain(thread, device_ns) &&
             warprsa_probe_may_begin(&thread->offload, now) &&
             is_busy(&thread->usage, &usage, elapsed))
        warprsa_probe_begin(&thread->offload, now,
                            work_done(thread, &usage, elapsed));
    thread->period_start_ns = now;
    thread->usage = usage;
    thread->offloaded_ns = 0;
    thread->yielded = 0;
    thread->jobs = 0;
    thread->jobs_ns = 0;
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

/* Computations that keep all CPUs busy: half as many again as there are CPUs,
 * since the scheduler does not always put a thread that wakes up on a free one.
 */
static uint32_t most_computing(const warprsa_router *router)
{
    return router->cpus + router->cpus / 2;
}

/* Computations that still leave CPU time to the threads that only submit and
 * wake up. With hundreds of them the devices would wait for requests, and the
 * answers would come late and make the devices look slow. */
static uint32_t most_overflow(const warprsa_router *router)
{
    return 4 * router->cpus;
}

/* Rules 1 and 2: for a caller that blocks, or an event loop that does not use
 * the devices. */
static warprsa_router_choice choose_for_caller(warprsa_router *router,
                                               uint64_t cpu_ns,
                                               uint64_t device_ns, bool blocks,
                                               bool saturated)
{
    uint32_t computing =
        atomic_load_explicit(&router->computing, memory_order_relaxed);

    if (blocks && atomic_load_explicit(&router->contention_to_device,
                                       memory_order_relaxed))
        return WARPRSA_RUN_DEVICE;
    if (computing < most_computing(router))
        return device_ns < cpu_ns ? WARPRSA_RUN_DEVICE : WARPRSA_RUN_CPU;
    if (blocks)
        set_flag(&router->contended);
    return saturated && cpu_ns < device_ns && computing < most_overflow(router)
               ? WARPRSA_RUN_CPU_OVERFLOW
               : WARPRSA_RUN_DEVICE;
}

warprsa_router_choice warprsa_router_choose(warprsa_router *router,
                                            warprsa_router_thread *thread,
                                            warprsa_size_class size,
                                            const void *job, unsigned before)
{
    uint64_t now = router->clocks->now();
    uint64_t op_ns = get(&router->op_cpu_ns[size]);
    uint64_t cpu_ns = warprsa_router_cpu_ns(router, size);
    uint64_t device_ns = warprsa_router_device_ns(router, size, before);
    bool saturated =
        cpus_of(router) != WARPRSA_CPUS_ALONE &&
        device_ns > SATURATED * warprsa_router_device_ns(router, size, 0);
    warprsa_router_choice choice;

    note_yield(thread, job, now);
    check_process_period(router, now, op_ns, device_ns, before);
    atomic_fetch_add_explicit(&router->work_ns, op_ns, memory_order_relaxed);
    if (job != NULL) {
        check_thread_period(router, thread, now, device_ns);
        note_job(thread, job, op_ns);
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
    uint64_t now = 0;
    warprsa_router_usage usage;

    if (job != thread->last_job || thread->offload.active ||
        (thread->yielded & bit_of(job)) || is_down(router))
        return false;
    now = router->clocks->now();
    if (now < thread->yield_ns ||
        !warprsa_probe_may_begin(&thread->offload, now) ||
        could_gain(thread, warprsa_router_device_ns(router, size, 0)))
        return false;
    usage = router->clocks->thread();
    thread->yielded |= bit_of(job);
    thread->yielding =
        is_busy(&thread->usage, &usage, now - thread->period_start_ns);
    return thread->yielding;
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
    average(&router->op_cpu_ns[size], get(&router->op_cpu_ns[size]), op_ns);
    atomic_fetch_add_explicit(&router->computed_ns, op_ns,
                              memory_order_relaxed);
}

void warprsa_router_device_response(warprsa_router *router,
                                    warprsa_size_class size, unsigned depth,
                                    uint64_t response_ns)
{
    unsigned before = depth > 0 ? depth - 1 : 0;
    _Atomic uint64_t *device = router->op_device_ns[size];
    unsigned bin = bin_of(before);

    average(&device[bin], warprsa_router_device_ns(router, size, before),
            response_ns);
    set(&router->response_at_ns[size], router->clocks->now());
    /* With fewer requests before it no answer takes longer. A bin below that
     * says so is out of date. */
    for (unsigned b = 0; b < bin; b++)
        if (get(&device[b]) > get(&device[bin]))
            set(&device[b], get(&device[bin]));
}

void warprsa_router_calibrate(warprsa_router *router, uint64_t test_ns,
                              bool on_cpus)
{
    const uint64_t *guesses = on_cpus ? cpus_guess_ns : device_guess_ns;
    uint64_t guess = 0;

    /* The test is of these classes. */
    for (unsigned c = 0; c < WARPRSA_CLASS_LARGE; c++)
        guess += guesses[c];
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++) {
        uint64_t ns =
            (uint64_t)((double)guesses[c] * (double)test_ns / (double)guess);

        set(&router->calibrated_ns[c], ns > 0 ? ns : 1);
        if (get(&router->op_device_ns[c][0]) == 0)
            set(&router->op_device_ns[c][0], ns > 0 ? ns : 1);
    }
}
