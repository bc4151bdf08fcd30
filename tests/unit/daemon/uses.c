/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uses of keys of the daemon's vault, by the provider's client: answers,
 * denials, keys that the vault removes, and a daemon that is away, starts again
 * or has too much to do.
 */
#include "tests/unit/daemon/uses_fixture.h"

#include "batching/daemon/client/client_state.h"

enum {
    SLOTS = 64,   /* of a session */
    NUMBERS = 16, /* of keys */
};

TEST_IN(uses_are_answered_and_counted, begin, end)
{
    const warprsa_counters *counters = s.queue_config.counters;

    done(KEY, &sign_pss);
    done(KEY, &sign_raw);
    done(KEY, &decrypt);
    done(2, &decrypt);
    assert_int_equal(fake_vault.uses, 4);
    assert_int_equal(fake_vault.computed, 0);
    assert_int_equal(g.counters->gpu[WARPRSA_CLASS_1024], 4);
    assert_int_equal(g.counters->vault_uses, 4);
    assert_int_equal(counters->gpu[WARPRSA_CLASS_1024], 4);
    assert_int_equal(counters->vault_uses, 4);
    assert_int_equal(counters->vault_libcrypto, 0);
    assert_int_equal(counters->vault_denials, 0);
}

/* Who only uses keys of the vault is told which device computes, as others. */
TEST_IN(the_device_is_named, begin, end)
{
    char device[WARPRSA_COUNTERS_TEXT];

    WAIT_UNTIL(s.queue_config.counters->devices == 1);
    done(KEY, &sign_pss);
    warprsa_counters_device(g.counters, device);
    assert_non_null(strstr(device, ", by warprsad"));
    assert_int_equal(g.counters->devices, 1);
}

/* A key of the client's own beside. */
TEST_IN(ordinary_requests_in_the_same_session, begin, end)
{
    warprsa_backend_key *own = test_client_key(&g, WARPRSA_CLASS_2048, 1);

    WAIT_UNTIL(test_client_is_ready(&g));
    for (unsigned i = 0; i < 70; i++) { /* each slot serves both */
        test_client_operate(&g, own, WARPRSA_CLASS_2048, 1, i);
        done(KEY, &sign_pss);
    }
    assert_int_equal(g.counters->vault_uses, 70);
    assert_int_equal(g.counters->gpu[WARPRSA_CLASS_2048], 70);
    backend->key_release(own);
}

TEST_IN(what_no_engine_takes, begin, end)
{
    done(FAKE_VAULT_LARGE, &decrypt_large);
    assert_int_equal(fake_vault.computed, 1);
    assert_int_equal(s.queue_config.counters->vault_libcrypto, 1);
    assert_int_equal(g.counters->vault_libcrypto, 1);
    assert_int_equal(g.counters->vault_uses, 1);
}

/* What takes long after the private operation does not hold up the event
 * loop, unless the threads have too much to do. */
TEST_IN(slow_paddings, begin, end)
{
    fake_vault.slow = true;
    done(KEY, &decrypt);
    assert_int_equal(fake_vault.computed, 1);
    fake_vault.compute_full = true;
    done(KEY, &decrypt);
    assert_int_equal(fake_vault.computed, 1);
    assert_int_equal(fake_vault.finished, 4); /* two of them by is_right() */
    assert_int_equal(g.counters->gpu[WARPRSA_CLASS_1024], 2);
    assert_int_equal(g.counters->vault_libcrypto, 0);
}

/* The queue refuses, at once or in the end. */
TEST_IN(what_the_queue_refuses, begin, end)
{
    done(KEY, &sign_pss);
    FAKE_SET(bad_checks, 1);
    done(KEY, &decrypt);
    assert_int_equal(g.counters->vault_libcrypto, 1);
    fake_lose_device();
    FAKE_SET(open_failures, UINT32_MAX);
    WAIT_UNTIL(warprsa_queue_wait_ready(s.queue, 0) == WARPRSA_QUEUE_DOWN ||
               (done(KEY, &sign_raw), false));
    done(KEY, &sign_pss);
    assert_true(g.counters->vault_libcrypto >= 2);
    assert_int_equal(g.counters->vault_uses,
                     s.queue_config.counters->vault_uses);
}

TEST_IN(denials_have_their_reason, begin, end)
{
    warprsa_client_use use;
    char why[300];

    for (uint32_t denial = WARPRSA_DENIED_NO_KEY; denial < WARPRSA_DENIALS;
         denial++) {
        /* Whom no rule names is not told that there is such a key. */
        const uint32_t told =
            denial == WARPRSA_DENIED_USER ? WARPRSA_DENIED_NO_KEY : denial;

        fake_vault.denial = denial;
        assert_int_equal(use_key(&use, KEY, &sign_pss), WARPRSA_USE_DENIED);
        assert_int_equal(use.denial, told);
        warprsa_client_use_why(g.client, &use, WARPRSA_USE_DENIED, why,
                               sizeof(why));
        assert_non_null(strstr(why, warprsa_denial_text(told)));
        assert_non_null(strstr(why, s.path));
    }
    assert_int_equal(fake_vault.denials, WARPRSA_DENIALS - 1);
    assert_int_equal(g.counters->vault_denials, WARPRSA_DENIALS - 1);
    assert_int_equal(s.queue_config.counters->vault_denials,
                     WARPRSA_DENIALS - 1);
    fake_vault.denial = WARPRSA_ALLOWED;
    done(KEY, &sign_pss);
}

TEST_IN(a_key_that_the_vault_has_not, begin, end)
{
    warprsa_client_use use;

    assert_int_equal(use_key(&use, FAKE_VAULT_KEYS, &sign_pss),
                     WARPRSA_USE_DENIED);
    assert_int_equal(use.denial, WARPRSA_DENIED_NO_KEY);
    assert_int_equal(s.queue_config.counters->vault_denials, 1);
    assert_true(test_server_logged(&s, "a key that the vault has not"));
    done(KEY, &sign_pss);
}

/* A program may have more keys than a session: all of them serve in turn. */
TEST_IN(more_keys_than_numbers, begin, end)
{
    warprsa_backend_key *keys[MANY_KEYS];

    for (unsigned i = 0; i < MANY_KEYS; i++)
        keys[i] = vault_key(i);
    for (unsigned i = 0; i < 3 * MANY_KEYS; i++)
        done(i % MANY_KEYS, &sign_pss);
    done(MANY_KEYS - 1, &sign_pss); /* which has its number yet */
    assert_int_equal(g.counters->keys_loaded, 3 * MANY_KEYS);
    for (unsigned i = 0; i < MANY_KEYS; i++)
        backend->key_release(keys[i]);
}

/* While all slots are taken a use that waits for one takes no key's number,
 * however often it tries. */
TEST_IN(more_uses_than_slots, begin, end)
{
    warprsa_client_use uses[SLOTS + 1];
    warprsa_backend_key *keys[NUMBERS + 1];

    for (unsigned i = 0; i <= NUMBERS; i++)
        keys[i] = vault_key(i);
    FAKE_SET(hold, true);
    for (unsigned i = 0; i < SLOTS; i++) {
        warprsa_client_use_begin(g.client, &uses[i], keys[i % NUMBERS],
                                 &sign_pss, input);
        WAIT_UNTIL(warprsa_client_use_go_on(g.client, &uses[i], 0, output) ==
                       WARPRSA_USE_PENDING &&
                   uses[i].is_submitted);
    }
    assert_int_equal(g.counters->keys_loaded, NUMBERS);
    warprsa_client_use_begin(g.client, &uses[SLOTS], keys[NUMBERS], &sign_pss,
                             input);
    for (unsigned i = 0; i < SLOTS; i++) {
        uses[SLOTS].wake_ns = 0; /* at once */
        assert_int_equal(
            warprsa_client_use_go_on(g.client, &uses[SLOTS], 0, output),
            WARPRSA_USE_PENDING);
        assert_false(uses[SLOTS].is_submitted);
    }
    assert_int_equal(g.counters->keys_loaded, NUMBERS);
    assert_int_equal(g.counters->keys_wiped, 0);
    FAKE_SET(hold, false);
    for (unsigned i = 0; i <= SLOTS; i++) {
        assert_int_equal(warprsa_client_use_wait(g.client, &uses[i], output),
                         WARPRSA_USE_DONE);
        is_right(&uses[i], i < SLOTS ? i % NUMBERS : NUMBERS, &sign_pss);
    }
    assert_true(g.counters->keys_loaded > NUMBERS); /* the control */
    for (unsigned i = 0; i <= NUMBERS; i++)
        backend->key_release(keys[i]);
}

/* A key whose number was taken away while its use is under way. */
TEST_IN(more_uses_than_numbers, begin, end)
{
    warprsa_backend_key *keys[MANY_KEYS];
    warprsa_client_use uses[MANY_KEYS];

    FAKE_SET(hold, true);
    for (unsigned i = 0; i < MANY_KEYS; i++) {
        keys[i] = vault_key(i);
        warprsa_client_use_begin(g.client, &uses[i], keys[i], &sign_pss, input);
        WAIT_UNTIL(warprsa_client_use_go_on(g.client, &uses[i], 0, output) ==
                       WARPRSA_USE_PENDING &&
                   uses[i].is_submitted);
    }
    FAKE_SET(hold, false);
    for (unsigned i = 0; i < MANY_KEYS; i++) {
        assert_int_equal(warprsa_client_use_wait(g.client, &uses[i], output),
                         WARPRSA_USE_DONE);
        is_right(&uses[i], i, &sign_pss);
        backend->key_release(keys[i]);
    }
}

/* The rules are asked about this process, as the kernel names it. */
TEST_IN(who_uses_a_key, begin, end)
{
    done(KEY, &sign_pss);
    assert_int_equal(fake_vault.user.uid, getuid());
    assert_int_equal(fake_vault.user.gid, getgid());
    assert_int_equal(fake_vault.user.pid, getpid());
    assert_int_equal(fake_vault.user.group_count, getgroups(0, NULL));
    assert_string_equal(fake_vault.identity, "");
}

TEST_IN(what_has_no_result, begin, end)
{
    warprsa_client_use use;

    fake_vault.bad = true;
    assert_int_equal(use_key(&use, KEY, &sign_pss), WARPRSA_USE_FAILED);
    assert_int_equal(use.errors.codes[0], 17);
    assert_int_equal(use_key(&use, KEY, &decrypt), WARPRSA_USE_FAILED);
    assert_int_equal(use.errors.codes[0], 18);
    fake_vault.slow = true;
    assert_int_equal(use_key(&use, KEY, &decrypt), WARPRSA_USE_FAILED);
    /* GPU hosts are not asked for a signature that can't be made, nor for the
     * power of a number that is too large. */
    fake_vault.computed = 0;
    fake_vault.remote = true;
    assert_int_equal(use_key(&use, KEY, &sign_pss), WARPRSA_USE_FAILED);
    assert_int_equal(use.errors.codes[0], 17);
    assert_int_equal(use_key(&use, KEY, &decrypt_raw), WARPRSA_USE_FAILED);
    assert_int_equal(use.errors.codes[0], 17);
    assert_int_equal(fake_vault.computed, 0);
    assert_int_equal(use_key(&use, KEY, &decrypt), WARPRSA_USE_FAILED);
    assert_int_equal(use.errors.codes[0], 18);
    assert_int_equal(fake_vault.computed, 1);
    fake_vault.remote = false;
    fake_vault.bad = false;
    assert_int_equal(s.queue_config.counters->vault_uses, 0);
    done(KEY, &decrypt);
}

/* No field of a use is believed. Nothing of it is asked of the rules. */
TEST_IN(headers_without_sense, begin, end)
{
    warprsa_key_use headers[] = {sign_pss, sign_pss, sign_pss, decrypt,
                                 sign_raw};
    warprsa_client_use use;

    headers[0].operation = 9;
    headers[1].label_bytes = 1;
    headers[2].salt_bytes = INT32_MIN;
    headers[3].padding = WARPRSA_PADDING_PSS;
    headers[4].input_bytes = SMALL - 1;
    for (unsigned i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
        assert_int_equal(use_key(&use, KEY, &headers[i]), WARPRSA_USE_FAILED);
    assert_int_equal(fake_vault.uses + fake_vault.denials, 0);
}

/* A raw number that is not below the modulus is none for an engine. */
TEST_IN(a_number_above_the_modulus, begin, end)
{
    warprsa_client_use use;

    memset(input, 0xff, SMALL);
    assert_int_equal(use_key(&use, KEY, &sign_raw), WARPRSA_USE_DONE);
    assert_int_equal(fake_vault.computed, 1); /* libcrypto says what is wrong */
}

/* An idle client lets go of a key once the vault removes it, and its next use
 * is denied. One that asks for it meanwhile does so, too. */
TEST_IN(keys_that_are_removed, begin, end)
{
    warprsa_backend_key *key = vault_key(KEY), *other = vault_key(2);
    warprsa_client_use use;

    done(KEY, &sign_pss);
    done(2, &sign_pss);
    assert_int_equal(s.queue_config.counters->keys, 2);
    fake_vault_remove(KEY);
    WAIT_UNTIL(fake_vault_removed_references() == 0);
    WAIT_UNTIL(s.queue_config.counters->keys == 1);
    assert_int_equal(use_key(&use, KEY, &sign_pss), WARPRSA_USE_DENIED);
    assert_int_equal(use.denial, WARPRSA_DENIED_NO_KEY);
    done(2, &sign_pss);
    backend->key_release(key);
    backend->key_release(other);
}

/* What is under way ends as it began. */
TEST_IN(a_key_is_removed_meanwhile, begin, end)
{
    warprsa_backend_key *key = vault_key(KEY);
    warprsa_client_use use;

    done(KEY, &decrypt);
    FAKE_SET(hold, true);
    warprsa_client_use_begin(g.client, &use, key, &decrypt, input);
    while (fake_vault.uses == 1)
        assert_int_equal(warprsa_client_use_go_on(g.client, &use, 0, output),
                         WARPRSA_USE_PENDING);
    fake_vault_remove(KEY);
    WAIT_UNTIL(fake_vault_removed_references() == 1);
    FAKE_SET(hold, false);
    assert_int_equal(warprsa_client_use_wait(g.client, &use, output),
                     WARPRSA_USE_DONE);
    is_right(&use, KEY, &decrypt);
    WAIT_UNTIL(fake_vault_references() == 0);
    backend->key_release(key);
}

/* ---- A daemon that is away ---- */

TEST_WITH(nobody_answers, begin, end, &short_ms)
{
    warprsa_client_use use;
    char why[300];

    test_server_stop(&s);
    assert_int_equal(use_key(&use, KEY, &sign_pss), WARPRSA_USE_LATER);
    assert_int_equal(g.counters->vault_late, 1);
    warprsa_client_use_why(g.client, &use, WARPRSA_USE_LATER, why, sizeof(why));
    assert_non_null(strstr(why, s.path));
    test_server_start(&s);
}

/* The deadline ends what a held engine does not. */
TEST_WITH(too_late, begin, end, &short_ms)
{
    warprsa_client_use use;

    FAKE_SET(hold, true);
    assert_int_equal(use_key(&use, KEY, &sign_pss), WARPRSA_USE_LATER);
    assert_int_equal(g.counters->vault_late, 1);
}

/* The daemon's own threads have too much to do, and then not. */
TEST_IN(refused_for_now, begin, end)
{
    warprsa_backend_key *key = vault_key(FAKE_VAULT_LARGE);
    warprsa_client_use use;

    fake_vault.compute_full = true;
    warprsa_client_use_begin(g.client, &use, key, &decrypt_large, input);
    while (fake_vault.uses < 3)
        assert_int_equal(warprsa_client_use_go_on(g.client, &use, 0, output),
                         WARPRSA_USE_PENDING);
    fake_vault.compute_full = false;
    assert_int_equal(warprsa_client_use_wait(g.client, &use, output),
                     WARPRSA_USE_DONE);
    is_right(&use, FAKE_VAULT_LARGE, &decrypt_large);
    backend->key_release(key);
}

/* Goes on with a use until the daemon has had it asked again so often. */
static void refuse_times(warprsa_client_use *use, unsigned times)
{
    while (times > 0) {
        const bool was_submitted = use->is_submitted;

        assert_int_equal(warprsa_client_use_go_on(g.client, use, 0, output),
                         WARPRSA_USE_PENDING);
        times -= was_submitted && !use->is_submitted;
    }
}

/* After a start the keys come later than the client: it asks again, and a
 * question for a name is not answered yet. */
TEST_IN(before_the_keys_have_come, begin, end)
{
    warprsa_backend_key *key = vault_key(KEY);
    warprsa_client_use use;
    warprsa_key_lookup lookup;
    warprsa_key_message found;
    char why[300];

    fake_vault.empty = true;
    warprsa_client_use_begin(g.client, &use, key, &sign_pss, input);
    refuse_times(&use, 3);
    assert_true(warprsa_key_lookup_open(
        &lookup, s.path, warprsa_clock_ns() + LONG_MS * WARPRSA_NS_PER_MS, why,
        sizeof(why)));
    assert_int_equal(
        warprsa_key_lookup_name(&lookup, "key07", &found, why, sizeof(why)),
        WARPRSA_KEY_UNKNOWN);
    warprsa_key_lookup_close(&lookup);
    fake_vault.empty = false;
    assert_int_equal(warprsa_client_use_wait(g.client, &use, output),
                     WARPRSA_USE_DONE);
    is_right(&use, KEY, &sign_pss);
    assert_int_equal(s.queue_config.counters->vault_denials, 0);
    assert_int_equal(test_server_broken(&s), 0);
    backend->key_release(key);
}

/* Keys that have come are used before all have. Only then one that is not there
 * is denied. */
TEST_IN(while_the_keys_come, begin, end)
{
    warprsa_backend_key *key = vault_key(FAKE_VAULT_KEYS);
    warprsa_client_use use;

    fake_vault.partial = true;
    done(KEY, &sign_pss);
    warprsa_client_use_begin(g.client, &use, key, &sign_pss, input);
    refuse_times(&use, 3);
    assert_int_equal(s.queue_config.counters->vault_denials, 0);
    fake_vault.partial = false;
    assert_int_equal(warprsa_client_use_wait(g.client, &use, output),
                     WARPRSA_USE_DENIED);
    assert_int_equal(use.denial, WARPRSA_DENIED_NO_KEY);
    backend->key_release(key);
}

/* A task that waits too long there is no failure of the use. */
TEST_IN(late_for_now, begin, end)
{
    fake_vault.late = 2;
    done(FAKE_VAULT_LARGE, &decrypt_large);
    assert_int_equal(fake_vault.computed, 3);
    assert_int_equal(fake_vault.uses, 3);
    assert_int_equal(fake_vault.given_back, 2);
    assert_int_equal(fake_vault.given_back_lines, 1 + 2);
    assert_int_equal(g.counters->vault_uses, 1);
}

typedef struct worker {
    unsigned number, right;
    atomic_bool *stop;
} worker;

static void *use_often(void *arg)
{
    worker *w = arg;
    warprsa_backend_key *key = vault_key(w->number % 3);

    while (!atomic_load(w->stop)) {
        uint8_t mine[SMALL], wanted[SMALL];
        warprsa_client_use use;

        warprsa_client_use_begin(g.client, &use, key, &sign_pss, input);
        if (warprsa_client_use_wait(g.client, &use, mine) != WARPRSA_USE_DONE)
            break;
        (void)fake_vault_answer(w->number % 3, &sign_pss, input, wanted);
        if (memcmp(mine, wanted, SMALL) != 0)
            break;
        w->right++;
    }
    backend->key_release(key);
    return NULL;
}

/* No use fails, and none has a wrong answer. */
TEST_IN(restarts_under_load, begin, end)
{
    const struct timespec nap = {0, 30000000};
    pthread_t threads[THREADS];
    worker workers[THREADS];
    atomic_bool stop = false;

    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (worker){.number = i, .stop = &stop};
        assert_int_equal(
            pthread_create(&threads[i], NULL, use_often, &workers[i]), 0);
    }
    for (unsigned i = 0; i < RESTARTS; i++) {
        const uint64_t before = g.counters->vault_uses;

        WAIT_UNTIL(g.counters->vault_uses > before + THREADS);
        test_server_stop(&s);
        nanosleep(&nap, NULL);
        test_server_start(&s);
    }
    WAIT_UNTIL(warprsa_server_clients(s.server) == 1);
    stop = true;
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(workers[i].right > 0);
    }
    assert_int_equal(g.counters->vault_late, 0);
    assert_int_equal(g.counters->vault_denials, 0);
}

/* The client begins before the daemon. */
TEST_IN(the_daemon_comes_later, begin, end)
{
    warprsa_backend_key *key = vault_key(KEY);
    warprsa_client_use use;

    test_server_stop(&s);
    warprsa_client_use_begin(g.client, &use, key, &sign_pss, input);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(warprsa_client_use_go_on(g.client, &use, 0, output),
                         WARPRSA_USE_PENDING);
    assert_true(use.wake_ns <= use.until_ns);
    test_server_start(&s);
    assert_int_equal(warprsa_client_use_wait(g.client, &use, output),
                     WARPRSA_USE_DONE);
    is_right(&use, KEY, &sign_pss);
    backend->key_release(key);
}

/* Waits as an async job does: until the notifier is readable, or wake_ns. */
static void pause_job(const warprsa_client_use *use, int fd)
{
    const uint64_t now_ns = warprsa_clock_ns();
    struct pollfd one = {.fd = fd, .events = POLLIN};
    char bytes[64];

    if (use->wake_ns > now_ns)
        (void)poll(&one, fd >= 0 ? 1 : 0,
                   (int)((use->wake_ns - now_ns) / WARPRSA_NS_PER_MS) + 1);
    if (fd >= 0)
        (void)recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
}

/* A job that the program leaves keeps its notifier's descriptor over a restart
 * of the daemon, and nothing else of the connection: neither the memory that it
 * shares with the daemon nor the other descriptors. */
TEST_IN(a_job_that_is_left, begin, end)
{
    warprsa_backend_key *key = vault_key(KEY);
    warprsa_notifier notifier;
    warprsa_client_use use;

    done(KEY, &sign_pss);
    assert_true(backend->notifier_open(g.client, &notifier));
    warprsa_client_use_begin(g.client, &use, key, &sign_pss, input);
    (void)warprsa_client_use_go_on(g.client, &use, notifier.number, output);
    assert_true(use.is_submitted);
    assert_non_null(use.connection->shm.head); /* the control */
    assert_true(warprsa_own_fd_is_there(&use.connection->socket));
    WAIT_UNTIL(warprsa_queue_depth(s.queue) == 0);
    test_server_stop(&s);
    test_server_start(&s);
    done(2, &sign_pss);
    assert_ptr_not_equal(use.connection, g.client->connection);
    assert_null(use.connection->shm.head);
    assert_false(warprsa_own_fd_is_there(&use.connection->socket));
    assert_true(warprsa_own_fd_is_there(&notifier.fd));
    /* It is resumed after all. */
    assert_int_equal(warprsa_client_use_wait(g.client, &use, output),
                     WARPRSA_USE_DONE);
    is_right(&use, KEY, &sign_pss);
    backend->notifier_close(&notifier);
    backend->key_release(key);
}

/* A job has the notifier of a connection that goes away under it. */
TEST_IN(a_job_outlives_its_daemon, begin, end)
{
    warprsa_backend_key *key = vault_key(KEY);
    warprsa_notifier notifier;
    warprsa_client_use use;
    warprsa_use_answer answer;

    done(KEY, &sign_pss);
    assert_true(backend->notifier_open(g.client, &notifier));
    for (unsigned round = 0; round < 2; round++) {
        warprsa_client_use_begin(g.client, &use, key, &decrypt, input);
        while ((answer = warprsa_client_use_go_on(g.client, &use,
                                                  notifier.number, output)) ==
               WARPRSA_USE_PENDING)
            pause_job(&use, notifier.fd.fd);
        assert_int_equal(answer, WARPRSA_USE_DONE);
        is_right(&use, KEY, &decrypt);
        if (round == 0) {
            test_server_stop(&s);
            test_server_start(&s);
        }
    }
    assert_false(backend->notifier_works(g.client, &notifier));
    backend->notifier_close(&notifier);
    backend->key_release(key);
}

/* A job whose answer comes by its notifier alone does not wait for wake_ns. */
TEST_IN(a_notifier_tells, begin, end)
{
    warprsa_backend_key *key = vault_key(KEY);
    warprsa_notifier notifier;
    warprsa_client_use use;

    done(KEY, &sign_pss);
    assert_true(backend->notifier_open(g.client, &notifier));
    warprsa_client_use_begin(g.client, &use, key, &decrypt, input);
    assert_int_equal(
        warprsa_client_use_go_on(g.client, &use, notifier.number, output),
        WARPRSA_USE_PENDING);
    assert_true(becomes_readable(notifier.fd.fd));
    assert_int_equal(
        warprsa_client_use_go_on(g.client, &use, notifier.number, output),
        WARPRSA_USE_DONE);
    is_right(&use, KEY, &decrypt);
    backend->notifier_close(&notifier);
    backend->key_release(key);
}

/* A use whose deadline has passed keeps no slot. Once the queue is full,
 * libcrypto computes: it is held, too, or its answer could come first. */
TEST_IN(given_up, begin, end)
{
    warprsa_backend_key *key = vault_key(KEY);
    warprsa_client_use use;

    fake_vault.hold_compute = true;
    FAKE_SET(hold, true);
    for (unsigned i = 0; i < 100; i++) { /* more than there are slots */
        warprsa_client_use_begin(g.client, &use, key, &sign_pss, input);
        (void)warprsa_client_use_go_on(g.client, &use, 0, output);
        use.until_ns = 0;
        assert_int_equal(warprsa_client_use_go_on(g.client, &use, 0, output),
                         WARPRSA_USE_LATER);
    }
    FAKE_SET(hold, false);
    fake_vault.hold_compute = false;
    done(KEY, &sign_pss);
    WAIT_UNTIL(fake_vault_references() == 1);
    backend->key_release(key);
}

/* Jobs have all slots of a connection, and nobody resumes them. Its daemon
 * goes, which a use without a slot has to find out. */
TEST_IN(no_slot_of_a_daemon_that_has_gone, begin, end)
{
    warprsa_backend_key *key = vault_key(KEY);
    static warprsa_client_use left[100]; /* more than there are slots */

    done(KEY, &sign_pss);
    FAKE_SET(hold, true);
    for (unsigned i = 0; i < 100; i++) {
        warprsa_client_use_begin(g.client, &left[i], key, &sign_pss, input);
        assert_int_equal(
            warprsa_client_use_go_on(g.client, &left[i], 0, output),
            WARPRSA_USE_PENDING);
    }
    assert_true(left[0].is_submitted);
    assert_false(left[99].is_submitted);
    FAKE_SET(hold, false);
    test_server_stop(&s);
    test_server_start(&s);
    done(KEY, &sign_pss);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(warprsa_client_use_wait(g.client, &left[i], output),
                         WARPRSA_USE_DONE);
    backend->key_release(key);
}

RUN_TESTS(NULL, NULL)
