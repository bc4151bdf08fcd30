/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Several owners' requests are taken in turn: the bookkeeping alone, and in a
 * queue.
 */
#include "batching/queue/fair_queue.h"
#include "batching/queue/batch_selection.h"
#include "batching/queue/queue_core.h"
#include "tests/unit/support/fake_queue.h"

enum {
    SLOTS = 64,
    HEAVY = 1, /* the owners */
    LIGHT = 2,
    SHARED = 9, /* the seed of a key that both have */
    BATCH = 16,
    BACKLOG = 3 * BATCH,
    FEW = 3,
    /* What RSA-2048 costs, in RSA-1024. */
    TIMES = 8,
    COST = 64, /* of a request of RSA-2048, in what turns count */
};

static const warprsa_class_set all = (1 << WARPRSA_CLASSES) - 1;

/* ---- The bookkeeping ---- */

typedef struct bookkeeping {
    warprsa_slots slots;
    warprsa_turns turns;
    warprsa_turn turn[3];
    _Atomic uint64_t used[3], reached;
    uint32_t slot;
} bookkeeping;

static void start(bookkeeping *b)
{
    memset(b, 0, sizeof(*b));
    assert_true(warprsa_slots_init(&b->slots, SLOTS, LONG_MS));
    warprsa_turns_init(&b->turns, &b->slots, &b->reached);
    for (unsigned i = 0; i < 3; i++)
        warprsa_turn_init(&b->turn[i], &b->used[i]);
}

static void add(bookkeeping *b, unsigned owner, warprsa_size_class size,
                unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        warprsa_turns_add(&b->turns, &b->turn[owner], size, b->slot++);
}

/* Takes what is next; whose it was. -1: there is nothing. */
static int take(bookkeeping *b)
{
    warprsa_turn *turn = warprsa_turns_next(&b->turns, all);
    uint32_t slot;

    if (turn == NULL)
        return -1;
    assert_true(warprsa_turns_take(
        &b->turns, turn, warprsa_turn_class(&b->turns, turn, all), &slot));
    return (int)(turn - b->turn);
}

TEST(equal_requests_are_taken_one_by_one)
{
    bookkeeping b;

    start(&b);
    add(&b, 0, WARPRSA_CLASS_2048, 20);
    add(&b, 1, WARPRSA_CLASS_2048, 3);
    add(&b, 2, WARPRSA_CLASS_2048, 2);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(take(&b), i % 3);
    assert_int_equal(take(&b), 0);
    assert_int_equal(take(&b), 1);
    for (unsigned i = 0; i < 17; i++)
        assert_int_equal(take(&b), 0);
    assert_int_equal(take(&b), -1);
    assert_int_equal(b.turns.count[WARPRSA_CLASS_2048], 0);
    warprsa_slots_free(&b.slots);
}

/* For each of an owner's RSA-2048, another has eight RSA-1024. */
TEST(long_keys_cost_more)
{
    bookkeeping b;
    unsigned taken[2] = {0};

    start(&b);
    add(&b, 0, WARPRSA_CLASS_2048, 6);
    add(&b, 1, WARPRSA_CLASS_1024, 6 * TIMES);
    for (unsigned i = 0; i < 4 * (1 + TIMES); i++)
        taken[take(&b)]++;
    assert_int_equal(taken[0], 4);
    assert_int_equal(taken[1], 4 * TIMES);
    warprsa_slots_free(&b.slots);
}

/* One that comes back is not served until it has caught up. */
TEST(nobody_saves_up_turns)
{
    bookkeeping b;
    unsigned taken[2] = {0};

    start(&b);
    add(&b, 0, WARPRSA_CLASS_2048, 40);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(take(&b), 0);
    add(&b, 1, WARPRSA_CLASS_2048, 20);
    assert_int_equal(take(&b), 1);
    for (unsigned i = 0; i < 10; i++)
        taken[take(&b)]++;
    assert_int_equal(taken[0], 5);
    assert_int_equal(taken[1], 5);
    warprsa_slots_free(&b.slots);
}

TEST(classes_out_of_range_are_passed_over)
{
    const warprsa_class_set small = warprsa_classes_below(WARPRSA_CLASS_2048);
    bookkeeping b;
    warprsa_turn *turn;

    start(&b);
    add(&b, 0, WARPRSA_CLASS_4096, 1);
    assert_null(warprsa_turns_next(&b.turns, small));
    add(&b, 1, WARPRSA_CLASS_1024, 1);
    assert_ptr_equal(warprsa_turns_next(&b.turns, small), &b.turn[1]);
    turn = warprsa_turns_next(&b.turns, all);
    assert_ptr_equal(turn, &b.turn[0]);
    assert_int_equal(warprsa_turn_class(&b.turns, turn, all),
                     WARPRSA_CLASS_4096);
    warprsa_slots_free(&b.slots);
}

/* ---- In a queue ---- */

typedef struct user {
    uint64_t owner;
    unsigned seed; /* of its key */
    warprsa_size_class size;
    warprsa_key *key;
    fake_request *requests;
    unsigned count;
} user;

typedef struct setting {
    warprsa_queue_config config;
    warprsa_queue *queue;
    user heavy, light;
} setting;

static warprsa_key *add_key(setting *s, const user *u)
{
    warprsa_private_key key = fake_key(u->size, u->seed);
    uint8_t id[WARPRSA_KEY_ID_BYTES] = {(uint8_t)u->seed, (uint8_t)u->size};
    warprsa_key *added = warprsa_queue_key(s->queue, u->owner, id, &key);

    assert_non_null(added);
    return added;
}

static void submit(setting *s, user *u, unsigned count)
{
    u->requests =
        realloc(u->requests, (u->count + count) * sizeof(*u->requests));
    assert_non_null(u->requests);
    for (; count > 0; count--) {
        fake_request *r = &u->requests[u->count];

        fake_fill(r, u->size, u->seed, u->count++);
        assert_int_equal(fake_submit(s->queue, u->key, r), WARPRSA_DONE);
    }
}

static void wait_for_all(setting *s, user *u, warprsa_answer answer)
{
    for (unsigned i = 0; i < u->count; i++) {
        fake_request *r = &u->requests[i];

        assert_int_equal(warprsa_queue_wait(s->queue, r->ticket, r->output),
                         answer);
        assert_true(answer != WARPRSA_DONE || fake_is_right(r));
    }
    u->count = 0;
}

/* A queue with one stream, on whose device the keys of both users are. They may
 * have one key, which the light user brings first. */
static setting set_up_keys(warprsa_size_class heavy, unsigned heavy_seed,
                           warprsa_size_class light, unsigned light_seed)
{
    setting s = {.config = fake_config(),
                 .heavy = {.owner = HEAVY, .seed = heavy_seed, .size = heavy},
                 .light = {.owner = LIGHT, .seed = light_seed, .size = light}};
    user *const users[] = {&s.light, &s.heavy};

    s.config.engines[0].batch_max = BATCH;
    s.queue = fake_ready_queue(&s.config);
    for (unsigned i = 0; i < 2; i++) {
        users[i]->key = add_key(&s, users[i]);
        submit(&s, users[i], 1);
        wait_for_all(&s, users[i], WARPRSA_DONE);
    }
    return s;
}

static setting set_up(warprsa_size_class heavy, warprsa_size_class light)
{
    return set_up_keys(heavy, HEAVY, light, LIGHT);
}

static void tear_down(setting *s)
{
    assert_int_equal(warprsa_queue_depth(s->queue), 0);
    assert_int_equal(s->queue->keys.busy_owners, 0);
    warprsa_key_release(s->heavy.key);
    warprsa_key_release(s->light.key);
    free(s->heavy.requests);
    free(s->light.requests);
    fake_finish(s->queue, &s->config);
}

/* A batch that does not end, and behind it all of one user's backlog and then
 * a few requests of another user. */
static void queue_both(setting *s)
{
    FAKE_SET(hold, true);
    submit(s, &s->heavy, 1);
    FAKE_WAIT(fake.running == 1);
    submit(s, &s->heavy, BACKLOG);
    submit(s, &s->light, FEW);
}

TEST_IN(a_backlog_of_long_keys_holds_up_nobody, reset, NULL)
{
    setting s = set_up(WARPRSA_CLASS_4096, WARPRSA_CLASS_2048);
    unsigned before = fake.batches;

    queue_both(&s);
    FAKE_SET(hold, false);
    wait_for_all(&s, &s.light, WARPRSA_DONE);
    wait_for_all(&s, &s.heavy, WARPRSA_DONE);
    assert_int_equal(fake.batches, before + 2 + BACKLOG / BATCH);
    assert_int_equal(fake.log[before + 1].size, WARPRSA_CLASS_2048);
    assert_int_equal(fake.log[before + 1].count, FEW);
    tear_down(&s);
}

/* The batch after the one under way has the light user's requests, and as many
 * of the other's as there is room for. The batch after that does not end. */
TEST_IN(a_backlog_of_equal_keys_holds_up_nobody, reset, NULL)
{
    setting s = set_up(WARPRSA_CLASS_2048, WARPRSA_CLASS_2048);
    unsigned before = fake.batches;

    queue_both(&s);
    FAKE_SET(hold_at, before + 3);
    FAKE_SET(hold, false);
    FAKE_WAIT(fake.batches == before + 3);
    wait_for_all(&s, &s.light, WARPRSA_DONE);
    assert_int_equal(fake.log[before + 1].count, BATCH);
    assert_int_equal(warprsa_queue_depth(s.queue), BACKLOG + FEW - BATCH);
    FAKE_SET(hold, false);
    wait_for_all(&s, &s.heavy, WARPRSA_DONE);
    tear_down(&s);
}

/* What a user has been charged for so far, in requests of RSA-2048. */
static uint64_t used_by(setting *s, uint64_t owner)
{
    const warprsa_key_owner *found;

    LIST_FOREACH (found, &s->queue->keys.owners, link)
        if (found->id == owner)
            return found->used / COST;
    return 0;
}

/* Lets the batch under way end, and then the next two; the one after these does
 * not. By then the light user has its answers, and the other one has not. */
static void light_is_next(setting *s, unsigned before)
{
    FAKE_SET(hold_at, before + 3);
    FAKE_SET(hold, false);
    FAKE_WAIT(fake.batches == before + 3);
    for (unsigned i = 0; i < s->light.count; i++) {
        fake_request *r = &s->light.requests[i];

        assert_int_equal(
            warprsa_queue_collect(s->queue, r->ticket, r->output, NULL),
            WARPRSA_DONE);
        assert_true(fake_is_right(r));
    }
    s->light.count = 0;
    assert_int_equal(warprsa_queue_depth(s->queue), BACKLOG + FEW - BATCH);
    FAKE_SET(hold, false);
    wait_for_all(s, &s->heavy, WARPRSA_DONE);
}

/* Two users have one key. Who asks pays, whoever brought it first. */
TEST_IN(a_backlog_of_a_shared_key_holds_up_nobody, reset, NULL)
{
    setting s =
        set_up_keys(WARPRSA_CLASS_2048, SHARED, WARPRSA_CLASS_2048, SHARED);
    const unsigned before = fake.batches;
    const uint64_t light = used_by(&s, LIGHT), heavy = used_by(&s, HEAVY);

    assert_int_equal(s.config.counters->keys_loaded, 1);
    queue_both(&s);
    light_is_next(&s, before);
    assert_in_range(used_by(&s, LIGHT) - light, FEW, FEW + 2);
    assert_in_range(used_by(&s, HEAVY) - heavy, BACKLOG, BACKLOG + 2);
    tear_down(&s);
}

/* Nor does who brought it pay with other keys. */
TEST_IN(who_brought_a_shared_key_does_not_pay, reset, NULL)
{
    setting s =
        set_up_keys(WARPRSA_CLASS_2048, SHARED, WARPRSA_CLASS_2048, SHARED);
    warprsa_key *shared = s.light.key;
    unsigned before;

    s.light.seed = LIGHT;
    s.light.key = add_key(&s, &s.light);
    submit(&s, &s.light, 1);
    wait_for_all(&s, &s.light, WARPRSA_DONE);
    before = fake.batches;
    queue_both(&s);
    light_is_next(&s, before);
    warprsa_key_release(shared);
    tear_down(&s);
}

/* One user alone is served in full batches, in the order of arrival. */
TEST_IN(one_user_has_all, reset, NULL)
{
    setting s = set_up(WARPRSA_CLASS_2048, WARPRSA_CLASS_2048);
    unsigned before = fake.batches;

    FAKE_SET(hold, true);
    submit(&s, &s.heavy, 1);
    FAKE_WAIT(fake.running == 1);
    submit(&s, &s.heavy, BACKLOG);
    assert_false(warprsa_queue_takes_turns(s.queue));
    FAKE_SET(hold, false);
    wait_for_all(&s, &s.heavy, WARPRSA_DONE);
    assert_int_equal(fake.batches, before + 1 + BACKLOG / BATCH);
    tear_down(&s);
}

/* As a worker does before it takes some. */
static void sort(setting *s)
{
    pthread_mutex_lock(&s->queue->backlog.turns_lock);
    assert_true(warprsa_sort_by_owner(&s->queue->backlog));
    assert_false(warprsa_sort_by_owner(&s->queue->backlog));
    pthread_mutex_unlock(&s->queue->backlog.turns_lock);
    assert_true(warprsa_backlog_has(&s->queue->backlog, all));
}

TEST_IN(a_lost_device_leaves_no_request_behind, reset, NULL)
{
    setting s = set_up(WARPRSA_CLASS_4096, WARPRSA_CLASS_2048);

    queue_both(&s);
    sort(&s);
    FAKE_SET(open_failures, 1000000);
    FAKE_SET(wait_failures, 1);
    FAKE_SET(hold, false);
    wait_for_all(&s, &s.light, WARPRSA_REFUSED);
    wait_for_all(&s, &s.heavy, WARPRSA_REFUSED);
    tear_down(&s);
}

TEST_IN(what_callers_gave_up_is_passed_over, reset, NULL)
{
    setting s = set_up(WARPRSA_CLASS_4096, WARPRSA_CLASS_2048);
    unsigned before = fake.batches;

    queue_both(&s);
    sort(&s);
    for (unsigned i = 0; i < FEW; i++)
        assert_true(
            warprsa_queue_withdraw(s.queue, s.light.requests[i].ticket));
    s.light.count = 0;
    FAKE_SET(hold, false);
    wait_for_all(&s, &s.heavy, WARPRSA_DONE);
    WAIT_UNTIL(warprsa_queue_depth(s.queue) == 0);
    assert_int_equal(fake.batches, before + 1 + BACKLOG / BATCH);
    tear_down(&s);
}

RUN_TESTS(NULL, NULL)
