/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which key is loaded next, and how many an owner may have loaded: the
 * bookkeeping alone, without threads, at times that the test chooses.
 */
#include "tests/unit/support/fake_queue.h"

#include "batching/base/clock.h"
#include "batching/queue/key_loads.h"
#include "batching/queue/key_residency.h"

enum {
    SLOTS = 64,
    KEYS_LIVE = 32,
};

static uint64_t start_ns;

static void nothing(void *arg)
{
}

typedef struct setting {
    warprsa_keys keys;
    warprsa_slots slots;
    warprsa_key_loads loads;
    unsigned seed;
    uint32_t slot;
} setting;

static int set_up(void **state)
{
    static setting s;
    const warprsa_keys_callbacks callbacks = {nothing, nothing, nothing, NULL};

    memset(&s, 0, sizeof(s));
    assert_true(warprsa_keys_init(&s.keys, KEYS_LIVE, &callbacks));
    assert_true(warprsa_slots_init(&s.slots, SLOTS, LONG_MS));
    warprsa_key_loads_init(&s.loads, 0, &s.slots, &s.keys);
    /* In the future: no owner is forgotten, whose allowance would be whole
     * again by now. */
    start_ns = warprsa_clock_ns() + 3600 * WARPRSA_NS_PER_SEC;
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    setting *s = *state;

    warprsa_keys_forget_device(&s->keys, 0);
    warprsa_keys_free(&s->keys);
    warprsa_slots_free(&s->slots);
    return 0;
}

static warprsa_key *new_key(setting *s, uint64_t owner)
{
    warprsa_private_key key = fake_key(WARPRSA_CLASS_1024, ++s->seed);
    uint8_t id[WARPRSA_KEY_ID_BYTES] = {(uint8_t)s->seed};
    warprsa_key *made = warprsa_keys_get(&s->keys, owner, id, &key);

    assert_non_null(made);
    return made;
}

/* A request with a key, which takes a slot and refers to the key. */
static bool set_aside(setting *s, warprsa_key *key, uint64_t now_ns)
{
    uint32_t slot = s->slot++ % SLOTS;

    s->slots.request[slot].key = key;
    return warprsa_key_loads_add(&s->loads, key, slot, now_ns);
}

/* The key to be loaded next. Nobody has given a request up. */
static warprsa_key *next(setting *s, uint64_t now_ns)
{
    warprsa_request_chain abandoned = {0};
    warprsa_key *key = warprsa_key_loads_next(&s->loads, now_ns, &abandoned);

    assert_int_equal(abandoned.first, 0);
    return key;
}

static void note_loaded(setting *s, warprsa_key *key, uint32_t index)
{
    warprsa_keys_loaded(key, 0, index,
                        warprsa_key_loads_succeeded(&s->loads, key));
}

/* Loads what is next, and answers its requests. */
static warprsa_key *load_next(setting *s, uint64_t now_ns)
{
    warprsa_key *key = next(s, now_ns);
    uint32_t slot;

    if (key == NULL)
        return NULL;
    assert_null(next(s, now_ns)); /* one at a time */
    note_loaded(s, key, 7);
    while (warprsa_key_loads_take(&s->loads, WARPRSA_CLASS_1024, &slot)) {
        assert_ptr_equal(s->slots.request[slot].key, key);
        warprsa_keys_unpin(key, 0);
    }
    warprsa_key_drop(key, 1);
    return key;
}

TEST_IN(owners_take_turns, set_up, tear_down)
{
    enum {
        MANY = 8,
    };
    setting *s = *state;
    warprsa_key *many[MANY], *few[2];

    for (unsigned i = 0; i < MANY; i++) {
        many[i] = new_key(s, 1);
        assert_true(set_aside(s, many[i], start_ns));
    }
    for (unsigned i = 0; i < 2; i++) {
        few[i] = new_key(s, 2);
        assert_true(set_aside(s, few[i], start_ns));
    }
    assert_true(set_aside(s, few[0], start_ns)); /* one load serves both */
    assert_ptr_equal(load_next(s, start_ns), many[0]);
    assert_ptr_equal(load_next(s, start_ns), few[0]);
    assert_ptr_equal(load_next(s, start_ns), many[1]);
    assert_ptr_equal(load_next(s, start_ns), few[1]);
    for (unsigned i = 2; i < MANY; i++)
        assert_ptr_equal(load_next(s, start_ns), many[i]);
    assert_null(load_next(s, start_ns));
    assert_int_equal(s->loads.requests, 0);
    for (unsigned i = 0; i < MANY; i++)
        warprsa_key_release(many[i]);
    for (unsigned i = 0; i < 2; i++)
        warprsa_key_release(few[i]);
}

/* How many keys of an owner are taken at this time before one is refused. */
static unsigned loads_allowed(setting *s, uint64_t owner, uint64_t now_ns)
{
    unsigned count = 0;
    bool allowed = true;

    while (allowed && count < 2 * WARPRSA_LOADS_AT_ONCE) {
        warprsa_key *key = new_key(s, owner);
        uint32_t index;

        allowed = set_aside(s, key, now_ns);
        count += allowed;
        if (allowed)
            assert_ptr_equal(load_next(s, now_ns), key);
        warprsa_key_release(key);
        (void)warprsa_keys_take_released(&s->keys, 0, &index, 1);
    }
    return count;
}

TEST_IN(loads_are_limited_by_owner_and_time, set_up, tear_down)
{
    setting *s = *state;

    assert_int_equal(loads_allowed(s, 1, start_ns), WARPRSA_LOADS_AT_ONCE);
    /* It does not help to come again. */
    assert_int_equal(loads_allowed(s, 1, start_ns), 0);
    assert_int_equal(loads_allowed(s, 2, start_ns), WARPRSA_LOADS_AT_ONCE);
    assert_int_equal(loads_allowed(s, 1, start_ns + WARPRSA_NS_PER_SEC / 10),
                     WARPRSA_LOADS_PER_SECOND / 10);
    assert_int_equal(loads_allowed(s, 1, start_ns + 60 * WARPRSA_NS_PER_SEC),
                     WARPRSA_LOADS_AT_ONCE);
    /* A process that shares its devices with nobody has no limit. */
    assert_int_equal(loads_allowed(s, WARPRSA_OWNER_SELF, start_ns),
                     2 * WARPRSA_LOADS_AT_ONCE);
}

/* Owners that have no key and have had no load lately take no memory. */
TEST_IN(owners_are_forgotten, set_up, tear_down)
{
    setting *s = *state;
    warprsa_key *key = new_key(s, 1);
    warprsa_key_owner *owner = key->owner;

    assert_true(set_aside(s, key, start_ns));
    assert_ptr_equal(load_next(s, start_ns), key);
    warprsa_keys_forget_device(&s->keys, 0);
    warprsa_key_release(key);
    warprsa_key_release(new_key(s, 2));
    assert_ptr_equal(LIST_NEXT(LIST_FIRST(&s->keys.owners), link), owner);
    owner->share[0].allowance_ns = warprsa_clock_ns();
    warprsa_key_release(new_key(s, 3));
    assert_int_equal(LIST_FIRST(&s->keys.owners)->id, 3);
    assert_null(LIST_NEXT(LIST_FIRST(&s->keys.owners), link));
}

/* A key that is on the device already takes nothing of the allowance, nor does
 * a second request that waits for the same load. */
TEST_IN(only_loads_count, set_up, tear_down)
{
    setting *s = *state;
    warprsa_key *key = new_key(s, 1);
    uint64_t allowance_ns;

    assert_true(set_aside(s, key, start_ns));
    allowance_ns = key->owner->share[0].allowance_ns;
    for (unsigned i = 0; i < SLOTS / 4 - 1; i++)
        assert_true(set_aside(s, key, start_ns));
    assert_false(set_aside(s, key, start_ns)); /* its part of the slots */
    assert_int_equal(key->owner->share[0].allowance_ns, allowance_ns);
    assert_ptr_equal(load_next(s, start_ns), key);
    warprsa_key_release(key);
}

/* The device fails: what was set aside comes back, for what is loaded, to be
 * loaded and being loaded. */
TEST_IN(all_is_given_out, set_up, tear_down)
{
    setting *s = *state;
    warprsa_key *loaded = new_key(s, 1), *waits = new_key(s, 1);
    warprsa_key *loading = new_key(s, 2);
    warprsa_request_chain chain = {0};
    uint32_t slot;
    unsigned count = 0;

    assert_true(set_aside(s, loaded, start_ns));
    assert_ptr_equal(next(s, start_ns), loaded);
    note_loaded(s, loaded, 3);
    warprsa_key_drop(loaded, 1);
    assert_true(set_aside(s, loading, start_ns));
    assert_ptr_equal(next(s, start_ns), loading);
    assert_true(set_aside(s, waits, start_ns));
    assert_true(set_aside(s, waits, start_ns));
    assert_true(warprsa_key_loads_take(&s->loads, WARPRSA_CLASS_1024, &slot));
    warprsa_keys_unpin(loaded, 0);
    warprsa_slots_chain(&s->slots, &chain, slot);
    warprsa_key_loads_take_waiting(&s->loads, &chain);
    while (warprsa_slots_unchain(&s->slots, &chain, &slot))
        count++;
    assert_int_equal(count, 3);
    assert_int_equal(s->loads.requests, 1);
    warprsa_key_loads_failed(&s->loads, loading, &chain);
    warprsa_key_drop(loading, 1);
    while (warprsa_slots_unchain(&s->slots, &chain, &slot))
        count++;
    assert_int_equal(count, 4);
    assert_int_equal(s->loads.requests, 0);
    assert_null(next(s, start_ns));
    /* And may be set aside again. */
    assert_true(set_aside(s, waits, start_ns));
    assert_ptr_equal(load_next(s, start_ns), waits);
    warprsa_key_release(loaded);
    warprsa_key_release(waits);
    warprsa_key_release(loading);
}

RUN_TESTS(NULL, NULL)
