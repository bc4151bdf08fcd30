/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A queue with a GPU, the CPUs, and the same CPUs once more in the background.
 */
#include "tests/unit/support/fake_queue.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "batching/queue/background.h"
#include "batching/queue/batch_selection.h"
#include "batching/queue/scheduling.h"

enum {
    GPU,
    CPUS,
    IDLE_CPUS, /* engines and devices */
    BATCH_MAX = 4,
    PATIENCE_MS = 100,
    MANY = 5 * BATCH_MAX,
};

static const warprsa_size_class size = WARPRSA_CLASS_2048;

/* Longer than any batch here. */
#define LONG_NS (LONG_MS * WARPRSA_NS_PER_MS)

static int reset(void **state)
{
    (void)state;
    fake_reset();
    return 0;
}

static warprsa_queue_config gpu_and_cpus(void)
{
    warprsa_queue_config config = fake_config();

    config.engines[GPU].batch_max = 1;
    config.engines[CPUS] = config.engines[IDLE_CPUS] = (warprsa_queue_engine){
        .engine = fake_engine_second(),
        .devices = UINT32_MAX,
        .streams = 2,
        .batch_max = BATCH_MAX,
        .on_cpus = true,
    };
    config.engines[IDLE_CPUS].background = true;
    config.engines[IDLE_CPUS].patience_ms = LONG_MS;
    config.engine_count = 3;
    FAKE_SET(second_devices, 1);
    return config;
}

static bool is_ready(const warprsa_queue_config *config, unsigned device)
{
    return config->counters->device_of[device].ready != 0;
}

static warprsa_queue *open_all(const warprsa_queue_config *config)
{
    warprsa_queue *queue = fake_ready_queue(config);

    WAIT_UNTIL(config->counters->devices == 2 && is_ready(config, IDLE_CPUS));
    return queue;
}

static void close_all(warprsa_queue *queue, warprsa_key *key,
                      const warprsa_queue_config *config)
{
    warprsa_key_release(key);
    fake_close_queue(queue, config);
    warprsa_counters_free(config->counters);
}

/* A GPU has needed so long for an answer lately, and a batch of CPUs in the
 * background took a moment. */
static void gpu_needs(warprsa_queue *queue, warprsa_size_class of, uint64_t ns)
{
    const uint64_t now_ns = warprsa_clock_ns();

    warprsa_queue_note_answer(queue, GPU, of, ns, ns, now_ns);
    warprsa_queue_note_answer(queue, IDLE_CPUS, of, WARPRSA_NS_PER_MS,
                              WARPRSA_NS_PER_MS, now_ns);
}

/* What CPUs in the background would take if so many requests were queued, and
 * the GPU were that slow; 0: nobody knows. Asked again if this thread had no
 * CPU for so long that the time may be forgotten. */
static warprsa_class_set would_take(warprsa_queue *queue, warprsa_size_class of,
                                    uint32_t queued, uint64_t gpu_ns)
{
    _Atomic uint32_t *count = &queue->turns.count[of];
    warprsa_class_set classes;
    uint64_t start_ns;

    do {
        start_ns = warprsa_clock_ns();
        if (gpu_ns != 0)
            gpu_needs(queue, of, gpu_ns);
        atomic_store(count, queued);
        classes = warprsa_queue_takes_now(queue, IDLE_CPUS);
        atomic_store(count, 0);
    } while (warprsa_clock_ns() - start_ns > 50 * WARPRSA_NS_PER_MS);
    return classes;
}

static void submit(warprsa_queue *queue, warprsa_key *key, fake_request *r,
                   unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        fake_fill(&r[i], size, 1, i);
        assert_int_equal(fake_submit(queue, key, &r[i]), WARPRSA_DONE);
    }
}

static void all_are_right(warprsa_queue *queue, fake_request *r, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(warprsa_queue_wait(queue, r[i].ticket, r[i].output),
                         WARPRSA_DONE);
        assert_true(fake_is_right(&r[i]));
    }
}

/* The GPU's only stream gets a request and keeps it. */
static void saturate(warprsa_queue *queue, warprsa_key *key, fake_request *r)
{
    unsigned before;

    FAKE_SET(second_goes_on, true);
    FAKE_SET(hold, true);
    before = fake.running;
    submit(queue, key, r, 1);
    FAKE_WAIT(fake.running == before + 1);
}

/* Batches that the second engine has started. */
static unsigned helped(void)
{
    unsigned batches = 0;

    pthread_mutex_lock(&fake.lock);
    for (unsigned i = 0; i < fake.batches && i < FAKE_BATCHES_LOGGED; i++)
        batches += fake.log[i].second;
    pthread_mutex_unlock(&fake.lock);
    return batches;
}

/* Has the CPUs in the background look for requests, of a slow GPU, until the
 * condition holds; fails after LONG_MS. */
#define HELP_UNTIL(condition)                                                  \
    for (int left = LONG_MS; !(condition); left--) {                           \
        assert_true(left > 0);                                                 \
        gpu_needs(queue, size, LONG_NS);                                       \
        warprsa_queue_rearm_idle(queue);                                       \
        usleep(1000);                                                          \
    }

/* Who computed them: the second engine's batches were all full and of this
 * policy. */
static void computed_by(int policy)
{
    for (unsigned i = 0; i < fake.batches && i < FAKE_BATCHES_LOGGED; i++) {
        if (!fake.log[i].second)
            continue;
        assert_int_equal(fake.log[i].policy, policy);
        if (policy == SCHED_IDLE)
            assert_int_equal(fake.log[i].count, BATCH_MAX);
    }
}

/* Nothing as long as the GPU has a stream with nothing to do, however slow it
 * is, or no more is queued than one batch takes, or the GPU answers sooner, or
 * nobody knows. Nor of large classes. */
static void they_help_a_saturated_gpu_alone(void **state)
{
    const warprsa_class_set all = warprsa_class_alone(size);
    warprsa_queue_config config = gpu_and_cpus();
    warprsa_queue *queue;
    warprsa_key *key;
    fake_request r;

    (void)state;
    queue = open_all(&config);
    key = fake_add_key(queue, size, 1);
    WAIT_UNTIL(queue->activity[GPU].eventcount.idle == 1);
    assert_int_equal(would_take(queue, size, MANY, LONG_NS), 0);
    saturate(queue, key, &r);
    assert_int_equal(would_take(queue, size, MANY, LONG_NS), all);
    assert_int_equal(would_take(queue, size, BATCH_MAX + 1, LONG_NS), all);
    assert_int_equal(would_take(queue, size, BATCH_MAX, LONG_NS), 0);
    assert_int_equal(would_take(queue, WARPRSA_CLASS_6144, MANY, LONG_NS), 0);
    assert_int_equal(warprsa_queue_takes_now(queue, CPUS), 0);
    FAKE_SET(hold, false);
    all_are_right(queue, &r, 1);
    close_all(queue, key, &config);
}

static void they_leave_what_the_gpu_answers_sooner(void **state)
{
    warprsa_queue_config config = gpu_and_cpus();
    warprsa_queue *queue;
    warprsa_key *key;
    fake_request r;

    (void)state;
    queue = open_all(&config);
    key = fake_add_key(queue, size, 1);
    saturate(queue, key, &r);
    assert_int_equal(would_take(queue, size, MANY, 0), 0);
    for (unsigned i = 0; i < 100; i++)
        gpu_needs(queue, size, WARPRSA_NS_PER_MS / 2);
    assert_int_equal(would_take(queue, size, MANY, WARPRSA_NS_PER_MS / 2), 0);
    assert_int_not_equal(would_take(queue, size, MANY, LONG_NS), 0);
    FAKE_SET(hold, false);
    all_are_right(queue, &r, 1);
    close_all(queue, key, &config);
}

/* They do, by threads of SCHED_IDLE, as long as there is more than a batch for
 * them. */
static void they_compute_in_idle_time(void **state)
{
    warprsa_queue_config config = gpu_and_cpus();
    fake_request first, r[MANY];
    char name[WARPRSA_COUNTERS_TEXT];
    warprsa_queue *queue;
    warprsa_key *key;

    (void)state;
    queue = open_all(&config);
    key = fake_add_key(queue, size, 1);
    saturate(queue, key, &first);
    submit(queue, key, r, MANY);
    HELP_UNTIL(helped() >= MANY / BATCH_MAX - 1);
    WAIT_UNTIL(fake_sum(config.counters->ifma, WARPRSA_CLASSES) +
                   config.counters->device_of[IDLE_CPUS].gpu >=
               MANY - BATCH_MAX);
    FAKE_SET(hold, false);
    all_are_right(queue, &first, 1);
    all_are_right(queue, r, MANY);
    computed_by(SCHED_IDLE);
    assert_int_equal(fake_sum(config.counters->ifma, WARPRSA_CLASSES),
                     MANY - BATCH_MAX);
    assert_int_equal(config.counters->device_of[IDLE_CPUS].gpu,
                     MANY - BATCH_MAX);
    assert_int_equal(config.counters->device_of[CPUS].gpu, 0);
    warprsa_counters_name(config.counters, IDLE_CPUS, name);
    assert_string_equal(name, "idle CPUs: Fake (second 0)");
    close_all(queue, key, &config);
}

/* Without the GPU the CPUs compute, and not in idle time. */
static void others_compute_without_a_gpu(void **state)
{
    warprsa_queue_config config = gpu_and_cpus();
    warprsa_queue *queue;
    fake_request r[MANY];
    warprsa_key *key;

    (void)state;
    queue = open_all(&config);
    key = fake_add_key(queue, size, 1);
    FAKE_SET(open_failures, UINT32_MAX);
    FAKE_SET(wait_failures, 1);
    assert_int_equal(fake_answer(queue, key, 1), WARPRSA_REFUSED);
    WAIT_UNTIL(config.counters->devices == 1);
    assert_int_equal(would_take(queue, size, MANY, LONG_NS), 0);
    assert_true(warprsa_queue_on_cpus(queue));
    submit(queue, key, r, MANY);
    all_are_right(queue, r, MANY);
    computed_by(SCHED_OTHER);
    assert_int_equal(config.counters->device_of[CPUS].gpu, MANY);
    close_all(queue, key, &config);
}

/* To callers a queue without another device is down, whether they are opened or
 * fail or are in use, and for that other device's reason. */
static void they_are_no_device_of_their_own(void **state)
{
    warprsa_queue_config config = gpu_and_cpus();
    char text[WARPRSA_COUNTERS_TEXT];
    warprsa_queue *queue;
    warprsa_key *key;

    (void)state;
    FAKE_SET(devices, 0);
    FAKE_SET(hold_open, true);
    FAKE_SET(open_failures, 1);
    config.engines[CPUS] = config.engines[IDLE_CPUS];
    config.engine_count = 2;
    queue = fake_open_queue(&config);
    assert_int_equal(warprsa_queue_wait_ready(queue, LONG_MS),
                     WARPRSA_QUEUE_DOWN);
    FAKE_SET(hold_open, false);
    WAIT_UNTIL(is_ready(&config, 1));
    assert_int_equal(warprsa_queue_wait_ready(queue, 0), WARPRSA_QUEUE_DOWN);
    assert_false(warprsa_queue_on_cpus(queue));
    assert_int_equal(config.counters->devices, 0);
    warprsa_counters_device(config.counters, text);
    assert_string_equal(text, "none: no fake device");
    key = fake_add_key(queue, size, 1);
    assert_int_equal(fake_answer(queue, key, 1), WARPRSA_REFUSED);
    close_all(queue, key, &config);
}

static uint64_t given_back(const warprsa_queue_config *config)
{
    return config->counters->device_of[IDLE_CPUS].failovers;
}

/* No CPU for what they have taken: the GPU answers instead, and they take
 * nothing more until the pause is over. What they compute still has its key
 * until they have done so, though all callers are gone. */
static void starved_batches_go_to_the_gpu(void **state)
{
    warprsa_queue_config config = gpu_and_cpus();
    fake_request first, r[MANY];
    warprsa_queue *queue;
    warprsa_key *key;

    (void)state;
    config.engines[IDLE_CPUS].patience_ms = PATIENCE_MS;
    config.engines[IDLE_CPUS].streams = 1;
    queue = open_all(&config);
    key = fake_add_key(queue, size, 1);
    saturate(queue, key, &first);
    submit(queue, key, r, MANY);
    FAKE_SET(hold_start, true);
    HELP_UNTIL(given_back(&config) >= BATCH_MAX);
    WAIT_UNTIL(would_take(queue, size, MANY, LONG_NS) == 0);
    FAKE_SET(hold, false);
    all_are_right(queue, &first, 1);
    all_are_right(queue, r, MANY);
    assert_int_equal(fake_sum(config.counters->gpu, WARPRSA_CLASSES), MANY + 1);
    assert_int_equal(config.counters->device_losses, 0);
    assert_false(warprsa_queue_has_lost_device(queue));
    warprsa_key_release(key);
    for (unsigned i = 0; i < 50; i++) {
        usleep(1000);
        assert_int_equal(config.counters->keys_wiped, 0);
    }
    FAKE_SET(hold_start, false);
    WAIT_UNTIL(config.counters->keys_wiped == 2);
    close_all(queue, NULL, &config);
}

/* What waits for a key on their device does not wait for a starved batch. */
static void nothing_waits_behind_a_starved_batch(void **state)
{
    warprsa_queue_config config = gpu_and_cpus();
    fake_request first, r[BATCH_MAX + 1], late, more[BATCH_MAX];
    warprsa_key *key, *other;
    warprsa_queue *queue;

    (void)state;
    config.engines[IDLE_CPUS].patience_ms = 10 * PATIENCE_MS;
    config.engines[IDLE_CPUS].streams = 1;
    queue = open_all(&config);
    key = fake_add_key(queue, size, 1);
    other = fake_add_key(queue, size, 2);
    saturate(queue, key, &first);
    submit(queue, key, r, BATCH_MAX + 1);
    HELP_UNTIL(helped() >= 1);
    all_are_right(queue, r, BATCH_MAX);
    FAKE_SET(hold_start, true);
    fake_fill(&late, size, 2, 1);
    assert_int_equal(fake_submit(queue, other, &late), WARPRSA_DONE);
    submit(queue, key, more, BATCH_MAX);
    HELP_UNTIL(given_back(&config) >= BATCH_MAX);
    FAKE_SET(hold, false);
    all_are_right(queue, &late, 1);
    all_are_right(queue, &first, 1);
    all_are_right(queue, &r[BATCH_MAX], 1);
    all_are_right(queue, more, BATCH_MAX);
    FAKE_SET(hold_start, false);
    warprsa_key_release(other);
    close_all(queue, key, &config);
}

/* A request that has been given back three times, on a busy machine, is
 * refused. */
static void they_come_back_after_the_pause(void **state)
{
    warprsa_queue_config config = gpu_and_cpus();
    fake_request first, r[MANY];
    warprsa_queue *queue;
    warprsa_key *key;

    (void)state;
    config.engines[IDLE_CPUS].patience_ms = PATIENCE_MS;
    queue = open_all(&config);
    key = fake_add_key(queue, size, 1);
    saturate(queue, key, &first);
    submit(queue, key, r, MANY);
    FAKE_SET(hold_start, true);
    HELP_UNTIL(given_back(&config) >= BATCH_MAX);
    FAKE_SET(hold_start, false);
    HELP_UNTIL(config.counters->device_of[IDLE_CPUS].gpu > 0);
    FAKE_SET(hold, false);
    all_are_right(queue, &first, 1);
    for (unsigned i = 0; i < MANY; i++)
        if (warprsa_queue_wait(queue, r[i].ticket, r[i].output) == WARPRSA_DONE)
            assert_true(fake_is_right(&r[i]));
    close_all(queue, key, &config);
}

/* Their device fails: the GPU answers, and no process has to be replaced. */
static void their_failure_is_made_good(void **state)
{
    warprsa_queue_config config = gpu_and_cpus();
    fake_request first, r[MANY];
    warprsa_queue *queue;
    warprsa_key *key;

    (void)state;
    queue = open_all(&config);
    key = fake_add_key(queue, size, 1);
    saturate(queue, key, &first);
    submit(queue, key, r, MANY);
    FAKE_SET(open_failures, UINT32_MAX);
    FAKE_SET(wait_failures, 1);
    HELP_UNTIL(helped() >= 1);
    FAKE_WAIT(fake.open_failures < UINT32_MAX - 1);
    assert_false(warprsa_queue_has_lost_device(queue));
    FAKE_SET(hold, false);
    all_are_right(queue, &first, 1);
    all_are_right(queue, r, MANY);
    close_all(queue, key, &config);
}

/* They compute wrongly: they are out of use, and the GPU is not. */
static void wrong_results_take_them_away(void **state)
{
    warprsa_queue_config config = gpu_and_cpus();
    const warprsa_device_counters *idle =
        &config.counters->device_of[IDLE_CPUS];
    fake_request first, r[MANY];
    warprsa_queue *queue;
    warprsa_key *key;

    (void)state;
    queue = open_all(&config);
    key = fake_add_key(queue, size, 1);
    saturate(queue, key, &first);
    FAKE_SET(bad_checks, MANY);
    submit(queue, key, r, MANY);
    HELP_UNTIL(idle->wrong == 1);
    FAKE_SET(bad_checks, 0);
    FAKE_SET(hold, false);
    all_are_right(queue, &first, 1);
    for (unsigned i = 0; i < MANY; i++)
        if (warprsa_queue_wait(queue, r[i].ticket, r[i].output) == WARPRSA_DONE)
            assert_true(fake_is_right(&r[i]));
    assert_in_range(idle->checks_failed, 3, MANY);
    assert_int_equal(config.counters->device_of[GPU].losses, 0);
    assert_false(warprsa_queue_has_lost_device(queue));
    WAIT_UNTIL(is_ready(&config, IDLE_CPUS));
    assert_int_equal(fake_class_tests(size), 1);
    close_all(queue, key, &config);
}

/* While a key is loaded for what they have taken, they take no more than
 * otherwise. */
static void a_key_to_load_is_no_reason_to_take_more(void **state)
{
    warprsa_queue_config config = gpu_and_cpus();
    fake_request first, r[MANY];
    warprsa_queue *queue;
    warprsa_key *key;

    (void)state;
    config.engines[IDLE_CPUS].streams = 1;
    queue = open_all(&config);
    key = fake_add_key(queue, size, 1);
    saturate(queue, key, &first);
    FAKE_SET(hold_load, true);
    submit(queue, key, r, BATCH_MAX + 1);
    HELP_UNTIL(atomic_load(&queue->devices[IDLE_CPUS].loads.requests) > 0);
    assert_int_equal(
        warprsa_take_classes(&queue->devices[IDLE_CPUS].workers[0]), 0);
    FAKE_SET(hold_load, false);
    all_are_right(queue, r, BATCH_MAX);
    FAKE_SET(hold, false);
    all_are_right(queue, &first, 1);
    all_are_right(queue, &r[BATCH_MAX], 1);
    close_all(queue, key, &config);
}

/* From here on this thread, and those that it starts, cannot make one of
 * SCHED_IDLE. False: the system has no such filters. */
static bool forbid_policies(uint32_t action)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setscheduler, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static _Atomic unsigned complaints;

static void note_complaint(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    if (strstr(line, "no thread of SCHED_IDLE: Operation not permitted"))
        complaints++;
}

static void *without_idle_threads(void *arg)
{
    warprsa_queue_config config = gpu_and_cpus();
    bool *tested = arg;
    warprsa_queue *queue;
    warprsa_key *key;
    fake_request first, r[MANY];

    *tested = forbid_policies(SECCOMP_RET_ERRNO | EPERM);
    if (!*tested)
        return NULL;
    assert_false(warprsa_background_is_allowed());
    config.trace = note_complaint;
    queue = fake_ready_queue(&config);
    WAIT_UNTIL(config.counters->devices == 2 && complaints == 1);
    key = fake_add_key(queue, size, 1);
    saturate(queue, key, &first);
    submit(queue, key, r, MANY);
    for (unsigned i = 0; i < 50; i++) {
        gpu_needs(queue, size, LONG_NS);
        warprsa_queue_rearm_idle(queue);
        usleep(1000);
    }
    FAKE_SET(hold, false);
    all_are_right(queue, &first, 1);
    all_are_right(queue, r, MANY);
    assert_false(is_ready(&config, IDLE_CPUS));
    assert_int_equal(fake_sum(config.counters->gpu, WARPRSA_CLASSES), MANY + 1);
    close_all(queue, key, &config);
    return NULL;
}

/* In a thread of its own, since a filter stays. */
static void run_apart(void *(*test)(void *tested))
{
    bool tested = false;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, test, &tested), 0);
    pthread_join(thread, NULL);
    if (!tested)
        skip();
}

/* Rather nothing than threads of another policy. */
static void without_permission_they_give_up(void **state)
{
    (void)state;
    run_apart(without_idle_threads);
}

static void *ask_under_a_deadly_filter(void *arg)
{
    bool *tested = arg;

    assert_true(warprsa_background_is_allowed());
    *tested = forbid_policies(SECCOMP_RET_KILL_PROCESS);
    if (*tested)
        assert_false(warprsa_background_is_allowed());
    return NULL;
}

/* A filter that kills kills no more than the child that tries. */
static void to_ask_is_not_deadly(void **state)
{
    (void)state;
    run_apart(ask_under_a_deadly_filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(they_help_a_saturated_gpu_alone, reset),
        cmocka_unit_test_setup(they_leave_what_the_gpu_answers_sooner, reset),
        cmocka_unit_test_setup(they_compute_in_idle_time, reset),
        cmocka_unit_test_setup(others_compute_without_a_gpu, reset),
        cmocka_unit_test_setup(they_are_no_device_of_their_own, reset),
        cmocka_unit_test_setup(starved_batches_go_to_the_gpu, reset),
        cmocka_unit_test_setup(nothing_waits_behind_a_starved_batch, reset),
        cmocka_unit_test_setup(they_come_back_after_the_pause, reset),
        cmocka_unit_test_setup(their_failure_is_made_good, reset),
        cmocka_unit_test_setup(wrong_results_take_them_away, reset),
        cmocka_unit_test_setup(a_key_to_load_is_no_reason_to_take_more, reset),
        cmocka_unit_test_setup(without_permission_they_give_up, reset),
        cmocka_unit_test(to_ask_is_not_deadly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
