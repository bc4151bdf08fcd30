/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Several connections to a GPU host, with hosts that are played here: how many
 * there are, what they may have together, and what becomes of uses when one is
 * lost, hangs or lies.
 */
#include "tests/unit/remote/played_hosts.h"

#include <string.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/remote/uses/use_connection.h"

enum {
    ROOM = 6000,
    FURTHER_ROOM = 2000,
    MANY = 4000, /* uses: enough for all connections */
    CONNECTIONS = WARPRSA_USE_CONNECTIONS,
};

static const unsigned patient_ms = 20000;

static int begin_many(void **state)
{
    const int result = begin(state);

    for (unsigned i = 1; i <= HOSTS; i++) {
        fake.hosts[i].room = ROOM;
        fake.hosts[i].further_room = FURTHER_ROOM;
        fake.hosts[i].further_keys_max = fake.hosts[i].keys_max;
        fake.hosts[i].further_max = FURTHER;
    }
    return result;
}

static unsigned links_of(unsigned number)
{
    const struct fake_host *host = &fake.hosts[number];
    unsigned count = 0;

    pthread_mutex_lock(&fake.lock);
    count = host->link != NULL;
    for (unsigned i = 0; i < FURTHER; i++)
        count += host->further[i] != NULL;
    pthread_mutex_unlock(&fake.lock);
    return count;
}

static bool has_all(const void *arg)
{
    return links_of(*(const unsigned *)arg) == CONNECTIONS;
}

/* How many uses a host has got. */
static unsigned uses_of(unsigned number)
{
    unsigned count = 0;

    pthread_mutex_lock(&fake.lock);
    count = fake.hosts[number].count;
    pthread_mutex_unlock(&fake.lock);
    return count;
}

/* How many of a host's uses have come by a link, from the i-th on. */
static unsigned sent_by(unsigned number, const warprsa_link *link,
                        unsigned first)
{
    const struct fake_host *host = &fake.hosts[number];
    unsigned count = 0;

    pthread_mutex_lock(&fake.lock);
    for (unsigned i = first; i < host->count; i++)
        count += host->sent[i].link == link;
    pthread_mutex_unlock(&fake.lock);
    return count;
}

/* Whether so many sessions with host 1 have ended. */
static bool has_closed(const void *arg)
{
    unsigned closed = 0;

    pthread_mutex_lock(&fake.lock);
    closed = fake.hosts[1].closed;
    pthread_mutex_unlock(&fake.lock);
    return closed >= *(const unsigned *)arg;
}

static void ask_many(unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++)
        ask(i, 7, &sign_pss);
}

/* A use is denied, which takes no time. */
static void deny(unsigned number, unsigned i)
{
    answer(number, i, WARPRSA_REMOTE_DENIED, NULL, 0, WARPRSA_DENIED_DIGEST);
}

/* Host 1 alone is there, and has MANY uses by all connections, from the
 * MANY-th on. */
static void fill(void)
{
    static const unsigned one = 1;

    set_away(2, true);
    ask_many(0, MANY);
    wait_until(has_all, &one);
    expect_uses(1, MANY);
    for (unsigned i = 0; i < MANY; i++)
        deny(1, i);
    ask_many(0, MANY);
    expect_uses(1, 2 * MANY);
}

static void assert_each_once(void)
{
    for (unsigned i = 0; i < MANY; i++) {
        wait_until(is_done, &tasks[i]);
        assert_int_equal(tasks[i].done, 1);
        assert_int_equal(tasks[i].task.denial, WARPRSA_DENIED_DIGEST);
    }
}

/* One connection for little, several for much. Each is used, and has named the
 * key once. The log counts the host once. */
TEST_IN(test_grows, begin_many, end)
{
    set_away(2, true);
    ask_many(0, 100);
    expect_uses(1, 100);
    for (unsigned i = 0; i < 100; i++)
        deny(1, i);
    assert_int_equal(fake.hosts[1].further_asked, 0);
    lose(1);
    wait_until(is_closed, NULL);
    fill();
    assert_int_equal(links_of(1), CONNECTIONS);
    assert_in_range(sent_by(1, fake.hosts[1].link, MANY), 1, MANY);
    for (unsigned i = 0; i < CONNECTIONS - 1; i++)
        assert_in_range(sent_by(1, fake.hosts[1].further[i], MANY), 256,
                        FURTHER_ROOM);
    assert_int_equal(fake.hosts[1].keys, 1 + CONNECTIONS);
    for (unsigned i = MANY; i < 2 * MANY; i++)
        deny(1, i);
    assert_each_once();
    assert_int_equal(said("a:1: ready for uses of its keys"), 2);
    assert_int_equal(said("a:1: one more connection for uses"),
                     CONNECTIONS - 1);
}

/* What the host grants is for all connections together. */
TEST_IN(test_room, begin_many, end)
{
    set_away(2, true);
    fake.hosts[1].room = 1300;
    ask_many(0, MANY);
    expect_uses(1, 1300);
    usleep(100000);
    assert_int_equal(uses_of(1), 1300);
    assert_in_range(links_of(1), 2, CONNECTIONS);
    for (unsigned i = 0; i < MANY; i++) {
        expect_uses(1, i + 1);
        assert_in_range(uses_of(1), 0, 1300 + i);
        deny(1, i);
    }
    assert_each_once();
}

/* A host that grants no more connections is not asked for each use, and does
 * all by the first one. */
TEST_IN(test_refused, begin_many, end)
{
    set_away(2, true);
    fake.hosts[1].further_max = 0;
    ask_many(0, MANY);
    expect_uses(1, MANY);
    for (unsigned i = 0; i < MANY; i++)
        deny(1, i);
    assert_each_once();
    assert_in_range(fake.hosts[1].further_asked, 1, 3 * (CONNECTIONS - 1));
    assert_in_range(said("a:1: one connection fewer"), 1, CONNECTIONS - 1);
    assert_int_equal(counters->vault_remote_moved, 0);
}

/* A connection by which the host takes fewer keys than by the first is given
 * up: no use ends because it can't have the key. */
TEST_IN(test_fewer_keys, begin_many, end)
{
    set_away(2, true);
    fake.hosts[1].further_keys_max = 0;
    ask_many(0, MANY);
    expect_uses(1, MANY);
    for (unsigned i = 0; i < MANY; i++)
        deny(1, i);
    assert_each_once();
    assert_in_range(said("a:1: one connection fewer for uses: it takes fewer "
                         "keys than by the first connection\n"),
                    1, CONNECTIONS - 1);
}

/* So are those that are there, if the first one is made anew with more keys. */
TEST_IN(test_more_keys, begin_many, end)
{
    static const unsigned all = CONNECTIONS;

    fill();
    for (unsigned i = MANY; i < 2 * MANY; i++)
        deny(1, i);
    assert_each_once();
    fake.hosts[1].further_keys_max = ++fake.hosts[1].keys_max;
    lose(1);
    wait_until(has_closed, &all);
}

/* Denies what the host has by links other than a lost one, from the `first`-th
 * on. */
static void deny_all_but(const warprsa_link *lost, unsigned first,
                         unsigned count)
{
    for (unsigned i = first; i < count; i++)
        if (fake.hosts[1].sent[i].link != lost)
            deny(1, i);
}

/* What is under way by a connection that is lost, the host gets by the others:
 * each use is done once, and no other one has moved. */
TEST_IN(test_one_is_lost, begin_many, end)
{
    const warprsa_link *lost = NULL;
    unsigned moved = 0;

    fill();
    fake.hosts[1].further_max = 0; /* there is no other in its place */
    lost = fake.hosts[1].further[1];
    moved = sent_by(1, lost, MANY);
    assert_in_range(moved, 1, FURTHER_ROOM);
    lose_further(1, 1);
    expect_uses(1, 2 * MANY + moved);
    deny_all_but(lost, MANY, 2 * MANY + moved);
    assert_each_once();
    assert_int_equal(counters->vault_remote_moved, moved);
    assert_int_equal(links_of(1), CONNECTIONS - 1);
    assert_int_equal(said("a:1: no uses of its keys"), 0);
}

static bool has_count(const void *arg)
{
    return uses_of(1) >= *(const unsigned *)arg;
}

/* The same of the first one, which does not come back: the others go on. */
TEST_IN(test_first_is_lost, begin_many, end)
{
    const warprsa_link *first = NULL;
    unsigned all = 2 * MANY;

    fill();
    first = fake.hosts[1].link;
    all += sent_by(1, first, MANY);
    deny_all_but(first, MANY, 2 * MANY);
    set_away(1, true);
    lose(1);
    wait_until(has_count, &all);
    deny_all_but(first, 2 * MANY, all);
    assert_each_once();
    assert_int_equal(counters->vault_remote_moved, all - 2 * MANY);
    wait_until(is_closed, NULL);
    assert_int_equal(links_of(1), CONNECTIONS - 1);
}

/* A link of host 1 does not answer any more, while others do: they get what it
 * has. How many uses that were. */
static unsigned hang(const warprsa_link *hangs)
{
    const unsigned moved = sent_by(1, hangs, MANY);

    deny_all_but(hangs, MANY, 2 * MANY);
    /* What they have answered of that shows that the rest hangs, too. */
    for (unsigned i = 2 * MANY; i < 2 * MANY + moved; i++) {
        expect_uses(1, i + 1);
        assert_ptr_not_equal(fake.hosts[1].sent[i].link, hangs);
        deny(1, i);
    }
    assert_each_once();
    return moved;
}

TEST_WITH(test_one_hangs, begin_many, end, (void *)&patient_ms)
{
    const warprsa_link *hangs = NULL;
    unsigned moved = 0;

    fill();
    hangs = fake.hosts[1].further[1];
    moved = hang(hangs);
    assert_int_equal(counters->vault_remote_moved, moved);
    for (unsigned i = MANY; i < 2 * MANY; i++) /* late, and nobody's */
        if (fake.hosts[1].sent[i].link == hangs)
            deny(1, i);
    assert_each_once();
    assert_int_equal(links_of(1), CONNECTIONS);
}

/* Asks for the i-th use until it goes to host 1 by none of these links: those
 * that do not are denied. Where among the host's uses it is. */
static unsigned ask_by_other(unsigned i, warprsa_link *const *links,
                             unsigned count)
{
    unsigned at = 0, same = 1;

    while (same > 0) {
        at = uses_of(1);
        ask(i, 7, &sign_pss);
        expect_uses(1, at + 1);
        same = 0;
        for (unsigned j = 0; j < count; j++)
            same += fake.hosts[1].sent[at].link == links[j];
        if (same > 0) {
            deny(1, at);
            wait_until(is_done, &tasks[i]);
        }
    }
    return at;
}

/* One use by each of several connections. */
static void ask_by_each(unsigned count, unsigned at[CONNECTIONS])
{
    warprsa_link *links[CONNECTIONS];

    for (unsigned i = 0; i < count; i++) {
        at[i] = ask_by_other(i, links, i);
        links[i] = fake.hosts[1].sent[at[i]].link;
    }
}

/* Of three connections the second answers. What the first got before that hangs
 * there. What the third got afterwards may just take its time, and stays: sent
 * again, it would only be answered later. */
TEST_WITH(test_slow, begin_many, end, (void *)&patient_ms)
{
    static const unsigned one = 1;
    unsigned at[CONNECTIONS], again = 0;

    fill();
    for (unsigned i = MANY; i < 2 * MANY; i++)
        deny(1, i);
    assert_each_once();
    ask_by_each(CONNECTIONS, at); /* each has answered at once */
    for (unsigned i = 0; i < CONNECTIONS; i++)
        deny(1, at[i]);
    ask_by_each(3, at);
    again = uses_of(1);
    deny(1, at[1]);
    wait_until(have_moved, &one);
    expect_uses(1, again + 1);
    usleep(500000); /* the third has not answered for long enough, too */
    assert_int_equal(counters->vault_remote_moved, 1);
    deny(1, again);
    deny(1, at[2]);
    for (unsigned i = 0; i < 3; i++) {
        wait_until(is_done, &tasks[i]);
        assert_int_equal(tasks[i].done, 1);
    }
    assert_int_equal(uses_of(1), again + 1);
}

/* The host has lost all connections, maybe but for one that hangs, and is there
 * again by the first one: it gets uses. */
static void assert_is_used(unsigned closed)
{
    wait_until(has_closed, &closed);
    ask(0, 7, &sign_pss);
    expect_uses(1, 1);
    deny(1, 0);
    wait_until(is_done, &tasks[0]);
}

TEST_WITH(test_hung_and_closed, begin_many, end, (void *)&patient_ms)
{
    fill();
    fake.hosts[1].further_max = 0; /* there are no others in their place */
    (void)hang(fake.hosts[1].further[1]);
    for (unsigned i = 0; i < CONNECTIONS - 1; i++)
        lose_further(1, i);
    lose(1);
    assert_is_used(CONNECTIONS);
}

TEST_WITH(test_hangs_on, begin_many, end, (void *)&patient_ms)
{
    fill();
    fake.hosts[1].further_max = 0;
    (void)hang(fake.hosts[1].further[1]);
    lose_further(1, 0);
    lose_further(1, 2);
    lose(1);
    assert_is_used(CONNECTIONS - 1);
}

/* Has many uses sent, and keeps the host from new sessions. Returns one of
 * those that went by its first further session. */
static unsigned fill_and_find_further(void)
{
    unsigned i = MANY;

    fill();
    while (fake.hosts[1].sent[i].link != fake.hosts[1].further[0])
        i++;
    set_away(1, true);
    return i;
}

static bool has_none(const void *arg)
{
    return links_of(*(const unsigned *)arg) == 0;
}

/* A wrong signature by one connection: no session with the host is left, and
 * another host has all of its uses. It is one host in counters and log. */
TEST_IN(test_one_lies, begin_many, end)
{
    static const unsigned one = 1;
    const uint8_t wrong[BYTES] = {[BYTES - 1] = 2};
    unsigned i = fill_and_find_further();

    answer(1, i, WARPRSA_REMOTE_OK, wrong, BYTES, WARPRSA_ALLOWED);
    wait_until(has_none, &one);
    set_away(2, false);
    expect_uses(2, MANY);
    for (i = 0; i < MANY; i++)
        deny(2, i);
    assert_each_once();
    assert_int_equal(counters->vault_remote_wrong, 1);
    assert_int_equal(said("a:1: no uses of its keys: a signature is wrong\n"),
                     1);
}

static bool is_called_liar(const void *arg)
{
    (void)arg;
    return said("a:1: no uses of its keys: a signature is wrong\n") == 1;
}

/* A host that drops the first connection before it lies by another one is left
 * alone as one that lies by the first. */
TEST_IN(test_lies_without_first, begin_many, end)
{
    static const unsigned one = 1;
    const uint8_t wrong[BYTES] = {[BYTES - 1] = 2};
    unsigned i = fill_and_find_further();

    lose(1);
    wait_until(is_closed, NULL);
    answer(1, i, WARPRSA_REMOTE_OK, wrong, BYTES, WARPRSA_ALLOWED);
    wait_until(has_none, &one);
    wait_until(is_called_liar, NULL);
    assert_int_equal(counters->vault_remote_wrong, 1);
}

RUN_TESTS(set_up, tear_down)
