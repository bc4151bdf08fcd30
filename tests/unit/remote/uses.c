/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A network client that uses keys of the vault: the gateway's session at a
 * daemon's server with a fake vault. Which use is asked, how it ends, what a
 * client can confuse, and that no output stays in the gateway.
 */
#include "tests/unit/support/fake_call.h"
#include "tests/unit/support/use_sign_pss.h"

enum {
    SLOTS = 16,
    OWN = 3,   /* the number of the client's own key */
    NAMED = 4, /* of a key of the vault, by default KEY there */
    KEY = 7,
    KEYS = 8,
    SMALL = 128,
    TICK_MS = 1,
    ROUNDS = 60000,
};

static const warprsa_key_use decrypt = {.operation = WARPRSA_USE_DECRYPT,
                                        .padding = WARPRSA_PADDING_PKCS1,
                                        .input_bytes = SMALL};

/* What the gateway has sent. */
static struct {
    unsigned welcomes, keys_loaded, results;
    warprsa_remote_status loaded; /* of the last KeyLoaded */
    warprsa_remote_result result; /* the last one, whose output is: */
    uint8_t output[WARPRSA_VAULT_MODULUS_BYTES_MAX];
} seen;

static test_server server;
static warprsa_operate *session;
static uint8_t input[WARPRSA_VAULT_MODULUS_BYTES_MAX];

void fake_call_response(const warprsa_remote_response *response)
{
    seen.welcomes += response->kind == WARPRSA_REMOTE_WELCOME;
    if (response->kind == WARPRSA_REMOTE_KEY_LOADED) {
        seen.keys_loaded++;
        seen.loaded = response->status;
    }
    if (response->kind != WARPRSA_REMOTE_RESULTS)
        return;
    seen.results += (unsigned)response->count;
    seen.result = response->result[response->count - 1];
    if (seen.result.bytes > 0)
        memcpy(seen.output, seen.result.output, seen.result.bytes);
}

static void run(void)
{
    fake_call_run(session, TICK_MS);
}

#define RUN_UNTIL(condition)                                                   \
    do {                                                                       \
        unsigned rounds = 0;                                                   \
                                                                               \
        while (!(condition) && rounds++ < ROUNDS)                              \
            run();                                                             \
        assert_true(condition);                                                \
    } while (0)

static void open_with(bool has_vault)
{
    fake_reset();
    test_server_open(&server, SLOTS, LONG_MS);
    test_server_stop(&server);
    server.config.gateway_uid = geteuid();
    if (!has_vault)
        server.config.vault = NULL;
    test_server_start(&server);
    fake_call_open(server.path, KEYS, SLOTS);
    memset(&seen, 0, sizeof(seen));
    session = fake_call_begin();
    RUN_UNTIL(seen.welcomes == 1);
}

static int begin(void **state)
{
    for (unsigned i = 1; i < sizeof(input); i++)
        input[i] = (uint8_t)(11 * i);
    open_with(true);
    return 0;
}

static int begin_without_vault(void **state)
{
    open_with(false);
    return 0;
}

static void close_session(void)
{
    fake_call_end(session);
    warprsa_operate_free(session);
    session = NULL;
}

static int end(void **state)
{
    if (session != NULL)
        close_session();
    fake_call_close();
    test_server_close(&server);
    return 0;
}

static void send_message(const uint8_t *message, size_t size)
{
    assert_true(size > WARPRSA_REMOTE_PREFIX);
    assert_null(warprsa_operate_message(session,
                                        message + WARPRSA_REMOTE_PREFIX,
                                        size - WARPRSA_REMOTE_PREFIX));
}

/* Names key `of` of the vault. */
static void name_key(uint32_t number, unsigned of)
{
    uint8_t spki[WARPRSA_KEY_SPKI_BYTES], message[128];

    fake_vault_spki(of, spki);
    send_message(message, warprsa_remote_write_load_key_by_spki(
                              message, sizeof(message), number, spki));
}

static void load_key(void)
{
    const warprsa_private_key key = fake_key(WARPRSA_CLASS_1024, OWN);
    uint8_t message[sizeof(key) + 128];

    send_message(message, warprsa_remote_write_load_key(
                              message, sizeof(message), OWN, &key));
}

static void unload_key(uint32_t number)
{
    uint8_t message[64];

    send_message(message, warprsa_remote_write_unload_key(
                              message, sizeof(message), number));
}

static void send_operation(uint32_t key, const warprsa_key_use *use,
                           uint32_t bytes)
{
    static uint8_t message[WARPRSA_REMOTE_PREFIX + 64 + WARPRSA_REMOTE_USE_MAX];
    const warprsa_remote_operation operation = {
        .id = 5, .key = key, .bytes = bytes, .input = input, .use = use};

    send_message(message, warprsa_remote_write_operations(
                              message, sizeof(message), &operation, 1));
}

/* Has an operation answered, and returns how it ended. */
static warprsa_remote_status operate(uint32_t key, const warprsa_key_use *use,
                                     uint32_t bytes)
{
    const unsigned before = seen.results;

    memset(&seen.result, 0xee, sizeof(seen.result));
    send_operation(key, use, bytes);
    RUN_UNTIL(seen.results == before + 1);
    assert_int_equal(seen.result.id, 5);
    assert_int_equal(fake_call.operations, 0);
    assert_int_equal(fake_call.ended, 0);
    return seen.result.status;
}

static warprsa_remote_status use_key(const warprsa_key_use *use)
{
    return operate(NAMED, use, use->input_bytes);
}

static void assert_answer(unsigned of, const warprsa_key_use *use)
{
    uint8_t wanted[WARPRSA_VAULT_MODULUS_BYTES_MAX];

    assert_int_equal(seen.result.status, WARPRSA_REMOTE_OK);
    assert_int_equal(seen.result.bytes,
                     fake_vault_answer(of, use, input, wanted));
    assert_memory_equal(seen.output, wanted, seen.result.bytes);
}

/* Whether the bytes of an answer are left anywhere in the gateway's memory. */
static bool is_left(const void *memory, size_t size)
{
    return memmem(memory, size, seen.output, 16) != NULL;
}

TEST_IN(uses_are_answered, begin, end)
{
    name_key(NAMED, KEY);
    assert_int_equal(seen.loaded, WARPRSA_REMOTE_OK);
    assert_int_equal(use_key(&sign_pss), WARPRSA_REMOTE_OK);
    assert_answer(KEY, &sign_pss);
    assert_string_equal(fake_vault.identity, "dns:web.example.org");
    assert_int_equal(use_key(&decrypt), WARPRSA_REMOTE_OK);
    assert_answer(KEY, &decrypt);
    assert_int_equal(seen.result.bytes, SMALL / 2);
    assert_int_equal(fake_vault.uses, 2);
    assert_int_equal(server.queue_config.counters->vault_uses, 2);
    assert_int_equal(server.queue_config.counters->vault_libcrypto, 0);
}

/* Of a key that no engine takes. A message of 2048 bytes is the longest. */
TEST_IN(a_large_key_is_used, begin, end)
{
    const warprsa_key_use sign = {.operation = WARPRSA_USE_SIGN,
                                  .padding = WARPRSA_PADDING_NONE,
                                  .input_bytes = FAKE_VAULT_LARGE_BYTES};

    name_key(NAMED, FAKE_VAULT_LARGE);
    assert_int_equal(use_key(&sign), WARPRSA_REMOTE_OK);
    assert_answer(FAKE_VAULT_LARGE, &sign);
    assert_int_equal(seen.result.bytes, FAKE_VAULT_LARGE_BYTES);
    assert_int_equal(server.queue_config.counters->vault_libcrypto, 1);
}

/* Outputs may be decrypted texts. The control: HTTP/2 has the last one. */
TEST_IN(no_output_stays_in_the_gateway, begin, end)
{
    const warprsa_shm *shm = &session->session.connection->shm;

    name_key(NAMED, KEY);
    assert_int_equal(use_key(&decrypt), WARPRSA_REMOTE_OK);
    assert_true(is_left(fake_call.out, sizeof(fake_call.out)));
    assert_false(is_left(&fake_host.results, sizeof(fake_host.results)));
    assert_false(is_left(&fake_host.request, sizeof(fake_host.request)));
    assert_false(is_left(shm->head, shm->size));
}

static void denied(warprsa_denial denial)
{
    assert_int_equal(use_key(&sign_pss), WARPRSA_REMOTE_DENIED);
    assert_int_equal(seen.result.denial, denial);
    assert_int_equal(seen.result.bytes, 0);
}

TEST_IN(denials_say_why, begin, end)
{
    name_key(NAMED, KEY);
    for (unsigned i = WARPRSA_DENIED_USER; i < WARPRSA_DENIALS; i++) {
        fake_vault.denial = i;
        /* An identity that no rule names is not told that there is a key. */
        denied(i == WARPRSA_DENIED_USER ? WARPRSA_DENIED_NO_KEY
                                        : (warprsa_denial)i);
    }
    assert_int_equal(fake_vault.denials, WARPRSA_DENIALS - 2);
    fake_vault.denial = WARPRSA_ALLOWED;
    assert_int_equal(use_key(&sign_pss), WARPRSA_REMOTE_OK);
    fake_vault_remove(KEY);
    denied(WARPRSA_DENIED_NO_KEY);
    assert_true(test_server_logged(
        &server, "for dns:web.example.org is denied a use of a key"));
}

/* The vault has never had it. That shows at its uses alone. */
TEST_IN(a_key_that_is_not_there, begin, end)
{
    name_key(NAMED, FAKE_VAULT_KEYS + 1);
    assert_int_equal(seen.loaded, WARPRSA_REMOTE_OK);
    denied(WARPRSA_DENIED_NO_KEY);
    assert_int_equal(fake_vault.uses + fake_vault.denials, 0);
}

TEST_IN(no_result_for_an_input, begin, end)
{
    name_key(NAMED, KEY);
    fake_vault.bad = true;
    assert_int_equal(use_key(&sign_pss), WARPRSA_REMOTE_INVALID);
    assert_int_equal(seen.result.errors.codes[0], 17);
    assert_int_equal(use_key(&decrypt), WARPRSA_REMOTE_INVALID);
    assert_int_equal(seen.result.errors.codes[0], 18);
    assert_int_equal(seen.result.errors.codes[1], 0);
    assert_int_equal(seen.result.bytes, 0);
}

TEST_IN(not_now, begin, end)
{
    name_key(NAMED, FAKE_VAULT_LARGE);
    fake_vault.empty = true;
    assert_int_equal(use_key(&sign_pss), WARPRSA_REMOTE_UNAVAILABLE);
    fake_vault.empty = false;
    fake_vault.compute_full = true;
    assert_int_equal(use_key(&sign_pss), WARPRSA_REMOTE_UNAVAILABLE);
    fake_vault.compute_full = false;
    fake_vault.late = 1;
    assert_int_equal(use_key(&sign_pss), WARPRSA_REMOTE_UNAVAILABLE);
    assert_int_equal(use_key(&sign_pss), WARPRSA_REMOTE_OK);
}

/* Uses with a fault never come to the rules, which assert that. */
TEST_IN(uses_with_a_fault, begin, end)
{
    warprsa_key_use use;

    name_key(NAMED, KEY);
#define FAULT(of, field, value)                                                \
    use = of;                                                                  \
    use.field = (value);                                                       \
    assert_int_equal(operate(NAMED, &use, use.input_bytes),                    \
                     WARPRSA_REMOTE_INVALID)
    FAULT(sign_pss, operation, 0);
    FAULT(sign_pss, operation, WARPRSA_USE_OPERATIONS);
    FAULT(sign_pss, padding, 0);
    FAULT(sign_pss, padding, WARPRSA_PADDING_OAEP);
    FAULT(sign_pss, padding, WARPRSA_USE_PADDINGS);
    FAULT(sign_pss, digest, WARPRSA_DIGEST_NONE);
    FAULT(sign_pss, digest, WARPRSA_USE_DIGESTS);
    FAULT(sign_pss, mgf1_digest, WARPRSA_USE_DIGESTS);
    FAULT(sign_pss, salt_bytes, -5);
    FAULT(sign_pss, salt_bytes, INT32_MAX);
    FAULT(sign_pss, input_bytes, 31);
    FAULT(sign_pss, label_bytes, 1);
    FAULT(sign_pss, tls_client_version, 1);
    FAULT(sign_pss, tls_alternative_version, 1);
    FAULT(decrypt, input_bytes, SMALL - 1);
    FAULT(decrypt, input_bytes, SMALL + 1);
    FAULT(decrypt, input_bytes, 0);
    FAULT(decrypt, input_bytes, WARPRSA_VAULT_MODULUS_BYTES_MAX);
    FAULT(decrypt, digest, WARPRSA_DIGEST_SHA256);
    FAULT(decrypt, salt_bytes, 1);
#undef FAULT
    assert_int_equal(fake_vault.uses + fake_vault.denials, 0);
    assert_int_equal(use_key(&sign_pss), WARPRSA_REMOTE_OK);
}

/* A use is for keys of the vault alone, and with them there is nothing else: a
 * raw operation would go past the rules. */
TEST_IN(keys_are_not_confused, begin, end)
{
    load_key();
    name_key(NAMED, KEY);
    assert_int_equal(seen.keys_loaded, 2);
    assert_int_equal(operate(OWN, NULL, SMALL), WARPRSA_REMOTE_OK);
    assert_int_equal(operate(NAMED, NULL, SMALL), WARPRSA_REMOTE_INVALID);
    assert_int_equal(operate(OWN, &decrypt, SMALL), WARPRSA_REMOTE_INVALID);
    assert_int_equal(operate(OWN + 2, &decrypt, SMALL), WARPRSA_REMOTE_INVALID);
    assert_int_equal(operate(KEYS, &decrypt, SMALL), WARPRSA_REMOTE_INVALID);
    assert_int_equal(fake_vault.uses, 0);
    assert_int_equal(operate(NAMED, &decrypt, SMALL), WARPRSA_REMOTE_OK);
    assert_answer(KEY, &decrypt);
    /* The slot of the use serves an operation again, and the other way. */
    assert_int_equal(operate(OWN, NULL, SMALL), WARPRSA_REMOTE_OK);
    assert_int_equal(seen.result.bytes, SMALL);
}

/* The number of a key is free again, for a key of the other kind, too. */
TEST_IN(numbers_are_used_again, begin, end)
{
    name_key(OWN, KEY);
    assert_int_equal(operate(OWN, &decrypt, SMALL), WARPRSA_REMOTE_OK);
    assert_answer(KEY, &decrypt);
    unload_key(OWN);
    assert_int_equal(operate(OWN, &decrypt, SMALL), WARPRSA_REMOTE_INVALID);
    load_key();
    assert_int_equal(operate(OWN, NULL, SMALL), WARPRSA_REMOTE_OK);
    assert_int_equal(operate(OWN, &decrypt, SMALL), WARPRSA_REMOTE_INVALID);
    unload_key(OWN);
    name_key(OWN, KEY + 1);
    assert_int_equal(operate(OWN, &decrypt, SMALL), WARPRSA_REMOTE_OK);
    assert_answer(KEY + 1, &decrypt);
}

/* Identities' sessions have no uses there, and no memory for them. Their own
 * keys are served. */
TEST_IN(a_daemon_without_a_vault, begin_without_vault, end)
{
    name_key(NAMED, KEY);
    assert_int_equal(seen.loaded, WARPRSA_REMOTE_UNSUPPORTED);
    assert_int_equal(use_key(&sign_pss), WARPRSA_REMOTE_UNSUPPORTED);
    assert_int_equal(operate(NAMED, NULL, SMALL), WARPRSA_REMOTE_UNSUPPORTED);
    load_key();
    assert_int_equal(operate(OWN, NULL, SMALL), WARPRSA_REMOTE_OK);
    unload_key(NAMED);
    name_key(NAMED, KEY);
    assert_int_equal(seen.keys_loaded, 3);
}

RUN_TESTS(NULL, NULL)
