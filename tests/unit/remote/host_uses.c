/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uses of keys that GPU hosts have, with hosts that are played here: which host
 * gets a use, what becomes of it when the host is lost, hangs, refuses or lies,
 * and that each use is answered once.
 */
#include "tests/unit/remote/played_hosts.h"

#include <string.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/remote/uses/use_connection.h"

TEST_IN(test_answers, begin, end)
{
    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    expect_uses(1, 1);
    answer_right(1, 0);
    assert_done(0);
    ask(1, 7, &sign_pss);
    ask(2, 7, &decrypt);
    expect_uses(1, 3);
    answer_right(1, 1);
    answer(1, 2, WARPRSA_REMOTE_OK, (const uint8_t *)"text", 4,
           WARPRSA_ALLOWED);
    assert_done(1);
    assert_done(2);
    assert_int_equal(tasks[2].task.length, 4);
    assert_memory_equal(tasks[2].answer, "text", 4);
    /* The key was named once, by its digest. */
    assert_int_equal(fake.hosts[1].keys, 1);
    assert_memory_equal(fake.hosts[1].spki_sha256, key->spki_sha256,
                        WARPRSA_KEY_SPKI_BYTES);
    assert_int_equal(counters->vault_remote_moved, 0);
}

/* What waits goes in messages of 256 at most, as far as the host has room. */
TEST_IN(test_messages, begin, end)
{
    enum {
        ASKED = 600
    };
    unsigned answered = 0;

    set_away(2, true);
    set_away(1, true);
    fake.hosts[1].room = 300;
    for (unsigned i = 0; i < ASKED; i++)
        ask(i, 7, &sign_pkcs1);
    set_away(1, false);
    expect_uses(1, 300);
    assert_int_equal(fake.hosts[1].count, 300);
    assert_int_equal(fake.hosts[1].largest, WARPRSA_REMOTE_BATCH_MAX);
    for (; answered < 300; answered++)
        answer_right(1, answered);
    expect_uses(1, ASKED);
    for (; answered < ASKED; answered++)
        answer_right(1, answered);
    for (unsigned i = 0; i < ASKED; i++)
        assert_done(i);
}

/* A user with many uses does not keep another one waiting. */
TEST_IN(test_turns, begin, end)
{
    set_away(2, true);
    set_away(1, true);
    fake.hosts[1].room = 4;
    for (unsigned i = 0; i < 100; i++)
        ask(i, 7, &sign_pkcs1);
    ask(100, 8, &sign_pkcs1);
    set_away(1, false);
    expect_uses(1, 4);
    assert_memory_equal(fake.hosts[1].sent[0].input, tasks[0].input, 20);
    assert_memory_equal(fake.hosts[1].sent[1].input, tasks[100].input, 20);
    assert_memory_equal(fake.hosts[1].sent[2].input, tasks[1].input, 20);
    for (unsigned i = 0; i <= 100; i++) {
        expect_uses(1, i + 1);
        answer_right(1, i);
    }
    for (unsigned i = 0; i <= 100; i++)
        assert_done(i);
}

/* Nor at a host that would have room for all of them. */
TEST_IN(test_turns_of_a_backlog, begin, end)
{
    enum {
        BACKLOG = 1000
    };
    unsigned place = 0;

    fake.has_window = true;
    set_away(2, true);
    for (unsigned i = 0; i < BACKLOG; i++)
        ask(i, 7, &sign_pkcs1);
    expect_uses(1, WARPRSA_REMOTE_BATCH_MAX);
    ask(BACKLOG, 8, &sign_pkcs1);
    for (unsigned i = 0; i <= BACKLOG; i++) {
        expect_uses(1, i + 1);
        answer_right(1, i);
    }
    assert_done(BACKLOG);
    while (memcmp(fake.hosts[1].sent[place].input, tasks[BACKLOG].input, 20))
        place++;
    assert_in_range(place, 1, WARPRSA_REMOTE_BATCH_MAX + 1);
}

/* Nor do those of its uses that a host has sent back. */
TEST_IN(test_turns_again, begin, end)
{
    static const unsigned all = 10;

    set_away(2, true);
    for (unsigned i = 0; i < 10; i++)
        ask(i, 7, &sign_pkcs1);
    expect_uses(1, 10);
    fake.hosts[1].room = 4;
    set_away(1, true);
    lose(1);
    wait_until(have_moved, &all);
    ask(10, 8, &sign_pkcs1);
    ask(11, 8, &sign_pkcs1);
    set_away(1, false);
    expect_uses(1, 4);
    assert_memory_equal(fake.hosts[1].sent[0].input, tasks[0].input, 20);
    assert_memory_equal(fake.hosts[1].sent[1].input, tasks[10].input, 20);
    assert_memory_equal(fake.hosts[1].sent[2].input, tasks[1].input, 20);
    assert_memory_equal(fake.hosts[1].sent[3].input, tasks[11].input, 20);
    for (unsigned i = 0; i < 12; i++) {
        expect_uses(1, i + 1);
        answer_right(1, i);
    }
    for (unsigned i = 0; i < 12; i++)
        assert_done(i);
}

/* A host that answers quickly comes to have its whole room. */
TEST_IN(test_window_grows, begin, end)
{
    enum {
        ROOM = 1500,
        ASKED = 7000,
        ANSWERED = 5000
    };

    fake.has_window = true;
    fake.hosts[1].room = ROOM;
    set_away(2, true);
    for (unsigned i = 0; i < ASKED; i++)
        ask(i, 7, &sign_pkcs1);
    for (unsigned i = 0; i < ANSWERED; i++) {
        expect_uses(1, i + 1);
        answer_right(1, i);
    }
    expect_uses(1, ANSWERED + ROOM);
    assert_int_equal(fake.hosts[1].count, ANSWERED + ROOM);
    for (unsigned i = ANSWERED; i < ASKED; i++) {
        expect_uses(1, i + 1);
        answer_right(1, i);
    }
    for (unsigned i = 0; i < ASKED; i++)
        assert_done(i);
}

static void pace(warprsa_use_host *host, bool fills, unsigned ms,
                 unsigned count)
{
    const warprsa_remote_use use = {.fills = fills};

    for (unsigned i = 0; i < count; i++)
        warprsa_use_host_pace(host, &use, ms * WARPRSA_NS_PER_MS);
}

/* An eighth and a quarter of the patience are 62.5 and 125 ms. */
TEST(test_window)
{
    warprsa_uses_core core = {.config.daemon.deadline_ms = 2000};
    warprsa_use_host host = {.core = &core};

    fake.has_window = true;
    warprsa_use_host_set_room(&host, 300);
    assert_int_equal(host.window, WARPRSA_REMOTE_BATCH_MAX);
    pace(&host, false, 1, 10);
    pace(&host, true, 63, 10);
    assert_int_equal(host.window, WARPRSA_REMOTE_BATCH_MAX);
    pace(&host, true, 62, 10);
    assert_int_equal(host.window, WARPRSA_REMOTE_BATCH_MAX + 10);
    pace(&host, false, 125, 10);
    assert_int_equal(host.window, WARPRSA_REMOTE_BATCH_MAX + 10);
    pace(&host, false, 126, 9);
    assert_int_equal(host.window, WARPRSA_REMOTE_BATCH_MAX + 1);
    pace(&host, true, 126, 9);
    assert_int_equal(host.window, WARPRSA_REMOTE_BATCH_MAX);
    pace(&host, true, 62, 300);
    assert_int_equal(host.window, 300);
}

/* A host that takes long for a single use, or has little room. */
TEST(test_window_of_slow_hosts)
{
    warprsa_uses_core core = {.config.daemon.deadline_ms = 2000};
    warprsa_use_host host = {.core = &core};

    fake.has_window = true;
    warprsa_use_host_set_room(&host, 300);
    pace(&host, true, 100, 1);
    pace(&host, true, 200, 9);
    assert_int_equal(host.window, WARPRSA_REMOTE_BATCH_MAX + 10);
    pace(&host, true, 400, 9);
    assert_int_equal(host.window, WARPRSA_REMOTE_BATCH_MAX + 10);
    pace(&host, true, 401, 9);
    assert_int_equal(host.window, WARPRSA_REMOTE_BATCH_MAX + 1);
    warprsa_use_host_set_room(&host, 4);
    pace(&host, true, 1, 9);
    pace(&host, true, 999, 9);
    assert_int_equal(host.window, 4);
}

/* All that a host had goes to the other one. */
TEST_IN(test_lost, begin, end)
{
    set_away(2, true);
    for (unsigned i = 0; i < 10; i++)
        ask(i, 7, &sign_pkcs1);
    expect_uses(1, 10);
    answer_right(1, 3);
    assert_done(3);
    set_away(1, true);
    set_away(2, false);
    lose(1);
    expect_uses(2, 9);
    for (unsigned i = 0; i < 9; i++)
        answer_right(2, i);
    for (unsigned i = 0; i < 10; i++)
        assert_done(i);
    assert_int_equal(counters->vault_remote_moved, 9);
    assert_non_null(
        strstr(fake.log, "a:1: no uses of its keys: it was killed"));
}

TEST_IN(test_refusals, begin, end)
{
    expect_session((ask(0, 7, &sign_pkcs1), 1));
    expect_session(2);
    set_away(2, true);
    lose(2); /* so that host 1 has it, or gets it */
    expect_uses(1, 1);
    /* No room, no device: the same host, a little later. */
    answer_status(1, 0, WARPRSA_REMOTE_THROTTLED);
    expect_uses(1, 2);
    answer_status(1, 1, WARPRSA_REMOTE_UNAVAILABLE);
    expect_uses(1, 3);
    /* It can't compute it: another one. */
    answer_status(1, 2, WARPRSA_REMOTE_FAILED);
    set_away(2, false);
    expect_uses(2, 1);
    assert_int_equal(fake.hosts[1].count, 3);
    answer_right(2, 0);
    assert_done(0);
}

/* The host answers all uses that it has and has not answered: `from` and later
 * ones. */
static void answer_rest(unsigned host, unsigned from, unsigned count)
{
    expect_uses(host, count);
    for (unsigned i = from; i < count; i++)
        answer_right(host, i);
}

/* What a host has too much of for one user, or a key that it has no room for,
 * does not keep it from others. */
TEST_IN(test_refusals_of_one_user, begin, end)
{
    const warprsa_remote_response no_room = {
        .kind = WARPRSA_REMOTE_KEY_LOADED, .status = WARPRSA_REMOTE_THROTTLED};
    const warprsa_remote_response loaded = {.kind = WARPRSA_REMOTE_KEY_LOADED};

    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    expect_uses(1, 1);
    respond(1, &no_room);
    answer_status(1, 0, WARPRSA_REMOTE_THROTTLED);
    assert_false(was_paused(1));
    ask(1, 8, &sign_pkcs1);
    expect_uses(1, 3);
    respond(1, &loaded);
    answer_rest(1, 1, 3);
    assert_done(0);
    assert_done(1);
    ask(2, 7, &sign_pkcs1);
    expect_uses(1, 4);
    answer_status(1, 3, WARPRSA_REMOTE_UNAVAILABLE);
    assert_false(was_paused(1));
    ask(3, 8, &sign_pkcs1);
    answer_rest(1, 4, 6);
    assert_done(2);
    assert_done(3);
    /* Control: what all users of this daemon may have together. */
    ask(4, 7, &sign_pkcs1);
    expect_uses(1, 7);
    answer_status(1, 6, WARPRSA_REMOTE_THROTTLED);
    assert_true(was_paused(1));
    answer_rest(1, 7, 8);
    assert_done(4);
}

/* The pause is the owner's, at this host, and ends. */
TEST(test_owner_paused)
{
    warprsa_waiting_uses waiting;
    warprsa_remote_use *of_7 = NULL, *of_8 = NULL;

    warprsa_waiting_uses_init(&waiting);
    of_7 = warprsa_remote_use_new(&waiting, 7);
    of_8 = warprsa_remote_use_new(&waiting, 8);
    warprsa_waiting_uses_add(&waiting, of_7);
    warprsa_waiting_uses_add(&waiting, of_8);
    of_7->owner->paused_until_ns[1] = 100;
    assert_ptr_equal(warprsa_waiting_uses_take(&waiting, 1, 99), of_8);
    assert_null(warprsa_waiting_uses_take(&waiting, 1, 99));
    assert_ptr_equal(warprsa_waiting_uses_take(&waiting, 0, 99), of_7);
    warprsa_waiting_uses_add_again(&waiting, of_7);
    assert_null(warprsa_waiting_uses_take(&waiting, 1, 99));
    assert_ptr_equal(warprsa_waiting_uses_take(&waiting, 1, 100), of_7);
    warprsa_remote_use_free(of_7);
    warprsa_remote_use_free(of_8);
}

/* A host that finds fault with what is valid is not believed. Ciphertexts with
 * a padding have faults that only the private key shows. */
TEST_IN(test_invalid, begin, end)
{
    const char *said = NULL;

    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    ask(1, 7, &sign_pss);
    ask(2, 7, &decrypt);
    ask(3, 7, &decrypt_raw);
    expect_uses(1, 4);
    answer_status(1, 2, WARPRSA_REMOTE_INVALID);
    wait_until(is_done, &tasks[2]);
    assert_false(tasks[2].task.has_answer);
    answer_status(1, 0, WARPRSA_REMOTE_INVALID);
    answer_status(1, 1, WARPRSA_REMOTE_INVALID);
    answer_status(1, 3, WARPRSA_REMOTE_INVALID);
    assert_int_equal(tasks[0].done + tasks[1].done + tasks[3].done, 0);
    set_away(2, false);
    expect_uses(2, 3);
    for (unsigned i = 0; i < 3; i++)
        answer_right(2, i);
    assert_done(0);
    assert_done(1);
    assert_done(3);
    said = strstr(fake.log, "key www: host a:1 refuses to sign");
    assert_non_null(said);
    assert_null(strstr(said + 1, "key www: host a:1"));
}

/* A key that one host lacks, and one that both do. */
TEST_IN(test_no_key, begin, end)
{
    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    expect_uses(1, 1);
    answer(1, 0, WARPRSA_REMOTE_DENIED, NULL, 0, WARPRSA_DENIED_NO_KEY);
    assert_int_equal(tasks[0].done, 0);
    set_away(2, false);
    expect_uses(2, 1);
    answer_right(2, 0);
    assert_done(0);
    assert_non_null(strstr(
        fake.log,
        "key www: host a:1 does not have it, or allows this host nothing\n"));

    set_away(1, true);
    lose(1);
    wait_until(is_closed, NULL);
    ask(1, 7, &sign_pkcs1);
    expect_uses(2, 2);
    answer(2, 1, WARPRSA_REMOTE_DENIED, NULL, 0, WARPRSA_DENIED_NO_KEY);
    set_away(1, false);
    expect_uses(1, 1);
    answer_status(1, 0, WARPRSA_REMOTE_UNSUPPORTED);
    wait_until(is_done, &tasks[1]);
    assert_false(tasks[1].task.has_answer);
    assert_false(tasks[1].task.is_late);
    assert_int_equal(tasks[1].task.denial, WARPRSA_DENIED_NO_KEY);
    assert_non_null(strstr(fake.log, "a:1 takes no uses of keys of its own\n"));
}

/* A host that could not do it may still have the key: no denial, until that
 * host is gone. */
TEST_IN(test_no_key_and_a_failure, begin, end)
{
    char why[200];

    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    expect_uses(1, 1);
    answer_status(1, 0, WARPRSA_REMOTE_FAILED);
    set_away(2, false);
    expect_uses(2, 1);
    answer(2, 0, WARPRSA_REMOTE_DENIED, NULL, 0, WARPRSA_DENIED_NO_KEY);
    assert_int_equal(tasks[0].done, 0);
    assert_true(warprsa_remote_hosts_set("b:2", why, sizeof(why)));
    warprsa_remote_uses_look();
    wait_until(is_done, &tasks[0]);
    assert_false(tasks[0].task.is_late);
    assert_int_equal(tasks[0].task.denial, WARPRSA_DENIED_NO_KEY);
}

static bool is_logged(const void *arg)
{
    bool logged = false;

    pthread_mutex_lock(&fake.lock);
    logged = strstr(fake.log, arg) != NULL;
    pthread_mutex_unlock(&fake.lock);
    return logged;
}

/* A host that has no number for the key never gets a use of it. If the list has
 * no other host that may have it, the use is denied, not late; other keys are
 * served. */
TEST_IN(test_no_number, begin, end)
{
    warprsa_vault_key *const first = key;

    set_away(2, true);
    fake.hosts[1].keys_max = 1;
    ask(0, 7, &sign_pkcs1);
    expect_uses(1, 1);
    add_key("other"); /* `first` keeps its number while it has a use */
    key = warprsa_vault_find_name(vault, "other");
    ask(1, 7, &sign_pkcs1);
    wait_until(have_moved, &(const unsigned){1});
    assert_int_equal(tasks[1].done, 0); /* host 2 may have it */
    fake.hosts[2].keys_max = 1;
    set_away(2, false);
    wait_until(is_done, &tasks[1]);
    assert_false(tasks[1].task.has_answer);
    assert_false(tasks[1].task.is_late);
    assert_int_equal(tasks[1].task.denial, WARPRSA_DENIED_NO_KEY);
    assert_int_equal(fake.hosts[1].count + fake.hosts[2].count, 1);
    wait_until(is_logged, "key other: host a:1 takes only 1 keys, ");
    wait_until(is_logged, "key other: host b:2 takes only 1 keys, ");
    answer_right(1, 0);
    assert_done(0);
    warprsa_vault_key_release(first);
}

TEST_IN(test_denial, begin, end)
{
    set_away(2, true);
    ask(0, 7, &sign_pss);
    expect_uses(1, 1);
    answer(1, 0, WARPRSA_REMOTE_DENIED, NULL, 0, WARPRSA_DENIED_DIGEST);
    wait_until(is_done, &tasks[0]);
    assert_int_equal(tasks[0].task.denial, WARPRSA_DENIED_DIGEST);
    assert_non_null(strstr(fake.log,
                           "key www: denied by host a:1: sign, padding pss, "
                           "digest sha256: there keys.conf does not allow"));
}

/* A wrong signature, or a decryption without a padding that is wrong, is not
 * released, and the host is not used for a while; nor is what a host has that
 * lies about lengths. */
static void wrong_answer(const warprsa_key_use *use, const char *line)
{
    uint8_t wrong[BYTES] = {0};

    set_away(2, true);
    ask(0, 7, use);
    expect_uses(1, 1);
    wrong[BYTES - 1] = 2;
    set_away(1, true);
    set_away(2, false);
    answer(1, 0, WARPRSA_REMOTE_OK, wrong, BYTES, WARPRSA_ALLOWED);
    expect_uses(2, 1);
    assert_int_equal(tasks[0].done, 0);
    for (unsigned i = 0; i < BYTES; i++)
        assert_int_equal(tasks[0].answer[i], 0);
    answer_right(2, 0);
    assert_done(0);
    assert_int_equal(counters->vault_remote_wrong, 1);
    wait_until(is_logged, line);
}

TEST_IN(test_wrong_pkcs1, begin, end)
{
    wrong_answer(&sign_pkcs1,
                 "a:1: no uses of its keys: a signature is wrong\n");
}

TEST_IN(test_wrong_pss, begin, end)
{
    wrong_answer(&sign_pss, "a:1: no uses of its keys: a signature is wrong\n");
}

TEST_IN(test_wrong_raw_decryption, begin, end)
{
    wrong_answer(&decrypt_raw, "a:1: no uses of its keys: a decryption without "
                               "padding is wrong\n");
}

TEST_IN(test_wrong_length, begin, end)
{
    uint8_t secret[BYTES] = {0};

    set_away(2, true);
    ask(0, 7, &decrypt_tls);
    expect_uses(1, 1);
    set_away(1, true);
    set_away(2, false);
    answer(1, 0, WARPRSA_REMOTE_OK, secret, 47, WARPRSA_ALLOWED);
    expect_uses(2, 1);
    answer(2, 0, WARPRSA_REMOTE_OK, secret, 48, WARPRSA_ALLOWED);
    assert_done(0);
    assert_int_equal(tasks[0].task.length, 48);
    assert_non_null(strstr(fake.log, "a result of the wrong length"));
}

/* A result that belongs to no use, and one that comes twice. */
TEST_IN(test_unasked, begin, end)
{
    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    expect_uses(1, 1);
    answer_right(1, 0);
    assert_done(0);
    set_away(1, true);
    answer_right(1, 0);
    assert_int_equal(tasks[0].done, 1);
    wait_until(is_closed, NULL);
    ask(1, 7, &sign_pkcs1);
    set_away(1, false);
    expect_uses(1, 1);
    answer_right(1, 0);
    assert_done(1);
    assert_non_null(strstr(fake.log, "a result that nobody waits for"));
}

/* Without a host a use is late, and the answer that comes then is nobody's. */
TEST_WITH(test_late, begin, end, (void *)&short_ms)
{
    set_away(1, true);
    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    wait_until(is_done, &tasks[0]);
    assert_true(tasks[0].task.is_late);
    set_away(1, false);
    expect_session(1);
    ask(1, 7, &sign_pkcs1);
    expect_uses(1, 1);
    wait_until(is_done, &tasks[1]);
    assert_true(tasks[1].task.is_late);
    answer_right(1, 0);
    assert_int_equal(tasks[1].done, 1);
    assert_false(tasks[1].task.has_answer);
}

/* A host that does not answer: the other one gets its uses, and all others. */
TEST_WITH(test_silent, begin, end, (void *)&hang_ms)
{
    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    ask(1, 7, &sign_pkcs1);
    expect_uses(1, 2);
    set_away(2, false);
    expect_uses(2, 2);
    answer_right(2, 0);
    answer_right(2, 1);
    assert_done(0);
    assert_done(1);
    ask(2, 7, &sign_pkcs1);
    expect_uses(2, 3);
    answer_right(2, 2);
    assert_done(2);
    /* It is back. */
    answer_right(1, 0);
    answer_right(1, 1);
    assert_int_equal(tasks[0].done, 1);
    assert_int_equal(counters->vault_remote_moved, 2);
}

/* Hosts that are slow, but answer: the first one's answer comes too late, and
 * the second one keeps the use, as the first one has had it. */
TEST_WITH(test_slow, begin, end, (void *)&slow_ms)
{
    static const unsigned moves = 3;

    /* A use that both hosts have had shows by its end how late it is. */
    set_away(2, true);
    ask(1, 7, &sign_pkcs1);
    expect_uses(1, 1);
    set_away(2, false);
    expect_uses(2, 1);
    answer_status(2, 0, WARPRSA_REMOTE_FAILED);
    answer_right(1, 0);
    set_away(2, true);
    lose(2);
    ask(0, 7, &sign_pkcs1);
    expect_uses(1, 2);
    set_away(2, false);
    wait_until(have_moved, &moves); /* in the new session of host 2 */
    expect_uses(2, 1);
    answer_right(1, 1);
    assert_int_equal(tasks[0].done, 0);
    wait_until(is_done, &tasks[1]);
    assert_true(tasks[1].task.is_late);
    answer_right(2, 0);
    assert_done(0);
}

/* A host that is removed answers what it has, and gets no more; a draining one
 * as well. */
TEST_IN(test_removed, begin, end)
{
    const warprsa_remote_response draining = {.kind = WARPRSA_REMOTE_DRAINING};
    char why[200];

    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    expect_uses(1, 1);
    respond(1, &draining);
    ask(1, 7, &sign_pkcs1);
    set_away(2, false);
    expect_uses(2, 1);
    assert_int_equal(fake.hosts[1].count, 1);
    assert_true(warprsa_remote_hosts_set("b:2", why, sizeof(why)));
    warprsa_remote_uses_look();
    answer_right(1, 0);
    assert_done(0);
    wait_until(is_closed, NULL);
    answer_right(2, 0);
    assert_done(1);
}

static bool is_unloaded(const void *arg)
{
    bool unloaded = false;

    (void)arg;
    pthread_mutex_lock(&fake.lock);
    unloaded = fake.hosts[1].unloaded == 1;
    pthread_mutex_unlock(&fake.lock);
    return unloaded;
}

/* A key that the vault has removed goes from the hosts, too. */
TEST_IN(test_key_goes, begin, end)
{
    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    expect_uses(1, 1);
    add_key("other"); /* the same key: its old name is gone */
    assert_true(warprsa_vault_key_is_removed(key));
    answer_right(1, 0);
    assert_done(0);
    wait_until(is_unloaded, NULL);
}

/* ---- Hosts that are woken for a use and do not take it ---- */

/* From now on threads do not look by themselves what there is to do. */
static atomic_bool only_woken;

int __real_pthread_cond_timedwait(pthread_cond_t *condition,
                                  pthread_mutex_t *mutex,
                                  const struct timespec *until);

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition,
                                  pthread_mutex_t *mutex,
                                  const struct timespec *until)
{
    return atomic_load(&only_woken)
               ? pthread_cond_wait(condition, mutex)
               : __real_pthread_cond_timedwait(condition, mutex, until);
}

static int begin_woken(void **state)
{
    atomic_store(&only_woken, true);
    return begin(state);
}

static int end_woken(void **state)
{
    const int result = end(state);

    atomic_store(&only_woken, false);
    return result;
}

/* Host 1 is woken first, as the first idle one. It can't have the key, and host
 * 2 gets the use. */
TEST_IN(test_woken_without_a_number, begin_woken, end_woken)
{
    const char *said = NULL;
    unsigned asked = 0;

    fake.hosts[1].keys_max = 0;
    while (atomic_load(&counters->vault_remote_moved) < 10) {
        assert_in_range(asked, 0, TASKS - 1);
        ask(asked, 7, &sign_pkcs1);
        expect_session(1);
        expect_uses(2, asked + 1);
        answer_right(2, asked);
        assert_done(asked++);
    }
    assert_int_equal(fake.hosts[1].count, 0);
    said = strstr(fake.log, "key www: host a:1 takes only 0 keys, ");
    assert_non_null(said);
    assert_null(strstr(strchr(said, '\n'), "a:1 takes only"));
}

static bool are_sent(const void *arg)
{
    bool sent = false;

    pthread_mutex_lock(&fake.lock);
    sent = fake.hosts[1].count + fake.hosts[2].count == *(const unsigned *)arg;
    pthread_mutex_unlock(&fake.lock);
    return sent;
}

/* The host that has less to do would be woken alone, but gets nothing of this
 * user just now. Only another use wakes a host. */
TEST_IN(test_woken_without_a_pause, begin_woken, end_woken)
{
    static const unsigned one = 1, two = 2, three = 3;
    unsigned first = 0;

    ask(0, 7, &sign_pkcs1);
    expect_session(1);
    expect_session(2);
    wait_until(are_sent, &one);
    first = fake.hosts[1].count == 1 ? 1 : 2;
    usleep(100000); /* hosts that do not sleep yet show nothing here */
    answer_status(first, 0, WARPRSA_REMOTE_UNAVAILABLE);
    wait_until(are_sent, &two);
    usleep(1000);
    ask(1, 7, &sign_pkcs1);
    wait_until(are_sent, &three);
    for (unsigned h = 1; h <= 2; h++)
        for (unsigned i = h == first ? 1 : 0; i < fake.hosts[h].count; i++)
            answer_right(h, i);
    assert_done(0);
    assert_done(1);
}

/* Uses that are begun together go in one message. */
TEST_IN(test_together, begin_woken, end_woken)
{
    enum {
        TOGETHER = 32
    };

    ask(0, 7, &sign_pkcs1);
    expect_session(1);
    expect_session(2);
    usleep(100000); /* hosts that do not sleep yet show nothing here */
    fake.hosts[1].messages = fake.hosts[2].messages = 0;
    for (unsigned i = 1; i < TOGETHER; i++) {
        add_use(i, 7, &sign_pkcs1);
        usleep(1000);
    }
    ask(TOGETHER, 7, &sign_pkcs1);
    wait_until(are_sent, &(const unsigned){1 + TOGETHER});
    assert_int_equal(fake.hosts[1].messages + fake.hosts[2].messages, 1);
    for (unsigned h = 1; h <= 2; h++)
        for (unsigned i = 0; i < fake.hosts[h].count; i++)
            answer_right(h, i);
    for (unsigned i = 0; i <= TOGETHER; i++)
        assert_done(i);
}

static atomic_uint ended;

static void count_ended(warprsa_use_task *task)
{
    assert_true(task->is_late);
    atomic_fetch_add(&ended, 1);
}

static bool have_ended(const void *arg)
{
    return atomic_load(&ended) == *(const unsigned *)arg;
}

/* One more than its owner may have is late at once, and those before it are
 * late when they are. */
TEST_WITH(test_too_many, begin, end, (void *)&slow_ms)
{
    static const unsigned all = WARPRSA_USES_OF_OWNER_MAX + 1;
    warprsa_use_task *many = calloc(all, sizeof(*many));

    assert_non_null(many);
    set_away(1, true);
    set_away(2, true);
    atomic_store(&ended, 0);
    for (unsigned i = 0; i < all; i++) {
        many[i] = (warprsa_use_task){.owner = 7,
                                     .key = key,
                                     .use = &sign_pkcs1,
                                     .input = tasks[0].input,
                                     .number = tasks[0].number,
                                     .answer = tasks[0].answer,
                                     .done = count_ended};
        assert_true(warprsa_remote_uses_add(&many[i]));
        if (i % 32 == 0)
            warprsa_remote_uses_send();
    }
    warprsa_remote_uses_send();
    assert_int_equal(atomic_load(&ended), 1);
    assert_true(many[all - 1].is_late);
    wait_until(have_ended, &all);
    free(many);
}

/* Each host has a use. Host 1 is woken for one more, finds that the list does
 * not have it any more, and takes nothing. */
TEST_IN(test_woken_when_removed, begin_woken, end_woken)
{
    static const unsigned two = 2;
    unsigned of_second = 0;
    char why[200];

    ask(0, 7, &sign_pkcs1);
    expect_session(1);
    expect_session(2);
    usleep(100000); /* hosts that do not sleep yet show nothing here */
    ask(1, 7, &sign_pkcs1);
    wait_until(are_sent, &two);
    usleep(100000);
    of_second = fake.hosts[2].count;
    assert_true(warprsa_remote_hosts_set("b:2", why, sizeof(why)));
    ask(2, 7, &sign_pkcs1);
    expect_uses(2, of_second + 1);
    for (unsigned i = 0; i < 2 - of_second; i++)
        answer_right(1, i);
    for (unsigned i = 0; i <= of_second; i++)
        answer_right(2, i);
    for (unsigned i = 0; i < 3; i++)
        assert_done(i);
}

RUN_TESTS(set_up, tear_down)
