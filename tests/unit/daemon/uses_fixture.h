/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A daemon with a vault, and a client of it that uses the vault's keys; for
 * tests of these uses. Not every program needs all of it.
 */
#ifndef WARPRSA_TESTS_UNIT_DAEMON_USES_FIXTURE_H
#define WARPRSA_TESTS_UNIT_DAEMON_USES_FIXTURE_H

#include "tests/unit/support/daemon_support.h"

#include <poll.h>

#include "batching/base/clock.h"
#include "batching/daemon/client/client_uses.h"
#include "batching/daemon/client/key_lookup.h"
#include "tests/unit/support/use_sign_pss.h"

enum {
    SMALL = 128, /* bytes of the modulus of keys that the engine takes */
    KEY = 1,
    SHORT_MS = 300,
    THREADS = 4,
    RESTARTS = 10,
    MANY_KEYS = 40, /* a session has 16 */
};

static test_server s;
static test_client g;
static uint8_t input[WARPRSA_VAULT_MODULUS_BYTES_MAX] __attribute__((unused));
static uint8_t output[WARPRSA_VAULT_MODULUS_BYTES_MAX] __attribute__((unused));

static const warprsa_key_use sign_raw __attribute__((unused)) = {
    .operation = WARPRSA_USE_SIGN,
    .padding = WARPRSA_PADDING_NONE,
    .input_bytes = SMALL,
};
static const warprsa_key_use decrypt __attribute__((unused)) = {
    .operation = WARPRSA_USE_DECRYPT,
    .padding = WARPRSA_PADDING_PKCS1,
    .input_bytes = SMALL,
};
static const warprsa_key_use decrypt_raw __attribute__((unused)) = {
    .operation = WARPRSA_USE_DECRYPT,
    .padding = WARPRSA_PADDING_NONE,
    .input_bytes = SMALL,
};
static const warprsa_key_use decrypt_large __attribute__((unused)) = {
    .operation = WARPRSA_USE_DECRYPT,
    .padding = WARPRSA_PADDING_OAEP,
    .digest = WARPRSA_DIGEST_SHA1,
    .mgf1_digest = WARPRSA_DIGEST_SHA1,
    .input_bytes = FAKE_VAULT_LARGE_BYTES,
};

static unsigned short_ms __attribute__((unused)) = SHORT_MS;

static inline int begin(void **state)
{
    const unsigned *client_ms = *state;

    fake_reset();
    for (unsigned i = 0; i < sizeof(input); i++)
        input[i] = (uint8_t)(7 * i);
    test_server_open(&s, 64, LONG_MS);
    test_client_open(&g, &s, client_ms != NULL ? *client_ms : LONG_MS);
    return 0;
}

static inline int end(void **state)
{
    FAKE_SET(hold, false);
    test_client_close(&g);
    test_server_close(&s);
    return 0;
}

static inline warprsa_backend_key *vault_key(unsigned i)
{
    uint8_t spki[WARPRSA_KEY_SPKI_BYTES];
    warprsa_backend_key *key;

    fake_vault_spki(i, spki);
    key = warprsa_client_vault_key(
        g.client, spki, i == FAKE_VAULT_LARGE ? FAKE_VAULT_LARGE_BYTES : SMALL);
    assert_non_null(key);
    return key;
}

/* One use with the key number i. */
static inline warprsa_use_answer use_key(warprsa_client_use *use, unsigned i,
                                         const warprsa_key_use *header)
{
    warprsa_backend_key *key = vault_key(i);
    warprsa_use_answer answer;

    warprsa_client_use_begin(g.client, use, key, header, input);
    answer = warprsa_client_use_wait(g.client, use, output);
    backend->key_release(key);
    return answer;
}

static inline void is_right(const warprsa_client_use *use, unsigned i,
                            const warprsa_key_use *header)
{
    uint8_t wanted[WARPRSA_VAULT_MODULUS_BYTES_MAX];

    assert_int_equal(use->bytes, fake_vault_answer(i, header, input, wanted));
    assert_memory_equal(output, wanted, use->bytes);
}

static inline void done(unsigned i, const warprsa_key_use *header)
{
    warprsa_client_use use;

    memset(output, 0xee, sizeof(output));
    assert_int_equal(use_key(&use, i, header), WARPRSA_USE_DONE);
    is_right(&use, i, header);
}

#endif
