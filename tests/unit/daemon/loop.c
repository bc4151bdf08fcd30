/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What an event loop does between two turns of a user: a bounded part of
 * another one's work, whatever that one's sessions do. The loop is run round by
 * round, and what each round did is counted. In some tests its clock is fast,
 * so that every turn is over once one thing has been done.
 *
 * The program is linked with --wrap=clock_gettime.
 */
#include "tests/unit/daemon/loop_fixture.h"

#include "batching/base/clock.h"
#include "batching/queue/queue_core.h"

enum {
    HONEST = 1, /* user ids */
    HOSTILE = 2,
    CROWD = 100, /* sessions of the hostile one */
    SLOTS = 1024,
    KEYS = 512,
    NOTIFIERS = 200,
    /* Of one user in one round, at most. */
    MESSAGES = 16,
    ANSWERS = 256,
    GIVEN_BACK = 64,
    TURN_NS = 100000,
    /* Of all in one round. */
    ARRIVALS = 4,
    PUBLISHED = 16,
};

static client honest, crowd[CROWD];

/* Of this thread's clock: how far each look at it moves it on, and how far it
 * is by now. */
static _Thread_local uint64_t step_ns, moved_ns;

int __real_clock_gettime(clockid_t id, struct timespec *now);
int __wrap_clock_gettime(clockid_t id, struct timespec *now);

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
    int result = __real_clock_gettime(id, now);

    moved_ns += step_ns;
    *now = warprsa_timespec((uint64_t)now->tv_sec * WARPRSA_NS_PER_SEC +
                            (uint64_t)now->tv_nsec + moved_ns);
    return result;
}

/* A session of this user, which the loop is given. */
static void arrive(client *c, uid_t uid, uint32_t slots)
{
    const warprsa_server_limits limits = {.clients = 2 * CROWD,
                                          .user_clients = CROWD,
                                          .slots = slots,
                                          .keys = KEYS,
                                          .notifiers = NOTIFIERS};

    begin_session(c, uid, &limits, false);
}

static int setup(void **state)
{
    warprsa_server_config config = {0};

    step_ns = 0;
    fake_reset();
    queue_config = fake_config();
    queue_config.slots = 2 * SLOTS;
    queue_config.keys_max = 2 * KEYS;
    queue_config.engines[0].batch_max = 2 * SLOTS;
    open_loop(&config);
    arrive(&honest, HONEST, 16);
    settle();
    return 0;
}

static int teardown(void **state)
{
    FAKE_SET(hold, false);
    raw_client_leave(&honest.raw);
    stop_loop();
    assert_int_equal(queue_config.counters->keys, 0);
    close_loop();
    return 0;
}

static void bring_key(client *c, uint32_t number, unsigned seed)
{
    warprsa_shm_message message = {.type = WARPRSA_SHM_KEY,
                                   .number = number,
                                   .generation = 1,
                                   .key = fake_key(WARPRSA_CLASS_1024, seed)};

    raw_client_send(&c->raw, &message);
}

static void submit(client *c, uint32_t slot, uint32_t key)
{
    raw_client_fill(&c->raw, slot, ++c->generation, key, 1);
    raw_client_submit(&c->raw, slot);
}

/* Brings key 0, and has it loaded by a request in slot 0: only part of the
 * requests that are under way may wait for that. */
static void load_key(client *c, unsigned seed)
{
    bring_key(c, 0, seed);
    submit(c, 0, 0);
    settle();
    WAIT_UNTIL(warprsa_queue_depth(queue) == 0);
    settle();
    assert_int_equal(raw_client_answer(&c->raw, 0, c->generation),
                     WARPRSA_DONE);
    atomic_store(&c->raw.shm.slot[0].answered, 0);
}

static unsigned answered(const client *c)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < c->raw.shm.slots; i++)
        count += atomic_load(&c->raw.shm.slot[i].answered) != 0;
    return count;
}

/* Answers that the loop has yet to take. */
static unsigned count_pushed(void)
{
    const warprsa_pending *p = atomic_load(&loop->answered);
    unsigned count = 0;

    for (; p != NULL; p = p->next)
        count++;
    return count;
}

static uint32_t messages_read(void)
{
    uint32_t count = 0;

    for (unsigned i = 0; i < CROWD; i++)
        if (crowd[i].session != NULL)
            count += crowd[i].session->messages_offset;
    return count;
}

static void enter_crowd(void)
{
    for (unsigned i = 0; i < CROWD; i++)
        arrive(&crowd[i], HOSTILE, 16);
    settle();
}

static void crowd_leaves(void)
{
    for (unsigned i = 0; i < CROWD; i++) {
        raw_client_leave(&crowd[i].raw);
        crowd[i].session = NULL;
    }
}

/* A few sessions begin in a round. */
TEST_IN(arrivals, setup, teardown)
{
    unsigned before = loop->host.sessions;

    for (unsigned i = 0; i < CROWD; i++)
        arrive(&crowd[i], HOSTILE, 16);
    for (unsigned i = 1; i <= CROWD / ARRIVALS; i++) {
        round_of_loop();
        assert_int_equal(loop->host.sessions, before + i * ARRIVALS);
    }
    crowd_leaves();
    settle();
}

/* However many sessions a user has messages in, some of one session's are read
 * until the other user has its turn. */
TEST_IN(messages_of_a_crowd, setup, teardown)
{
    enum {
        EACH = 20,
    };
    unsigned rounds = 0, seed = 0;

    enter_crowd();
    for (unsigned i = 0; i < CROWD; i++)
        for (unsigned k = 0; k < EACH; k++)
            bring_key(&crowd[i], k, ++seed);
    bring_key(&honest, 0, ++seed);
    submit(&honest, 0, 0);
    while (messages_read() < CROWD * EACH) {
        uint32_t before = messages_read();

        round_of_loop();
        assert_in_range(messages_read() - before, 0, MESSAGES);
        rounds++;
        if (rounds == 1)
            assert_int_equal(honest.session->in_flight +
                                 (honest.session->answered != NULL),
                             1);
    }
    /* A turn that ends early may have left nothing for the next one. */
    assert_in_range(rounds, CROWD * EACH / MESSAGES, 2 * CROWD * EACH);
    WAIT_UNTIL(warprsa_queue_depth(queue) == 0);
    settle();
    assert_int_equal(raw_client_answer(&honest.raw, 0, 1), WARPRSA_DONE);
    crowd_leaves();
    settle();
    assert_int_equal(queue_config.counters->keys, 1);
}

/* Nor are more read for a request whose key none of them brings. It waits for
 * those that were there before it, and is refused. */
TEST_IN(messages_that_a_request_waits_for, setup, teardown)
{
    client *c = &crowd[0];
    unsigned rounds = 0;

    arrive(c, HOSTILE, 16);
    settle();
    for (unsigned k = 0; k < WARPRSA_SHM_MESSAGES; k++)
        bring_key(c, k, 1 + k);
    submit(c, 0, KEYS - 1);
    submit(c, 1, WARPRSA_SHM_MESSAGES - 1);
    while (answered(c) == 0) {
        uint32_t before = c->session->messages_offset;

        round_of_loop();
        assert_in_range(c->session->messages_offset - before, 0, MESSAGES);
        rounds++;
    }
    assert_true(rounds >= WARPRSA_SHM_MESSAGES / MESSAGES);
    assert_int_equal(raw_client_answer(&c->raw, 0, 1), WARPRSA_REFUSED);
    settle();
    WAIT_UNTIL(warprsa_queue_depth(queue) == 0);
    settle();
    assert_int_equal(raw_client_answer(&c->raw, 1, 2), WARPRSA_DONE);
    raw_client_leave(&c->raw);
    settle();
}

/* One user's answers, of a whole batch, are given in several rounds; the other
 * user's in the first. */
TEST_IN(answers_of_a_batch, setup, teardown)
{
    enum {
        MANY = 3 * ANSWERS,
    };
    client *c = &crowd[0];
    unsigned before = 0;

    arrive(c, HOSTILE, SLOTS);
    settle();
    load_key(c, 1);
    load_key(&honest, 2);
    FAKE_SET(hold, true);
    for (unsigned i = 0; i < MANY; i++)
        submit(c, i, 0);
    settle();
    submit(&honest, 0, 0);
    settle();
    assert_int_equal(warprsa_queue_depth(queue), MANY + 1);
    FAKE_SET(hold, false);
    WAIT_UNTIL(count_pushed() == MANY + 1);
    while (before < MANY) {
        unsigned now;

        round_of_loop();
        now = answered(c);
        assert_in_range(now - before, 1, ANSWERS);
        assert_int_equal(answered(&honest), 1);
        before = now;
    }
    raw_client_leave(&c->raw);
    settle();
}

/* What a session has is given back in parts, once its client has gone. */
TEST_IN(one_that_leaves_much, setup, teardown)
{
    client *c = &crowd[0];
    const _Atomic uint64_t *keys = &queue_config.counters->keys;
    uint64_t before;
    unsigned rounds = 0;

    arrive(c, HOSTILE, 16);
    settle();
    for (unsigned k = 0; k < KEYS; k++) {
        bring_key(c, k, 1 + k);
        if (k % 8 == 7)
            settle();
    }
    for (unsigned k = 1; k <= NOTIFIERS; k++) {
        const warprsa_shm_message asked = {.type = WARPRSA_SHM_NOTIFIER,
                                           .number = k};
        warprsa_message message;
        int fds[WARPRSA_MESSAGE_FDS];

        raw_client_send(&c->raw, &asked);
        settle();
        assert_int_equal(warprsa_message_receive(c->raw.socket, &message, fds),
                         WARPRSA_RECEIVED);
        close(fds[0]);
    }
    assert_int_equal(*keys, KEYS);
    before = *keys + warprsa_user_quota_count(&context.descriptors);
    raw_client_leave(&c->raw);
    for (;;) {
        uint64_t now;

        round_of_loop();
        now = *keys + warprsa_user_quota_count(&context.descriptors);
        if (loop->host.sessions == 1)
            break;
        assert_in_range(before - now, 0, GIVEN_BACK);
        before = now;
        rounds++;
    }
    assert_int_equal(*keys, 0);
    assert_in_range(rounds, (KEYS + NOTIFIERS) / GIVEN_BACK,
                    (KEYS + NOTIFIERS) / GIVEN_BACK + 1);
}

static unsigned count_open(void)
{
    const warprsa_session *session;
    unsigned count = 0;

    TAILQ_FOREACH (session, &loop->host.open, link)
        count++;
    return count;
}

/* A process with a hundred sessions ends: one of them is ended in a round, so
 * that another user's turn is never further off. */
TEST_IN(a_crowd_that_leaves, setup, teardown)
{
    unsigned before;

    enter_crowd();
    before = loop->host.sessions;
    crowd_leaves();
    for (unsigned i = 1; i <= CROWD; i++) {
        round_of_loop();
        assert_int_equal(loop->host.sessions, before - i);
        assert_int_equal(count_open(), before - i);
    }
    assert_int_equal(loop->host.sessions, 1);
    assert_int_equal(warprsa_user_quota_count(&context.clients), 1);
}

/* Requests that nobody waits for are withdrawn in parts. */
TEST_IN(one_that_leaves_requests, setup, teardown)
{
    enum {
        MANY = 300,
    };
    client *c = &crowd[0];
    unsigned before = MANY, rounds = 1;

    arrive(c, HOSTILE, SLOTS);
    settle();
    load_key(c, 1);
    FAKE_SET(hold, true);
    for (unsigned i = 0; i < MANY; i++)
        submit(c, i, 0);
    settle();
    assert_int_equal(c->session->in_flight, MANY);
    raw_client_leave(&c->raw);
    for (;; rounds++) {
        round_of_loop();
        if (loop->host.sessions == 1)
            break;
        assert_in_range(before - c->session->in_flight, 0, GIVEN_BACK);
        before = c->session->in_flight;
    }
    assert_in_range(rounds, MANY / GIVEN_BACK + 1, MANY / GIVEN_BACK + 2);
    FAKE_SET(hold, false);
    WAIT_UNTIL(warprsa_queue_depth(queue) == 0);
}

/* Requests that are answered when their client leaves, of which the loop has
 * yet to hear, keep the session until then. Their turns go on longer than those
 * for all else that the session leaves. */
TEST_IN(one_that_leaves_answers, setup, teardown)
{
    enum {
        MANY = 3 * ANSWERS,
    };
    client *c = &crowd[0];

    arrive(c, HOSTILE, SLOTS);
    settle();
    load_key(c, 1);
    FAKE_SET(hold, true);
    for (unsigned i = 0; i < MANY; i++)
        submit(c, i, 0);
    settle();
    FAKE_SET(hold, false);
    WAIT_UNTIL(count_pushed() == MANY);
    raw_client_leave(&c->raw);
    step_ns = TURN_NS;
    settle();
    step_ns = 0;
    assert_int_equal(loop->host.sessions, 1);
}

/* How many of the crowd know that there is no device. */
static unsigned count_shown(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < CROWD; i++)
        count +=
            atomic_load(&crowd[i].raw.shm.head->state) == WARPRSA_QUEUE_DOWN;
    return count;
}

/* A change of the queue's state is shown to a few sessions in a round, and to
 * all of them in the end. */
TEST_IN(a_change_of_state, setup, teardown)
{
    unsigned shown;

    enter_crowd();
    FAKE_SET(open_failures, 1000000);
    FAKE_SET(wait_failures, 1);
    bring_key(&honest, 0, 1);
    submit(&honest, 0, 0);
    round_of_loop();
    WAIT_UNTIL(warprsa_queue_wait_ready(queue, 0) == WARPRSA_QUEUE_DOWN);
    shown = count_shown();
    for (unsigned rounds = 1; shown < CROWD; rounds++) {
        const unsigned before = shown;

        round_of_loop();
        shown = count_shown();
        assert_in_range(shown - before, 0, PUBLISHED);
        assert_true(rounds <= CROWD / PUBLISHED + 3);
    }
    assert_int_equal(atomic_load(&honest.raw.shm.head->state),
                     WARPRSA_QUEUE_DOWN);
    crowd_leaves();
    settle();
}

RUN_TESTS(NULL, NULL)
