/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uses of keys of the daemon's vault, by clients that lie.
 */
#include "tests/unit/daemon/uses_fixture.h"

static void name_key(raw_client *x, uint32_t number, unsigned i)
{
    warprsa_shm_message message = {
        .type = WARPRSA_SHM_KEY_USE, .number = number, .generation = 1};

    fake_vault_spki(i, message.spki_sha256);
    raw_client_send(x, &message);
}

TEST_IN(a_session_without_uses, begin, end)
{
    raw_client x;

    WAIT_UNTIL(raw_client_connect_for(&x, s.path, 16, false));
    raw_client_attach(&x);
    assert_null(x.shm.use);
    name_key(&x, 0, KEY);
    raw_client_is_disconnected(&x);
    assert_int_equal(test_server_broken(&s), 1);
    raw_client_leave(&x);
}

TEST_IN(the_number_of_a_key_twice, begin, end)
{
    raw_client x;

    WAIT_UNTIL(raw_client_connect(&x, s.path, 16));
    raw_client_attach(&x);
    name_key(&x, 3, KEY);
    name_key(&x, 3, KEY);
    raw_client_is_disconnected(&x);
    assert_int_equal(test_server_broken(&s), 1);
    raw_client_leave(&x);
}

/* An ordinary request with a key of the vault is a use without sense; a use
 * with a key of the client's own is a request of no length. */
TEST_IN(requests_of_the_other_kind, begin, end)
{
    raw_client x;

    WAIT_UNTIL(raw_client_connect(&x, s.path, 16));
    raw_client_attach(&x);
    name_key(&x, 0, KEY);
    raw_client_key(&x, 1, 1, 5);
    raw_client_fill(&x, 0, 1, 0, 1);
    raw_client_submit(&x, 0);
    assert_int_equal(raw_client_answer(&x, 0, 1), WARPRSA_REFUSED);
    assert_int_equal(x.shm.slot[0].use_answer, WARPRSA_USE_FAILED);
    raw_client_fill(&x, 1, 1, 1, 1);
    x.shm.slot[1].request.bytes = 0;
    x.shm.use[1].header = sign_raw;
    raw_client_submit(&x, 1);
    assert_int_equal(raw_client_answer(&x, 1, 1), WARPRSA_REFUSED);
    assert_int_equal(fake_vault.uses, 0);
    raw_client_leave(&x);
    WAIT_UNTIL(warprsa_server_clients(s.server) == 0);
    assert_int_equal(fake_vault_references(), 0);
}

/* Has key number i carry out a use without sense, and returns the answer. */
static warprsa_shm_slot senseless_use(raw_client *x, uint32_t slot, unsigned i)
{
    name_key(x, slot, i);
    raw_client_fill(x, slot, 1, slot, 1);
    x->shm.slot[slot].request.bytes = 0;
    x->shm.use[slot].header = (warprsa_key_use){.operation = 77};
    raw_client_submit(x, slot);
    assert_int_equal(raw_client_answer(x, slot, 1), WARPRSA_REFUSED);
    return x->shm.slot[slot];
}

/* A use without sense does not tell either whether the vault has a key. */
TEST_IN(senseless_uses_of_hidden_keys, begin, end)
{
    warprsa_shm_slot known, hidden, missing;
    raw_client x;

    WAIT_UNTIL(raw_client_connect(&x, s.path, 16));
    raw_client_attach(&x);
    known = senseless_use(&x, 0, KEY); /* the control */
    assert_int_equal(known.use_answer, WARPRSA_USE_FAILED);
    fake_vault.unknown_before = FAKE_VAULT_KEYS;
    hidden = senseless_use(&x, 1, KEY);
    missing = senseless_use(&x, 2, FAKE_VAULT_KEYS);
    assert_int_equal(hidden.use_answer, WARPRSA_USE_DENIED);
    assert_int_equal(hidden.denial, WARPRSA_DENIED_NO_KEY);
    assert_int_equal(missing.use_answer, hidden.use_answer);
    assert_int_equal(missing.denial, hidden.denial);
    assert_memory_equal(&missing.errors, &hidden.errors, sizeof(hidden.errors));
    assert_int_equal(missing.bytes, hidden.bytes);
    assert_int_equal(fake_vault.uses, 0);
    raw_client_leave(&x);
}

/* A client that leaves with uses under way, at the queue and at the vault's
 * threads, leaves nothing behind. */
TEST_IN(it_leaves_meanwhile, begin, end)
{
    raw_client x;

    WAIT_UNTIL(raw_client_connect(&x, s.path, 16));
    raw_client_attach(&x);
    name_key(&x, 0, KEY);
    name_key(&x, 1, FAKE_VAULT_LARGE);
    FAKE_SET(hold, true);
    for (uint32_t i = 0; i < 16; i++) {
        raw_client_fill(&x, i, 1, i % 2, 1);
        x.shm.slot[i].request.bytes = 0;
        x.shm.use[i].header = i % 2 ? decrypt_large : decrypt;
        memcpy(x.shm.use[i].number, input, sizeof(input));
        raw_client_submit(&x, i);
    }
    WAIT_UNTIL(fake_vault.uses == 16);
    raw_client_leave(&x);
    FAKE_SET(hold, false);
    WAIT_UNTIL(warprsa_server_clients(s.server) == 0);
    assert_int_equal(fake_vault_references(), 0);
}

RUN_TESTS(NULL, NULL)
