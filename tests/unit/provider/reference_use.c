/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uses of references by the provider's part that asks warprsad, against the
 * daemon's server with a vault of the tests: answers and errors, threads, async
 * jobs, forked children, and a daemon that is away or starts again.
 */
#include "tests/unit/support/daemon_support.h"

#include <poll.h>
#include <sys/wait.h>

#include <openssl/async.h>
#include <openssl/rsa.h>

#include "provider/reference_use.h"
#include "provider/vault_client.h"
#include "tests/unit/support/use_sign_pss.h"
#include "tests/unit/support/wait_until.h"

enum {
    BYTES = 128, /* of the modulus */
    KEY = 1,
    SLOTS = 64, /* of a connection */
    SHORT_MS = 300,
    THREADS = 4,
    USES = 50,
    RESTARTS = 10,
    JOBS = 6,
};

static test_server s;
static warprsa_context context;
static RSA *rsa;
static warprsa_rsa *key;
static uint8_t input[WARPRSA_VAULT_MODULUS_BYTES_MAX];

static const warprsa_key_use decrypt = {
    .operation = WARPRSA_USE_DECRYPT,
    .padding = WARPRSA_PADDING_PKCS1,
    .input_bytes = BYTES,
};

/* ---- what the provider is in here ---- */

/* No other backend is opened. */
bool warprsa_engines_choose(const warprsa_engines_wanted *wanted,
                            warprsa_queue_config *config, char *why,
                            size_t why_size)
{
    (void)wanted, (void)config, (void)why, (void)why_size;
    abort();
}

/* The errors that were raised last. */
static char raised[600];
static uint32_t codes[WARPRSA_USE_ERRORS_MAX + 1];
static unsigned raised_count;

static void new_error(const OSSL_CORE_HANDLE *handle)
{
    (void)handle;
}

static void set_error_debug(const OSSL_CORE_HANDLE *handle, const char *file,
                            int line, const char *function)
{
    (void)handle, (void)file, (void)line, (void)function;
}

static void vset_error(const OSSL_CORE_HANDLE *handle, uint32_t reason,
                       const char *format, va_list args)
{
    (void)handle;
    codes[raised_count++ % (WARPRSA_USE_ERRORS_MAX + 1)] = reason;
    if (format != NULL)
        vsnprintf(raised, sizeof(raised), format, args);
}

static void make_key(unsigned i)
{
    warprsa_key_reference mark = {.modulus_bytes = BYTES};
    BIGNUM *n = BN_new(), *e = BN_new();

    snprintf(mark.name, sizeof(mark.name), "key%02u", i);
    snprintf(mark.socket, sizeof(mark.socket), "%s", s.path);
    fake_vault_spki(i, mark.spki_sha256);
    rsa = RSA_new();
    assert_true(BN_set_bit(n, 8 * BYTES - 1) && BN_set_word(e, RSA_F4) &&
                RSA_set0_key(rsa, n, e, NULL));
    assert_true(warprsa_rsa_attach(&context, 0, rsa,
                                   RSA_meth_dup(RSA_PKCS1_OpenSSL())));
    assert_true(warprsa_rsa_set_reference(rsa, &mark));
    key = warprsa_rsa_of(rsa);
}

static unsigned short_ms = SHORT_MS;

static int begin(void **state)
{
    const unsigned *deadline_ms = *state;

    fake_reset();
    for (unsigned i = 0; i < sizeof(input); i++)
        input[i] = (uint8_t)(7 * i);
    raised[0] = '\0';
    raised_count = 0;
    test_server_open(&s, SLOTS, LONG_MS);
    context = (warprsa_context){
        .core = {.new_error = new_error,
                 .set_error_debug = set_error_debug,
                 .vset_error = vset_error},
        .trace = WARPRSA_NO_TRACE,
    };
    context.config.slots = SLOTS;
    context.config.deadline_ms = deadline_ms != NULL ? *deadline_ms : LONG_MS;
    make_key(KEY);
    return 0;
}

static int end(void **state)
{
    FAKE_SET(hold, false);
    RSA_free(rsa);
    warprsa_vault_clients_free(&context);
    assert_true(warprsa_instance_free(&context));
    test_server_close(&s);
    return 0;
}

static const warprsa_counters *counters(void)
{
    return warprsa_instance_get(&context)->counters;
}

/* Uses the key. False: there was an error, or the answer is wrong. */
static bool is_done(const warprsa_key_use *use)
{
    uint8_t output[BYTES], wanted[WARPRSA_VAULT_MODULUS_BYTES_MAX];
    const int length = warprsa_reference_use(key, use, input, output);

    return length >= 0 &&
           length == (int)fake_vault_answer(KEY, use, input, wanted) &&
           memcmp(output, wanted, (size_t)length) == 0;
}

/* ---- answers and errors ---- */

TEST_IN(answers_come, begin, end)
{
    assert_true(is_done(&sign_pss));
    assert_true(is_done(&decrypt));
    assert_int_equal(raised_count, 0);
    assert_int_equal(counters()->vault_uses, 2);
    assert_int_equal(counters()->gpu[WARPRSA_CLASS_1024], 2);
    assert_int_equal(counters()->keys, 1);
}

TEST_IN(errors_name_key_and_socket, begin, end)
{
    uint8_t output[BYTES];

    fake_vault.denial = WARPRSA_DENIED_PADDING;
    assert_int_equal(warprsa_reference_use(key, &sign_pss, input, output), -1);
    assert_int_equal(raised_count, 1);
    assert_int_equal(codes[0], WARPRSA_R_DAEMON);
    assert_non_null(strstr(raised, "key key01"));
    assert_non_null(strstr(raised, s.path));
    assert_non_null(strstr(raised, "the padding"));
    assert_int_equal(counters()->vault_denials, 1);
    fake_vault.denial = WARPRSA_ALLOWED;
    assert_true(is_done(&sign_pss));
}

/* The fake vault's codes are 17 and 18. */
TEST_IN(what_libcrypto_raised_there, begin, end)
{
    uint8_t output[BYTES];

    fake_vault.bad = true;
    assert_int_equal(warprsa_reference_use(key, &sign_pss, input, output), -1);
    assert_int_equal(raised_count, 1);
    assert_int_equal(codes[0], 17);
    fake_vault.bad = false;
}

TEST_WITH(nobody_is_there, begin, end, &short_ms)
{
    uint8_t output[BYTES];

    test_server_stop(&s);
    assert_int_equal(warprsa_reference_use(key, &sign_pss, input, output), -1);
    assert_int_equal(codes[0], WARPRSA_R_DAEMON);
    assert_non_null(strstr(raised, "key key01"));
    assert_non_null(strstr(raised, s.path));
    assert_int_equal(counters()->vault_late, 1);
    test_server_start(&s);
}

static void *use_many(void *arg)
{
    atomic_uint *right = arg;

    for (unsigned i = 0; i < USES; i++)
        atomic_fetch_add(right, is_done(i % 2 == 0 ? &sign_pss : &decrypt));
    return NULL;
}

/* All threads open the client at once, and then the daemon goes away at
 * times. */
TEST_IN(threads_and_restarts, begin, end)
{
    pthread_t threads[THREADS];
    atomic_uint right = 0;

    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_many, &right),
                         0);
    for (unsigned i = 0; i < RESTARTS; i++) {
        test_server_stop(&s);
        test_server_start(&s);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(right, THREADS * USES);
    assert_int_equal(raised_count, 0);
    assert_int_equal(counters()->vault_uses, THREADS * USES);
    assert_int_equal(counters()->keys, 1);
}

/* ---- jobs ---- */

static int job_uses(void *arg)
{
    (void)arg;
    return is_done(&sign_pss);
}

typedef struct job {
    ASYNC_JOB *job;
    ASYNC_WAIT_CTX *wait_ctx;
    int result;
    unsigned pauses;
    int (*does)(void *arg); /* NULL: job_uses */
} job;

/* Starts the job or resumes it. False: it has ended. */
static bool resume(job *j)
{
    switch (ASYNC_start_job(&j->job, j->wait_ctx, &j->result,
                            j->does != NULL ? j->does : job_uses, NULL, 0)) {
    case ASYNC_PAUSE:
        j->pauses++;
        return true;
    case ASYNC_FINISH:
        return false;
    default:
        fail();
        return false;
    }
}

static void wait_for(const job *j)
{
    struct pollfd one = {.events = POLLIN};
    size_t count = 0;

    assert_int_equal(ASYNC_WAIT_CTX_get_all_fds(j->wait_ctx, NULL, &count), 1);
    assert_int_equal(count, 1);
    assert_int_equal(ASYNC_WAIT_CTX_get_all_fds(j->wait_ctx, &one.fd, &count),
                     1);
    assert_int_equal(poll(&one, 1, LONG_MS), 1);
}

static void finish(job *j)
{
    while (resume(j))
        wait_for(j);
    assert_int_equal(j->result, 1);
    j->job = NULL;
}

/* Two jobs of one thread pause at once. The second use has notifiers. */
TEST_IN(jobs_pause, begin, end)
{
    job a = {.wait_ctx = ASYNC_WAIT_CTX_new()};
    job b = {.wait_ctx = ASYNC_WAIT_CTX_new()};

    for (unsigned i = 0; i < 3; i++) {
        FAKE_SET(hold, true);
        assert_true(resume(&a));
        assert_true(resume(&b));
        for (unsigned again = 0; again < 20; again++) /* for no reason */
            assert_true(resume(&a));
        FAKE_SET(hold, false);
        finish(&b);
        finish(&a);
    }
    assert_int_equal(counters()->vault_uses, 6);
    ASYNC_WAIT_CTX_free(a.wait_ctx);
    ASYNC_WAIT_CTX_free(b.wait_ctx);
}

/* A job that waits has the same descriptor before and after. */
TEST_IN(jobs_and_restarts, begin, end)
{
    job a = {.wait_ctx = ASYNC_WAIT_CTX_new()};

    finish(&a);
    for (unsigned i = 0; i < RESTARTS; i++) {
        size_t added = 0, deleted = 0;

        FAKE_SET(hold, true);
        assert_true(resume(&a));
        FAKE_SET(hold, false);
        test_server_stop(&s);
        assert_true(!resume(&a) || (wait_for(&a), true));
        test_server_start(&s);
        if (a.job != NULL)
            finish(&a);
        assert_int_equal(a.result, 1);
        assert_int_equal(ASYNC_WAIT_CTX_get_changed_fds(a.wait_ctx, NULL,
                                                        &added, NULL, &deleted),
                         1);
        assert_int_equal(deleted, 0);
    }
    assert_int_equal(raised_count, 0);
    ASYNC_WAIT_CTX_free(a.wait_ctx);
}

static int job_is_late(void *arg)
{
    uint8_t output[BYTES];

    (void)arg;
    return warprsa_reference_use(key, &sign_pss, input, output);
}

/* Resumes those jobs whose descriptors are readable, until all have ended. */
static void finish_all(job jobs[], unsigned jobs_count)
{
    struct pollfd fds[SLOTS + 1];
    size_t count = 1;

    for (unsigned i = 0; i < jobs_count; i++) {
        fds[i] = (struct pollfd){.events = POLLIN};
        assert_int_equal(
            ASYNC_WAIT_CTX_get_all_fds(jobs[i].wait_ctx, &fds[i].fd, &count),
            1);
    }
    for (unsigned left = jobs_count; left > 0;) {
        assert_true(poll(fds, jobs_count, LONG_MS) > 0);
        for (unsigned i = 0; i < jobs_count; i++)
            if (fds[i].revents != 0 && !resume(&jobs[i])) {
                fds[i].fd = -1;
                left--;
            }
    }
}

/* One thread watches all jobs, and each ends at its deadline. */
TEST_WITH(jobs_without_an_answer, begin, end, &short_ms)
{
    job jobs[JOBS];

    for (unsigned i = 0; i < JOBS; i++) {
        jobs[i] = (job){.wait_ctx = ASYNC_WAIT_CTX_new()};
        finish(&jobs[i]); /* and has a notifier */
        jobs[i].does = job_is_late;
    }
    FAKE_SET(hold, true);
    for (unsigned i = 0; i < JOBS; i++)
        assert_true(resume(&jobs[i]));
    finish_all(jobs, JOBS);
    for (unsigned i = 0; i < JOBS; i++) {
        assert_int_equal(jobs[i].result, -1);
        ASYNC_WAIT_CTX_free(jobs[i].wait_ctx);
    }
    assert_int_equal(counters()->vault_late, JOBS);
}

/* A job that is never resumed is counted by the next use, once. */
TEST_IN(jobs_left, begin, end)
{
    static job left; /* what libcrypto keeps of it stays in reach */
    job next = {.wait_ctx = ASYNC_WAIT_CTX_new()};

    finish(&next);
    left.wait_ctx = ASYNC_WAIT_CTX_new();
    FAKE_SET(hold, true);
    assert_true(resume(&left));
    ASYNC_WAIT_CTX_free(left.wait_ctx);
    FAKE_SET(hold, false);
    assert_int_equal(counters()->jobs_left, 0);
    finish(&next);
    assert_int_equal(counters()->jobs_left, 1);
    finish(&next);
    assert_int_equal(counters()->jobs_left, 1);
    ASYNC_WAIT_CTX_free(next.wait_ctx);
}

/* Once the daemon has answered, jobs that are never resumed have no slot of the
 * connection. The last one has found none at all. */
TEST_IN(slots_of_jobs_left, begin, end)
{
    static job left[SLOTS + 1]; /* what libcrypto keeps stays in reach */
    job next = {.wait_ctx = ASYNC_WAIT_CTX_new()};

    finish(&next);
    FAKE_SET(hold, true);
    for (unsigned i = 0; i <= SLOTS; i++) {
        left[i].wait_ctx = ASYNC_WAIT_CTX_new();
        assert_true(resume(&left[i]));
    }
    for (unsigned i = 0; i <= SLOTS; i++)
        ASYNC_WAIT_CTX_free(left[i].wait_ctx);
    FAKE_SET(hold, false);
    for (unsigned i = 0; i < 2 * SLOTS; i++)
        finish(&next);
    assert_true(is_done(&sign_pss));
    assert_int_equal(counters()->jobs_left, SLOTS + 1);
    assert_int_equal(counters()->vault_late, 0);
    assert_int_equal(raised_count, 0);
    ASYNC_WAIT_CTX_free(next.wait_ctx);
}

/* Nor have jobs whose deadlines have passed before the answer. */
TEST_WITH(slots_of_late_uses, begin, end, &short_ms)
{
    job late[SLOTS + 1];

    FAKE_SET(hold, true);
    fake_vault.hold_compute = true;
    for (unsigned i = 0; i <= SLOTS; i++) {
        late[i] = (job){.wait_ctx = ASYNC_WAIT_CTX_new(), .does = job_is_late};
        assert_true(resume(&late[i]));
    }
    finish_all(late, SLOTS + 1);
    for (unsigned i = 0; i <= SLOTS; i++) {
        assert_int_equal(late[i].result, -1);
        ASYNC_WAIT_CTX_free(late[i].wait_ctx);
    }
    fake_vault.hold_compute = false;
    FAKE_SET(hold, false);
    for (unsigned i = 0; i < 2 * SLOTS; i++)
        WAIT_UNTIL(is_done(&sign_pss));
}

/* A program that cannot pause gets its answer all the same, and no descriptor
 * that it has not seen. */
static int job_is_blocked(void *arg)
{
    int right;

    (void)arg;
    ASYNC_block_pause();
    right = is_done(&sign_pss);
    ASYNC_unblock_pause();
    return right;
}

TEST_IN(jobs_that_cannot_pause, begin, end)
{
    ASYNC_WAIT_CTX *wait_ctx = ASYNC_WAIT_CTX_new();
    ASYNC_JOB *one = NULL;
    int result = 0;
    size_t count = 1;

    assert_int_equal(
        ASYNC_start_job(&one, wait_ctx, &result, job_is_blocked, NULL, 0),
        ASYNC_FINISH);
    assert_int_equal(result, 1);
    assert_int_equal(ASYNC_WAIT_CTX_get_all_fds(wait_ctx, NULL, &count), 1);
    assert_int_equal(count, 0);
    ASYNC_WAIT_CTX_free(wait_ctx);
}

/* ---- forks ---- */

static void child_ends_well(pid_t child)
{
    int status = -1;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Parent, child and grandchild each have a client. */
TEST_IN(children_use_it, begin, end)
{
    pid_t child;

    assert_true(is_done(&sign_pss));
    child = fork();
    if (child == 0) {
        pid_t grandchild;
        int status = -1;

        if (!is_done(&sign_pss) || !is_done(&decrypt))
            _exit(1);
        grandchild = fork();
        if (grandchild == 0)
            _exit(is_done(&decrypt) ? 0 : 2);
        _exit(waitpid(grandchild, &status, 0) == grandchild && status == 0 &&
                      counters()->vault_uses == 2 && is_done(&sign_pss)
                  ? 0
                  : 3);
    }
    child_ends_well(child);
    assert_true(is_done(&decrypt));
    assert_int_equal(counters()->vault_uses, 2);
}

/* Both go on with the job: the child by a use of its own. */
TEST_IN(a_job_goes_on_in_a_child, begin, end)
{
    job a = {.wait_ctx = ASYNC_WAIT_CTX_new()};
    pid_t child;

    finish(&a);
    FAKE_SET(hold, true);
    assert_true(resume(&a));
    child = fork();
    if (child == 0) {
        while (resume(&a))
            ;
        _exit(a.result == 1 && counters()->vault_uses == 1 ? 0 : 1);
    }
    FAKE_SET(hold, false);
    child_ends_well(child);
    finish(&a);
    assert_int_equal(counters()->vault_uses, 2);
    ASYNC_WAIT_CTX_free(a.wait_ctx);
}

/* ---- names ---- */

TEST_IN(names_are_looked_up, begin, end)
{
    warprsa_reference reference;

    assert_true(
        warprsa_reference_lookup(&context, s.path, "key07", &reference));
    assert_string_equal(reference.name, "key07");
    assert_string_equal(reference.socket, s.path);
    assert_true(reference.spki_bytes > 0);
    assert_int_equal(raised_count, 0);
    assert_false(
        warprsa_reference_lookup(&context, s.path, "key7", &reference));
    assert_int_equal(raised_count, 1);
    assert_non_null(strstr(raised, "key key7: warprsad at "));
    assert_non_null(strstr(raised, "no such key"));
}

TEST_WITH(names_without_a_daemon, begin, end, &short_ms)
{
    warprsa_reference reference;

    test_server_stop(&s);
    assert_false(
        warprsa_reference_lookup(&context, s.path, "key07", &reference));
    assert_int_equal(raised_count, 1);
    assert_non_null(strstr(raised, "key key07: "));
    assert_non_null(strstr(raised, s.path));
    test_server_start(&s);
}

int main(void)
{
    return warprsa_fork_init() ? cmocka_run_group_tests(unit_tests, NULL, NULL)
                               : 1;
}
