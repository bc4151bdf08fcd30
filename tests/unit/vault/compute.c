/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The vault's threads: steps by libcrypto, and which step comes when. For the
 * latter an operation ends when the test lets it.
 */
#include "tests/unit/support/unit_test.h"

#include <pthread.h>
#include <string.h>

#include <openssl/rsa.h>

#include "batching/base/clock.h"
#include "batching/vault/compute.h"
#include "tests/unit/support/wait_until.h"
#include "tests/unit/vault/padding_keys.h"

enum {
    BYTES_MAX = WARPRSA_VAULT_MODULUS_BYTES_MAX,
    STEPS = 64,
    WAITING_MAX = 16,
};

static padding_subject subject;
static warprsa_compute *compute;
static warprsa_compute_owner owners[3];

/* ---- operations that end when they may ---- */

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_changed = PTHREAD_COND_INITIALIZER;
static bool gated;          /* operations wait for permits */
static unsigned begun;      /* operations */
static unsigned permits;    /* to end */
static uint64_t burn_ns[3]; /* CPU time of an operation of each owner */

bool __real_warprsa_padding_compute(const warprsa_padding_key *key,
                                    const warprsa_key_use *use,
                                    const uint8_t *input, uint8_t *answer,
                                    unsigned *length,
                                    warprsa_use_errors *errors);
bool __wrap_warprsa_padding_compute(const warprsa_padding_key *key,
                                    const warprsa_key_use *use,
                                    const uint8_t *input, uint8_t *answer,
                                    unsigned *length,
                                    warprsa_use_errors *errors);

/* `input` is the number of the owner while operations are gated. */
bool __wrap_warprsa_padding_compute(const warprsa_padding_key *key,
                                    const warprsa_key_use *use,
                                    const uint8_t *input, uint8_t *answer,
                                    unsigned *length,
                                    warprsa_use_errors *errors)
{
    uint64_t until_ns = 0;

    if (!gated)
        return __real_warprsa_padding_compute(key, use, input, answer, length,
                                              errors);
    until_ns = warprsa_thread_cpu_ns() + burn_ns[*input];
    while (warprsa_thread_cpu_ns() < until_ns)
        ;
    pthread_mutex_lock(&gate_lock);
    begun++;
    pthread_cond_broadcast(&gate_changed);
    while (permits == 0)
        pthread_cond_wait(&gate_changed, &gate_lock);
    permits--;
    pthread_mutex_unlock(&gate_lock);
    *length = 1;
    return true;
}

static void permit(unsigned count)
{
    pthread_mutex_lock(&gate_lock);
    permits += count;
    pthread_cond_broadcast(&gate_changed);
    pthread_mutex_unlock(&gate_lock);
}

static unsigned begun_now(void)
{
    unsigned now = 0;

    pthread_mutex_lock(&gate_lock);
    now = begun;
    pthread_mutex_unlock(&gate_lock);
    return now;
}

/* ---- steps, and the order in which they end ---- */

typedef struct record {
    warprsa_step step;
    uint8_t input, output[BYTES_MAX];
} record;

static record records[STEPS];
static unsigned record_count;
static const record *ended[STEPS];
static unsigned ended_count;

static void note_end(warprsa_step *step)
{
    pthread_mutex_lock(&gate_lock);
    assert_true(ended_count < STEPS);
    ended[ended_count++] = (const record *)step;
    pthread_mutex_unlock(&gate_lock);
}

static unsigned ended_now(void)
{
    unsigned now = 0;

    pthread_mutex_lock(&gate_lock);
    now = ended_count;
    pthread_mutex_unlock(&gate_lock);
    return now;
}

static record *new_record(unsigned owner)
{
    record *r = &records[record_count++];

    memset(r, 0, sizeof(*r));
    r->input = (uint8_t)owner;
    r->step = (warprsa_step){.kind = WARPRSA_STEP_ALL,
                             .key = subject.key,
                             .input = &r->input,
                             .output = r->output,
                             .done = note_end};
    return r;
}

static unsigned accepted; /* steps, since the start */

/* Whether the owner may have one more step. */
static bool give(record *r, unsigned owner)
{
    const bool ok = warprsa_compute_submit(compute, &owners[owner], &r->step);

    accepted += ok;
    return ok;
}

static record *submit(unsigned owner)
{
    record *r = new_record(owner);

    assert_true(give(r, owner));
    return r;
}

static void start(unsigned threads)
{
    gated = true;
    begun = permits = record_count = ended_count = accepted = 0;
    memset(burn_ns, 0, sizeof(burn_ns));
    for (int i = 0; i < 3; i++)
        warprsa_compute_owner_init(&owners[i]);
    compute = warprsa_compute_new(threads, WAITING_MAX);
    assert_non_null(compute);
}

/* Lets all that was submitted end. */
static void finish(void)
{
    permit(accepted);
    WAIT_UNTIL(ended_now() == accepted);
    warprsa_compute_free(compute);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(owners[i].count, 0);
        assert_int_equal(owners[i].running, 0);
    }
}

/* ---- tests ---- */

static int setup(void **state)
{
    subject_new(&subject, "1024", 1024, 2);
    return 0;
}

static int teardown(void **state)
{
    subject_free(&subject);
    return 0;
}

/* A decryption by an engine, and one by libcrypto alone. */
TEST(steps_are_libcryptos)
{
    uint8_t message[128] = {0, 2}, ciphertext[128], power[128];
    BIGNUM *e = NULL;
    record *finish_step, *whole;

    start(1);
    gated = false;
    memset(message + 2, 9, 100);
    message[102] = 0;
    assert_true(EVP_PKEY_get_bn_param(subject.oracle, "e", &e));
    subject_power(&subject, e, message, ciphertext);
    BN_free(e);
    finish_step = new_record(0);
    whole = new_record(0);
    for (record *r = finish_step; r <= whole; r++) {
        r->step.use =
            use_of(WARPRSA_USE_DECRYPT, WARPRSA_PADDING_PKCS1, subject.bytes);
        r->step.input = ciphertext;
    }
    subject_power(&subject, subject.d, ciphertext, power);
    finish_step->step.kind = WARPRSA_STEP_FINISH;
    finish_step->step.power = power;
    assert_true(give(finish_step, 0));
    assert_true(give(whole, 0));
    WAIT_UNTIL(ended_now() == 2);
    for (record *r = finish_step; r <= whole; r++) {
        assert_int_equal(r->step.outcome, WARPRSA_STEP_DONE);
        assert_int_equal(r->step.length, 128 - 103);
        assert_memory_equal(r->output, message + 103, r->step.length);
    }
    finish();
}

/* What libcrypto refuses has its errors, and no length. */
TEST(refusals_are_libcryptos)
{
    uint8_t ciphertext[128];
    record *r = NULL;

    start(1);
    gated = false;
    memset(ciphertext, 0xff, sizeof(ciphertext));
    r = new_record(0);
    r->step.use =
        use_of(WARPRSA_USE_DECRYPT, WARPRSA_PADDING_PKCS1, subject.bytes);
    r->step.input = ciphertext;
    assert_true(give(r, 0));
    WAIT_UNTIL(ended_now() == 1);
    assert_int_equal(r->step.outcome, WARPRSA_STEP_FAILED);
    assert_int_equal(r->step.length, 0);
    assert_int_not_equal(r->step.errors.codes[0], 0);
    finish();
}

TEST(an_owners_steps_keep_their_order)
{
    start(1);
    for (int i = 0; i < 10; i++)
        submit(0);
    permit(10);
    WAIT_UNTIL(ended_now() == 10);
    for (int i = 0; i < 10; i++)
        assert_ptr_equal(ended[i], &records[i]);
    finish();
}

/* Whoever comes later waits for no backlog, and whose operations are long has
 * fewer of them. */
TEST(owners_take_turns)
{
    start(1);
    burn_ns[0] = 20 * WARPRSA_NS_PER_MS;
    burn_ns[1] = WARPRSA_NS_PER_MS;
    for (int i = 0; i < 6; i++)
        submit(0);
    WAIT_UNTIL(begun_now() == 1);
    for (int i = 0; i < 4; i++)
        submit(1);
    permit(10);
    WAIT_UNTIL(ended_now() == 10);
    assert_int_equal(ended[0]->input, 0);
    /* Owner 1 begins where owner 0 stood when its first step began. */
    for (int i = 1; i < 5; i++)
        assert_int_equal(ended[i]->input, 1);
    finish();
}

/* An owner that was away has saved no turns. */
TEST(nobody_saves_up_turns)
{
    unsigned before = 0;

    start(1);
    burn_ns[0] = burn_ns[1] = 2 * WARPRSA_NS_PER_MS;
    for (int i = 0; i < 12; i++)
        submit(0);
    permit(10);
    WAIT_UNTIL(begun_now() == 11);
    for (int i = 0; i < 8; i++)
        submit(1);
    for (int i = 0; i < 6; i++)
        submit(0);
    permit(16);
    WAIT_UNTIL(ended_now() == 26);
    for (int i = 10; i < 18; i++)
        before += ended[i]->input == 0;
    /* One was running, and of the others they take about every second. */
    assert_in_range(before, 3, 6);
    finish();
}

/* Of two threads one stays free for others. */
TEST(no_owner_has_all_threads)
{
    start(2);
    submit(0);
    submit(0);
    WAIT_UNTIL(begun_now() == 1);
    submit(1);
    WAIT_UNTIL(begun_now() == 2);
    assert_int_equal(owners[0].running, 1);
    assert_int_equal(owners[0].count, 1);
    assert_int_equal(owners[1].running, 1);
    permit(1); /* of either */
    WAIT_UNTIL(ended_now() == 1);
    permit(2);
    WAIT_UNTIL(ended_now() == 3);
    finish();
}

/* Each owner has its own bound. */
TEST(waiting_steps_are_bounded)
{
    record *r = NULL;

    start(1);
    submit(0);
    WAIT_UNTIL(begun_now() == 1);
    for (int i = 0; i < WAITING_MAX; i++)
        submit(0);
    r = new_record(0);
    assert_false(give(r, 0));
    assert_true(give(r, 1));
    assert_int_equal(owners[0].count, WAITING_MAX);
    assert_int_equal(owners[1].count, 1);
    finish();
    assert_int_equal(ended_count, WAITING_MAX + 2);
}

TEST(late_steps_do_not_begin)
{
    record *late = NULL, *early = NULL;

    start(1);
    submit(0);
    WAIT_UNTIL(begun_now() == 1);
    late = new_record(0);
    late->step.deadline_ns = 1;
    early = new_record(0);
    early->step.deadline_ns = UINT64_MAX;
    assert_true(give(late, 0));
    assert_true(give(early, 0));
    permit(2);
    WAIT_UNTIL(ended_now() == 3);
    assert_int_equal(late->step.outcome, WARPRSA_STEP_LATE);
    assert_int_equal(late->step.length, 0);
    assert_int_equal(early->step.outcome, WARPRSA_STEP_DONE);
    assert_int_equal(begun_now(), 2);
    finish();
}

static void *free_it(void *arg)
{
    warprsa_compute_free(compute);
    return arg;
}

/* Each step ends once: those that run as usual, those that wait as STOPPED. */
TEST(the_end_waits_for_what_runs)
{
    pthread_t ending;
    unsigned stopped = 0;

    start(2);
    submit(0);
    submit(1);
    WAIT_UNTIL(begun_now() == 2);
    for (int i = 0; i < 5; i++)
        submit(i % 3U);
    assert_int_equal(pthread_create(&ending, NULL, free_it, NULL), 0);
    permit(STEPS);
    assert_int_equal(pthread_join(ending, NULL), 0);
    assert_int_equal(ended_count, 7);
    for (unsigned i = 0; i < ended_count; i++) {
        stopped += ended[i]->step.outcome == WARPRSA_STEP_STOPPED;
        for (unsigned j = 0; j < i; j++)
            assert_ptr_not_equal(ended[i], ended[j]);
    }
    assert_int_equal(stopped + begun, 7);
    assert_int_equal(records[0].step.outcome, WARPRSA_STEP_DONE);
    assert_int_equal(records[1].step.outcome, WARPRSA_STEP_DONE);
    for (int i = 0; i < 3; i++)
        assert_int_equal(owners[i].count, 0);
}

RUN_TESTS(setup, teardown)
