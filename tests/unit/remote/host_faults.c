/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * GPU hosts at fault, with hosts that are played here: what they may cost
 * others in time under the lock, in sessions, in places and in lines of the
 * log.
 */
#include "tests/unit/remote/played_hosts.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <openssl/x509.h>

#include "batching/base/clock.h"
#include "batching/remote/uses/use_pause.h"
#include "batching/vault/vault_reading.h"

/* ---- Many results in a message ---- */

enum {
    MANY = TASKS,
    AT_ONCE = 256,
    MESSAGES = MANY / AT_ONCE,
    LOOKED_AT = 8, /* messages */
};

static uint64_t cpu_ns(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return (uint64_t)now.tv_sec * WARPRSA_NS_PER_SEC + (uint64_t)now.tv_nsec;
}

/* A host answers so many of its uses in one message. How much processor time
 * that takes. */
static uint64_t answer_many(unsigned number, unsigned first, unsigned count,
                            warprsa_remote_status status, warprsa_denial denial)
{
    static warprsa_remote_response response;
    uint64_t begin_ns = 0;

    response = (warprsa_remote_response){.kind = WARPRSA_REMOTE_RESULTS,
                                         .count = count};
    pthread_mutex_lock(&fake.lock);
    for (unsigned i = 0; i < count; i++)
        response.result[i] =
            (warprsa_remote_result){.id = fake.hosts[number].sent[first + i].id,
                                    .status = status,
                                    .denial = denial};
    pthread_mutex_unlock(&fake.lock);
    begin_ns = cpu_ns();
    respond(number, &response);
    return cpu_ns() - begin_ns;
}

/* What the machine does meanwhile makes some of them longer. */
static uint64_t least(const uint64_t times[LOOKED_AT])
{
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < LOOKED_AT; i++)
        if (times[i] < least)
            least = times[i];
    return least;
}

/* A host refuses thousands of uses, those with the latest deadline first. What
 * a message costs does not depend on how many uses are older: the first ones
 * have thousands of these, the last ones few. */
TEST_IN(test_refuses_many, begin, end)
{
    uint64_t times[MESSAGES];

    set_away(1, true);
    set_away(2, true);
    fake.hosts[1].room = fake.hosts[2].room = MANY;
    for (unsigned i = 0; i < MANY; i++)
        ask(i, 7, &sign_pss);
    set_away(1, false);
    expect_uses(1, MANY);
    for (unsigned i = 0; i < MESSAGES; i++)
        times[i] = answer_many(1, MANY - (i + 1) * AT_ONCE, AT_ONCE,
                               WARPRSA_REMOTE_FAILED, WARPRSA_ALLOWED);
    assert_in_range(least(times), 0, 20 * least(times + MESSAGES - LOOKED_AT));
    set_away(2, false);
    expect_uses(2, MANY);
    for (unsigned i = 0; i < MESSAGES; i++)
        (void)answer_many(2, i * AT_ONCE, AT_ONCE, WARPRSA_REMOTE_DENIED,
                          WARPRSA_DENIED_DIGEST);
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(tasks[i].done, 1);
        assert_int_equal(tasks[i].task.denial, WARPRSA_DENIED_DIGEST);
    }
}

/* ---- Answers that are checked eight at a time ---- */

/* Signatures with PSS, of which one is wrong by a bit and two are exchanged,
 * between others with PKCS #1 and decryptions without a padding, of which one
 * is wrong by a bit, too. Each right one is released and no other one. */
TEST_IN(test_many_answers, begin, end)
{
    static const warprsa_key_use *const uses[] = {&sign_pss, &sign_pkcs1,
                                                  &sign_pss, &decrypt_raw};
    enum {
        ASKED = 40,
        WRONG = 6,
        WRONG_RAW = 15,
        EXCHANGED = 20,
    };
    static warprsa_remote_response response;
    static uint8_t right[ASKED][BYTES];
    unsigned moved = 0;

    fake.has_ifma = true;
    set_away(2, true);
    for (unsigned i = 0; i < ASKED; i++)
        ask(i, 7, uses[i % 4]);
    expect_uses(1, ASKED);
    response = (warprsa_remote_response){.kind = WARPRSA_REMOTE_RESULTS,
                                         .count = ASKED};
    for (unsigned i = 0; i < ASKED; i++) {
        compute_right(1, i, right[i]);
        response.result[i] =
            (warprsa_remote_result){.id = fake.hosts[1].sent[i].id,
                                    .status = WARPRSA_REMOTE_OK,
                                    .bytes = BYTES,
                                    .output = right[i]};
    }
    right[WRONG][BYTES - 1] ^= 1;
    right[WRONG_RAW][BYTES - 1] ^= 1;
    response.result[EXCHANGED].output = right[EXCHANGED + 2];
    response.result[EXCHANGED + 2].output = right[EXCHANGED];
    set_away(1, true);
    respond(1, &response);
    assert_int_equal(fake.powers, 20);
    for (unsigned i = 0; i < ASKED; i++)
        if (i == WRONG || i == WRONG_RAW || i == EXCHANGED ||
            i == EXCHANGED + 2) {
            assert_int_equal(tasks[i].done, 0);
            moved++;
        } else {
            assert_done(i);
        }
    assert_int_equal(counters->vault_remote_wrong, moved);
    set_away(2, false);
    expect_uses(2, moved);
    for (unsigned i = 0; i < moved; i++)
        answer_right(2, i);
    for (unsigned i = 0; i < ASKED; i++)
        assert_done(i);
}

/* ---- Places ---- */

static void set_hosts(const char *text)
{
    char why[200];

    assert_true(warprsa_remote_hosts_set(text, why, sizeof(why)));
    warprsa_remote_uses_look();
}

/* A host that was removed and withholds a result: its place, and what it had,
 * go to another one. */
TEST_WITH(test_removed_withholds, begin, end, (void *)&hang_ms)
{
    set_hosts("a:1");
    ask(0, 7, &sign_pkcs1);
    ask(1, 7, &sign_pkcs1);
    expect_uses(1, 2);
    answer_right(1, 0);
    assert_done(0);
    set_hosts("b:2");
    expect_uses(2, 1);
    assert_int_equal(fake.hosts[1].closed, 1);
    answer_right(2, 0);
    assert_done(1);
}

/* Whether the last use that host 1 has got is that of a task. */
static bool has_last(const void *arg)
{
    const struct fake_host *host = &fake.hosts[1];
    bool has = false;

    pthread_mutex_lock(&fake.lock);
    has = host->count > 0 && memcmp(host->sent[host->count - 1].input,
                                    ((const asked *)arg)->input, 20) == 0;
    pthread_mutex_unlock(&fake.lock);
    return has;
}

/* A host that was removed and is back, before it has answered, gets uses in a
 * new session. */
TEST_IN(test_removed_and_back, begin, end)
{
    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    expect_uses(1, 1);
    set_hosts("b:2");
    usleep(100000); /* a host that has not seen it shows nothing here */
    set_hosts("a:1 b:2");
    ask(1, 7, &sign_pkcs1);
    answer_right(1, 0);
    assert_done(0);
    wait_until(has_last, &tasks[1]);
    answer_right(1, fake.hosts[1].count - 1);
    assert_done(1);
}

/* ---- Keys ---- */

/* A host says one thing of each key that it was told of. */
TEST_IN(test_key_loaded_unasked, begin, end)
{
    const warprsa_remote_response loaded = {.kind = WARPRSA_REMOTE_KEY_LOADED};

    set_away(2, true);
    ask(0, 7, &sign_pkcs1);
    expect_uses(1, 1);
    respond(1, &loaded);
    answer_right(1, 0);
    assert_done(0);
    assert_int_equal(fake.hosts[1].closed, 0);
    ask(1, 7, &sign_pkcs1);
    expect_uses(1, 2);
    set_away(1, true);
    respond(1, &loaded);
    wait_until(is_closed, NULL);
    set_away(1, false);
    expect_uses(1, 1);
    answer_right(1, 0);
    assert_done(1);
    assert_non_null(strstr(fake.log, "a:1: no uses of its keys: it speaks of a "
                                     "key that it was not told of"));
}

/* ---- Lines of the log ---- */

enum {
    KEYS = 60
};

/* Gives the vault that many keys, of moduli that nobody has the primes of. */
static void add_keys(void)
{
    static warprsa_remote_key remote;
    warprsa_vault_reading reading;
    unsigned char *at = NULL;

    warprsa_vault_reading_init(&reading, warprsa_vault_means_of(vault));
    for (unsigned i = 0; i < KEYS; i++) {
        remote = (warprsa_remote_key){0};
        at = remote.spki;
        snprintf(remote.name, sizeof(remote.name), "k%u", i);
        remote.spki_bytes = (uint32_t)i2d_PUBKEY(pkey, &at);
        remote.spki[remote.spki_bytes / 2] = (uint8_t)i;
        assert_true(warprsa_vault_reading_add_remote(&reading, &remote));
    }
    assert_true(warprsa_vault_replace(vault, &reading));
}

static unsigned left_out(void)
{
    static const char text[] = " lines about one GPU host were left out";
    unsigned count = 0;

    pthread_mutex_lock(&fake.lock);
    for (const char *at = fake.log; (at = strstr(at, text)) != NULL; at++) {
        const char *number = at;

        while (number > fake.log && number[-1] != '\n')
            number--;
        count += (unsigned)atoi(number);
    }
    pthread_mutex_unlock(&fake.lock);
    return count;
}

static bool all_are_said(const void *arg)
{
    return said("does not have it") + left_out() == *(const unsigned *)arg;
}

/* A host says of many keys at once that it does not have them. The log has some
 * lines of it, and how many there are not. */
TEST_IN(test_log, begin, end)
{
    static const unsigned all = KEYS;
    warprsa_vault_key *const before = key;
    char name[16];

    add_keys();
    set_away(2, true);
    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(name, sizeof(name), "k%u", i);
        key = warprsa_vault_find_name(vault, name);
        assert_non_null(key);
        ask(i, 7, &sign_pss);
        warprsa_vault_key_release(key);
    }
    key = before;
    expect_uses(1, KEYS);
    (void)answer_many(1, 0, KEYS, WARPRSA_REMOTE_DENIED, WARPRSA_DENIED_NO_KEY);
    wait_until(all_are_said, &all);
    assert_in_range(left_out(), 1, KEYS);
    set_away(2, false);
    expect_uses(2, KEYS);
    (void)answer_many(2, 0, KEYS, WARPRSA_REMOTE_DENIED, WARPRSA_DENIED_DIGEST);
}

/* ---- Sessions ---- */

static unsigned pause_after(warprsa_use_pause *pause, bool answered, bool wrong,
                            unsigned lasted_ms)
{
    const warprsa_use_session session = {
        answered, wrong, lasted_ms * (uint64_t)WARPRSA_NS_PER_MS};

    return warprsa_use_pause_after(pause, &session);
}

/* A host that answers one use in each session. */
TEST(test_short_sessions)
{
    static const unsigned expected[] = {100,  200,  400,  800,
                                        1600, 3200, 5000, 5000};
    warprsa_use_pause pause = {0};

    for (unsigned i = 0; i < sizeof(expected) / sizeof(*expected); i++)
        assert_int_equal(pause_after(&pause, true, false, 999), expected[i]);
    /* One that answers nothing, for as long as it likes. */
    assert_int_equal(pause_after(&pause, false, false, 100000), 5000);
    assert_int_equal(pause_after(&pause, true, false, 1000), 0);
    assert_int_equal(pause_after(&pause, true, false, 999), 100);
}

/* A host that lies in one session and not in the next one. */
TEST(test_ban)
{
    static const unsigned expected[] = {1000,  2000,  4000,  8000,
                                        16000, 32000, 60000, 60000};
    warprsa_use_pause pause = {0};

    for (unsigned i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        assert_int_equal(pause_after(&pause, true, true, 100000), expected[i]);
        assert_int_equal(pause_after(&pause, true, false, 59999), 0);
    }
    assert_int_equal(pause_after(&pause, false, false, 60000), 100);
    assert_int_equal(pause_after(&pause, true, true, 0), 60000);
    assert_int_equal(pause_after(&pause, true, false, 60000), 0);
    assert_int_equal(pause_after(&pause, true, true, 0), 1000);
}

RUN_TESTS(set_up, tear_down)
