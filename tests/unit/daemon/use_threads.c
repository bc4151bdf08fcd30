/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uses that an event loop hands over to other threads. The loop is run round by
 * round by the test, whose clock stands still: so one turn reads all requests,
 * however slow the machine is. The other threads run as they do in the daemon,
 * and the vault holds them where a test wants them.
 *
 * The program is linked with --wrap=clock_gettime.
 */
#include "tests/unit/daemon/loop_fixture.h"

#include "batching/base/clock.h"
#include "batching/daemon/server/use_threads.h"
#include "tests/unit/support/fake_vault.h"
#include "tests/unit/support/use_sign_pss.h"

enum {
    ONE = 1, /* user ids */
    OTHER = 2,
    /* As many as the threads have of one session, so that the loop begins none
     * of them. */
    SLOTS = WARPRSA_USE_BATCH * WARPRSA_USE_BATCHES,
    BYTES = 128, /* of the modulus */
    NOTIFIERS = 4,
    KEY = 1, /* of the vault */
    SESSIONS = 8,
    CROWD = 64, /* sessions, too */
    FEW = 3,    /* not worth a wake-up */
};

static const warprsa_key_use decrypt_large = {
    .operation = WARPRSA_USE_DECRYPT,
    .padding = WARPRSA_PADDING_OAEP,
    .digest = WARPRSA_DIGEST_SHA1,
    .mgf1_digest = WARPRSA_DIGEST_SHA1,
    .input_bytes = FAKE_VAULT_LARGE_BYTES,
};

static client c, crowd[CROWD];
static uint8_t input[FAKE_VAULT_LARGE_BYTES];

/* When the clock of this thread stands still; 0: it does not. */
static _Thread_local uint64_t stopped_ns;

int __real_clock_gettime(clockid_t id, struct timespec *now);
int __wrap_clock_gettime(clockid_t id, struct timespec *now);

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
    const int result = __real_clock_gettime(id, now);

    if (stopped_ns != 0)
        *now = warprsa_timespec(stopped_ns);
    return result;
}

/* A session of this user with key 0 of its own, which the loop is given. */
static void arrive(client *x, uid_t uid)
{
    const warprsa_server_limits limits = {.clients = 2 * CROWD,
                                          .user_clients = 2 * CROWD,
                                          .slots = SLOTS,
                                          .keys = 4,
                                          .notifiers = NOTIFIERS};
    warprsa_shm_message key = {.type = WARPRSA_SHM_KEY_USE, .generation = 1};

    begin_session(x, uid, &limits, true);
    settle();
    fake_vault_spki(KEY, key.spki_sha256);
    raw_client_send(&x->raw, &key);
    fake_vault_spki(FAKE_VAULT_LARGE, key.spki_sha256);
    key.number = 1;
    raw_client_send(&x->raw, &key);
    settle();
}

static void begin_with(unsigned threads)
{
    warprsa_server_config config = {.vault = fake_vault_reset(FAKE_VAULT_KEYS),
                                    .uses = &fake_vault_uses};

    fake_reset();
    for (unsigned i = 0; i < sizeof(input); i++)
        input[i] = (uint8_t)(3 * i);
    queue_config = fake_config();
    queue_config.slots = 4096;
    open_loop(&config);
    context.use_threads = warprsa_use_threads_start(threads);
    assert_non_null(context.use_threads);
    stopped_ns = warprsa_clock_ns();
    WAIT_UNTIL(!warprsa_use_threads_are_awake(context.use_threads));
    arrive(&c, ONE);
}

static int setup(void **state)
{
    begin_with(2);
    return 0;
}

static int setup_one_thread(void **state)
{
    begin_with(1);
    return 0;
}

static void end_uses(void)
{
    stop_loop();
    assert_int_equal(fake_vault_references(), 0);
    /* A batch may have been computing what was withdrawn. */
    WAIT_UNTIL(queue_config.counters->keys == 0);
}

static int teardown(void **state)
{
    FAKE_SET(hold, false);
    fake_vault.hold_encode = fake_vault.hold_finish = false;
    fake_vault.hold_compute = false;
    if (!atomic_load(&context.stopping)) {
        raw_client_leave(&c.raw);
        end_uses();
    }
    stopped_ns = 0;
    warprsa_use_threads_stop(context.use_threads);
    close_loop();
    return 0;
}

/* Puts a use into a slot and into the ring. */
static void submit(client *x, uint32_t slot, uint32_t key, uint32_t notifier)
{
    warprsa_shm_use *use = &x->raw.shm.use[slot];

    raw_client_fill(&x->raw, slot, ++x->generation, key, 1);
    x->raw.shm.slot[slot].request.bytes = 0;
    x->raw.shm.slot[slot].request.notifier = notifier;
    use->header = key == 0 ? sign_pss : decrypt_large;
    memcpy(use->number, input, use->header.input_bytes);
    raw_client_submit(&x->raw, slot);
}

static void submit_many(client *x, unsigned count)
{
    for (uint32_t i = 0; i < count; i++)
        submit(x, i, 0, 0);
}

static bool is_answered(const client *x, uint32_t slot)
{
    return atomic_load(&x->raw.shm.slot[slot].answered) ==
           x->raw.shm.slot[slot].request.generation;
}

static unsigned answered(const client *x, unsigned of)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < of; i++)
        count += is_answered(x, i);
    return count;
}

/* The answers to the first uses are there, and right. */
static void are_done(const client *x, unsigned count)
{
    uint8_t wanted[FAKE_VAULT_LARGE_BYTES];
    const unsigned bytes = fake_vault_answer(KEY, &sign_pss, input, wanted);

    for (uint32_t i = 0; i < count; i++) {
        assert_true(is_answered(x, i));
        assert_int_equal(x->raw.shm.slot[i].use_answer, WARPRSA_USE_DONE);
        assert_int_equal(x->raw.shm.slot[i].bytes, bytes);
        assert_memory_equal(x->raw.shm.use[i].number, wanted, bytes);
    }
}

/* Rounds until the clients' sessions are freed, however long that takes. */
static void until_sessions(unsigned count)
{
    WAIT_UNTIL((settle(), loop->host.sessions == count));
}

/* The loop goes on while other threads can't, and is not needed for the
 * answers. */
TEST_IN(many_at_once, setup, teardown)
{
    fake_vault.hold_encode = true;
    submit_many(&c, SLOTS);
    round_of_loop();
    WAIT_UNTIL(fake_vault.held == 2);
    assert_int_equal(c.session->in_flight, SLOTS);
    fake_vault.hold_encode = false;
    WAIT_UNTIL(answered(&c, SLOTS) == SLOTS);
    are_done(&c, SLOTS);
    WAIT_UNTIL(c.session->in_flight == 0);
    assert_int_equal(fake_vault.uses, SLOTS);
    assert_int_equal(queue_config.counters->vault_uses, SLOTS);
    assert_int_equal(queue_config.counters->vault_libcrypto, 0);
}

/* The control: the loop begins a few itself. */
TEST_IN(few_at_once, setup, teardown)
{
    submit_many(&c, FEW);
    round_of_loop();
    assert_false(c.session->has_handed_over);
    assert_int_equal(fake_vault.uses, FEW);
    WAIT_UNTIL(warprsa_queue_depth(queue) == 0);
    settle();
    are_done(&c, FEW);
}

/* A thread that is awake takes a few, too. */
TEST_IN(few_beside_others, setup_one_thread, teardown)
{
    fake_vault.hold_encode = true;
    submit_many(&c, WARPRSA_USE_BATCH);
    round_of_loop();
    WAIT_UNTIL(fake_vault.held == 1);
    submit(&c, WARPRSA_USE_BATCH, 0, 0);
    round_of_loop();
    assert_int_equal(fake_vault.uses, 1);
    fake_vault.hold_encode = false;
    WAIT_UNTIL(answered(&c, WARPRSA_USE_BATCH + 1) == WARPRSA_USE_BATCH + 1);
    are_done(&c, WARPRSA_USE_BATCH + 1);
}

/* Few uses at a time join the batch that waits, until it is full. */
TEST_IN(a_few_at_a_time, setup_one_thread, teardown)
{
    fake_vault.hold_encode = true;
    submit_many(&c, WARPRSA_USE_BATCH);
    round_of_loop();
    WAIT_UNTIL(fake_vault.held == 1);
    for (uint32_t i = WARPRSA_USE_BATCH; i < SLOTS; i++) {
        submit(&c, i, 0, 0);
        round_of_loop();
    }
    assert_int_equal(fake_vault.uses, 1);
    /* The thread has given back the batch that it has taken. */
    for (int i = 0; i < WARPRSA_USE_BATCHES - 1; i++) {
        assert_true(c.session->batches[i].is_away);
        assert_int_equal(c.session->batches[i].count, WARPRSA_USE_BATCH);
    }
    assert_false(c.session->batches[WARPRSA_USE_BATCHES - 1].is_away);
    fake_vault.hold_encode = false;
    WAIT_UNTIL(answered(&c, SLOTS) == SLOTS);
    are_done(&c, SLOTS);
    assert_int_equal(fake_vault.questions, SLOTS);
}

/* What is more than the threads may have of one session, the loop begins. */
TEST_IN(more_than_the_threads_have, setup_one_thread, teardown)
{
    fake_vault.denial = WARPRSA_DENIED_RATE; /* without encode() */
    submit_many(&c, WARPRSA_USE_BATCH);
    round_of_loop();
    WAIT_UNTIL(answered(&c, WARPRSA_USE_BATCH) == WARPRSA_USE_BATCH);
    assert_int_equal(fake_vault.denials, WARPRSA_USE_BATCH);
    for (int i = 0; i < WARPRSA_USE_BATCHES; i++)
        atomic_store(&c.session->batches[i].is_away, true);
    submit_many(&c, WARPRSA_USE_BATCH);
    round_of_loop();
    assert_int_equal(fake_vault.denials, 2 * WARPRSA_USE_BATCH);
    assert_int_equal(answered(&c, WARPRSA_USE_BATCH), WARPRSA_USE_BATCH);
    for (int i = 0; i < WARPRSA_USE_BATCHES; i++)
        atomic_store(&c.session->batches[i].is_away, false);
}

/* Denials, and uses that are refused for now, are answered by the threads. */
TEST_IN(what_is_not_computed, setup, teardown)
{
    fake_vault.denial = WARPRSA_DENIED_USER;
    submit_many(&c, WARPRSA_USE_BATCH);
    round_of_loop();
    WAIT_UNTIL(answered(&c, WARPRSA_USE_BATCH) == WARPRSA_USE_BATCH);
    for (uint32_t i = 0; i < WARPRSA_USE_BATCH; i++)
        assert_int_equal(c.raw.shm.slot[i].use_answer, WARPRSA_USE_DENIED);
    WAIT_UNTIL(queue_config.counters->vault_denials == WARPRSA_USE_BATCH);
    fake_vault.denial = WARPRSA_ALLOWED;
    fake_vault.compute_full = true;
    for (uint32_t i = 0; i < WARPRSA_USE_BATCH; i++)
        submit(&c, i, 1, 0);
    round_of_loop();
    WAIT_UNTIL(answered(&c, WARPRSA_USE_BATCH) == WARPRSA_USE_BATCH);
    for (uint32_t i = 0; i < WARPRSA_USE_BATCH; i++)
        assert_int_equal(c.raw.shm.slot[i].use_answer, WARPRSA_USE_LATER);
    WAIT_UNTIL(fake_vault.given_back == WARPRSA_USE_BATCH);
}

/* Threads that are in a step for too long are found, and no others. */
TEST_IN(threads_that_hang, setup, teardown)
{
    const struct warprsa_use_threads *threads = context.use_threads;
    const uint64_t before_ns = stopped_ns; /* each thread's clock has gone on */

    assert_false(warprsa_use_threads_hang(NULL, UINT64_MAX));
    assert_false(warprsa_use_threads_hang(threads, UINT64_MAX));
    fake_vault.hold_encode = true;
    submit_many(&c, SLOTS);
    round_of_loop();
    WAIT_UNTIL(fake_vault.held == 2);
    assert_false(warprsa_use_threads_hang(threads, before_ns));
    assert_true(warprsa_use_threads_hang(threads, UINT64_MAX));
    fake_vault.hold_encode = false;
    WAIT_UNTIL(answered(&c, SLOTS) == SLOTS);
    WAIT_UNTIL(!warprsa_use_threads_hang(threads, UINT64_MAX));
}

/* ---- A client that leaves ---- */

/* It leaves, and its session stays as long as something is under way. */
static void leave_while_held(void)
{
    const unsigned before = loop->host.sessions;

    raw_client_leave(&c.raw);
    for (unsigned i = 0; i < 20; i++)
        settle();
    assert_int_equal(loop->host.sessions, before);
    assert_true(c.session->closed);
}

/* ... and then goes with all that it had. */
static void is_gone(void)
{
    until_sessions(0);
    assert_int_equal(fake_vault_references(), 0);
    assert_int_equal(warprsa_user_quota_count(&context.clients), 0);
    arrive(&c, ONE);
}

TEST_IN(it_leaves_before_uses_begin, setup, teardown)
{
    fake_vault.hold_encode = true;
    submit_many(&c, SLOTS);
    round_of_loop();
    WAIT_UNTIL(fake_vault.held == 2);
    leave_while_held();
    fake_vault.hold_encode = false;
    is_gone();
    assert_int_equal(fake_vault.uses, 2); /* no others were begun */
}

TEST_IN(it_leaves_while_the_queue_computes, setup, teardown)
{
    FAKE_SET(hold, true);
    submit_many(&c, SLOTS);
    round_of_loop();
    WAIT_UNTIL(fake_vault.uses == SLOTS);
    WAIT_UNTIL(!warprsa_use_threads_are_awake(context.use_threads));
    raw_client_leave(&c.raw);
    is_gone(); /* the engine has not answered yet */
    FAKE_SET(hold, false);
}

TEST_IN(it_leaves_while_the_vault_computes, setup, teardown)
{
    fake_vault.hold_compute = true;
    for (uint32_t i = 0; i < WARPRSA_USE_BATCH; i++)
        submit(&c, i, 1, 0);
    round_of_loop();
    WAIT_UNTIL(fake_vault.held == WARPRSA_USE_BATCH);
    leave_while_held();
    fake_vault.hold_compute = false;
    is_gone();
}

TEST_IN(it_leaves_while_uses_end, setup, teardown)
{
    fake_vault.hold_finish = true;
    submit_many(&c, SLOTS);
    round_of_loop();
    WAIT_UNTIL(fake_vault.held > 0);
    leave_while_held();
    fake_vault.hold_finish = false;
    is_gone();
}

/* Many leave while a thread has uses of theirs. Once these have ended the loop
 * lets go of all sessions without a pause, some in each round. */
TEST_IN(many_leave, setup_one_thread, teardown)
{
    fake_vault.hold_encode = true;
    submit_many(&c, WARPRSA_USE_BATCH);
    round_of_loop();
    WAIT_UNTIL(fake_vault.held == 1);
    for (unsigned i = 0; i < CROWD; i++) {
        arrive(&crowd[i], ONE);
        submit(&crowd[i], 0, 0, 0);
        settle();
        raw_client_leave(&crowd[i].raw);
    }
    settle();
    assert_int_equal(loop->host.sessions, CROWD + 1);
    fake_vault.hold_encode = false;
    for (unsigned i = 0; i < CROWD; i++)
        WAIT_UNTIL(crowd[i].session->in_flight == 0);
    WAIT_UNTIL(!warprsa_use_threads_are_awake(context.use_threads));
    settle();
    assert_int_equal(loop->host.sessions, 1);
}

/* ---- The daemon stops ---- */

/* What has not begun is asked for again; what has begun is answered. */
TEST_IN(it_stops_meanwhile, setup_one_thread, teardown)
{
    unsigned done = 0, later = 0;

    fake_vault.hold_encode = true;
    submit_many(&c, SLOTS);
    round_of_loop();
    WAIT_UNTIL(fake_vault.held == 1);
    atomic_store(&context.stopping, true);
    for (unsigned i = 0; i < 20; i++)
        round_of_loop();
    assert_int_equal(loop->host.sessions, 1);
    fake_vault.hold_encode = false;
    WAIT_UNTIL(answered(&c, SLOTS) == SLOTS);
    for (uint32_t i = 0; i < SLOTS; i++) {
        done += c.raw.shm.slot[i].use_answer == WARPRSA_USE_DONE;
        later += c.raw.shm.slot[i].use_answer == WARPRSA_USE_LATER;
    }
    assert_int_equal(done, 1);
    assert_int_equal(later, SLOTS - 1);
    end_uses();
    raw_client_leave(&c.raw);
}

/* A loop that stops hands nothing over any more: what is asked then is answered
 * in the same round, whatever the threads do. */
TEST_IN(it_takes_nothing_while_it_stops, setup_one_thread, teardown)
{
    client other;

    fake_vault.hold_encode = true;
    submit_many(&c, SLOTS);
    round_of_loop();
    WAIT_UNTIL(fake_vault.held == 1);
    arrive(&other, OTHER);
    settle();
    atomic_store(&context.stopping, true);
    submit_many(&other, SLOTS);
    round_of_loop();
    assert_int_equal(answered(&other, SLOTS), SLOTS);
    for (uint32_t i = 0; i < SLOTS; i++)
        assert_int_equal(other.raw.shm.slot[i].use_answer, WARPRSA_USE_LATER);
    fake_vault.hold_encode = false;
    WAIT_UNTIL(answered(&c, SLOTS) == SLOTS);
    end_uses();
    raw_client_leave(&other.raw);
    raw_client_leave(&c.raw);
}

/* ---- Users beside each other ---- */

/* One user floods the only thread by many sessions. Another one waits for the
 * batch that the thread has, and for one more. */
TEST_IN(a_flood, setup_one_thread, teardown)
{
    client other;
    unsigned first = 0;

    fake_vault.hold_encode = true;
    for (unsigned i = 1; i < SESSIONS; i++) {
        arrive(&crowd[i], ONE);
        submit_many(&crowd[i], SLOTS);
        settle();
    }
    WAIT_UNTIL(fake_vault.held == 1);
    arrive(&other, OTHER);
    submit_many(&other, WARPRSA_USE_BATCH);
    settle();
    fake_vault.hold_encode = false;
    WAIT_UNTIL(answered(&other, WARPRSA_USE_BATCH) == WARPRSA_USE_BATCH);
    are_done(&other, WARPRSA_USE_BATCH);
    while (first < FAKE_VAULT_ORDER && fake_vault.order[first] != OTHER)
        first++;
    assert_in_range(first, 1, 2 * WARPRSA_USE_BATCH);
    for (unsigned i = 1; i < SESSIONS; i++) {
        WAIT_UNTIL(answered(&crowd[i], SLOTS) == SLOTS);
        are_done(&crowd[i], SLOTS);
        raw_client_leave(&crowd[i].raw);
    }
    assert_int_equal(fake_vault.questions,
                     (SESSIONS - 1) * SLOTS + WARPRSA_USE_BATCH);
    raw_client_leave(&other.raw);
    until_sessions(1);
}

/* ---- Notifiers ---- */

static int notifier_of(client *x, uint32_t number)
{
    const warprsa_shm_message asked = {.type = WARPRSA_SHM_NOTIFIER,
                                       .number = number};
    warprsa_message message;
    int fds[WARPRSA_MESSAGE_FDS];

    raw_client_send(&x->raw, &asked);
    settle();
    assert_int_equal(warprsa_message_receive(x->raw.socket, &message, fds),
                     WARPRSA_RECEIVED);
    assert_true(fds[0] >= 0);
    return fds[0];
}

/* The threads notify jobs: one byte at least, and no more than answers. One
 * whose wait context has gone costs the others nothing. */
TEST_IN(jobs_are_notified, setup, teardown)
{
    const int gone = notifier_of(&c, 1), job = notifier_of(&c, 2);
    char bytes[SLOTS];
    ssize_t got;

    close(gone);
    for (uint32_t i = 0; i < SLOTS; i++)
        submit(&c, i, 0, i % 2 + 1);
    round_of_loop();
    WAIT_UNTIL(answered(&c, SLOTS) == SLOTS);
    assert_true(becomes_readable(job));
    got = read(job, bytes, sizeof(bytes));
    assert_in_range(got, 1, SLOTS / 2);
    are_done(&c, SLOTS);
    close(job);
    /* The number of one that has gone can be taken again. */
    close(notifier_of(&c, 1));
}

/* A notifier is closed and made again while threads use it. */
TEST_IN(a_notifier_is_made_again_meanwhile, setup, teardown)
{
    enum {
        TIMES = 200,
    };
    int job = notifier_of(&c, 1);

    for (unsigned i = 0; i < TIMES; i++) {
        for (uint32_t slot = 0; slot < WARPRSA_USE_BATCH; slot++)
            submit(&c, slot, 0, 1);
        round_of_loop();
        close(job);
        job = notifier_of(&c, 1);
        WAIT_UNTIL(answered(&c, WARPRSA_USE_BATCH) == WARPRSA_USE_BATCH);
        are_done(&c, WARPRSA_USE_BATCH);
    }
    close(job);
}

/* ---- Keys ---- */

/* The vault removes a key, and the client frees its number, between the hand
 * over and the beginning of the use. */
TEST_IN(a_key_goes_meanwhile, setup_one_thread, teardown)
{
    const warprsa_shm_message gone = {
        .type = WARPRSA_SHM_KEY_FREE, .number = 0, .generation = 1};

    fake_vault.hold_encode = true;
    submit_many(&c, SLOTS);
    round_of_loop();
    WAIT_UNTIL(fake_vault.held == 1);
    fake_vault_remove(KEY);
    raw_client_send(&c.raw, &gone);
    settle();
    assert_int_equal(c.session->vault_keys, 1);
    assert_true(fake_vault_removed_references() > 0);
    fake_vault.hold_encode = false;
    WAIT_UNTIL(answered(&c, SLOTS) == SLOTS);
    are_done(&c, 1); /* it had begun */
    for (uint32_t i = 1; i < SLOTS; i++)
        assert_int_equal(c.raw.shm.slot[i].use_answer, WARPRSA_USE_DENIED);
    WAIT_UNTIL(fake_vault_removed_references() == 0);
}

/* One that a reload gives another name meanwhile is found by it. */
TEST_IN(a_key_is_renamed_meanwhile, setup_one_thread, teardown)
{
    fake_vault.hold_encode = true;
    submit_many(&c, SLOTS);
    round_of_loop();
    WAIT_UNTIL(fake_vault.held == 1);
    fake_vault_rename(KEY);
    fake_vault.hold_encode = false;
    WAIT_UNTIL(answered(&c, SLOTS) == SLOTS);
    are_done(&c, SLOTS);
    assert_int_equal(fake_vault.denials, 0);
    settle(); /* the session lets go of the key, too */
    WAIT_UNTIL(fake_vault_removed_references() == 0);
}

RUN_TESTS(NULL, NULL)
