/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The vault's set of keys: what readings change, what is logged of it, who
 * still has a key that is gone, and that its numbers are wiped.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/vault/vault.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/vault/padding.h"
#include "batching/vault/vault_key.h"
#include "batching/vault/vault_reading.h"
#include "tests/unit/support/use_sign_pss.h"
#include "tests/unit/support/vault_keys.h"

enum {
    KEYS = 4,
    ALICE = 1001,
    BOB = 1002,
};

static EVP_PKEY *pkeys[KEYS];
static warprsa_key_numbers numbers[KEYS];
static const warprsa_vault_user alice = {.uid = ALICE, .pid = 4711};
static const warprsa_vault_user bob = {.uid = BOB, .pid = 4712};
static const warprsa_key_use sign = {.operation = WARPRSA_USE_SIGN,
                                     .padding = WARPRSA_PADDING_NONE};

static int make_keys(void **state)
{
    for (unsigned i = 0; i < KEYS; i++) {
        pkeys[i] = vault_keys_make("RSA", 1024, 2);
        vault_keys_numbers(&numbers[i], pkeys[i]);
    }
    return 0;
}

static int free_keys(void **state)
{
    for (unsigned i = 0; i < KEYS; i++)
        EVP_PKEY_free(pkeys[i]);
    return 0;
}

/* The lines since they were last looked at. */
typedef struct lines {
    pthread_mutex_t lock;
    char text[1 << 18];
} lines;

static lines logged = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void log_line(void *arg, int level, const char *line)
{
    lines *l = arg;
    size_t used;

    pthread_mutex_lock(&l->lock);
    used = strlen(l->text);
    snprintf(l->text + used, sizeof(l->text) - used, "%d %s\n", level, line);
    pthread_mutex_unlock(&l->lock);
}

static void assert_logged(const char *expected)
{
    assert_string_equal(logged.text, expected);
    logged.text[0] = '\0';
}

static warprsa_vault *vault_new(void)
{
    warprsa_vault *vault = warprsa_vault_new(log_line, &logged);

    assert_non_null(vault);
    logged.text[0] = '\0';
    return vault;
}

/* Adds rules to a reading. */
static void add_rules(warprsa_vault_reading *reading, const char *text)
{
    char why[400] = "";

    if (!warprsa_key_rules_parse(&reading->rules, "keys.conf", text,
                                 strlen(text), &warprsa_key_rules_names, why,
                                 sizeof(why)))
        fail_msg("%s", why);
}

/* Reads keys, as in "www=0 ca=1 !bad": a name and which numbers it has, or a
 * refusal. */
static void read_keys(warprsa_vault *vault, const char *keys, const char *rules)
{
    warprsa_vault_reading reading;
    char copy[200], *rest = copy, *word;

    warprsa_vault_reading_init(&reading, warprsa_vault_means_of(vault));
    snprintf(copy, sizeof(copy), "%s", keys);
    while ((word = strsep(&rest, " ")) != NULL) {
        char *equals = strchr(word, '=');

        if (word[0] == '!')
            assert_true(
                warprsa_vault_reading_refuse(&reading, word + 1, "it is bad"));
        if (equals == NULL)
            continue;
        *equals = '\0';
        assert_true(warprsa_vault_reading_add(&reading, word,
                                              &numbers[equals[1] - '0']));
    }
    add_rules(&reading, rules);
    assert_true(warprsa_vault_replace(vault, &reading));
    assert_null(reading.keys);
}

static const char rules_of_alice[] = "* user=1001 sign padding=none\n";

TEST(test_empty)
{
    warprsa_vault *vault = vault_new();
    static const uint8_t none[WARPRSA_KEY_SPKI_BYTES];
    char name[WARPRSA_KEY_NAME_SIZE] = "";

    assert_null(warprsa_vault_find(vault, none));
    assert_null(warprsa_vault_find_name(vault, "www"));
    assert_false(warprsa_vault_next_name(vault, name));
    assert_false(warprsa_vault_is_filled(vault));
    warprsa_vault_key_release(NULL);
    warprsa_vault_audit(vault);
    assert_logged("");
    warprsa_vault_free(vault);
    warprsa_vault_free(NULL);
}

TEST(test_find)
{
    warprsa_vault *vault = vault_new();
    char name[WARPRSA_KEY_NAME_SIZE] = "";
    uint8_t spki_sha256[32];
    warprsa_private_key engines;

    read_keys(vault, "www=0 ca=1 mail=2", rules_of_alice);
    assert_true(warprsa_vault_is_filled(vault));
    for (unsigned i = 0; i < 3; i++) {
        static const char *const names[] = {"www", "ca", "mail"};
        warprsa_vault_key *key = warprsa_vault_find_name(vault, names[i]);
        size_t bytes = 0;

        assert_non_null(key);
        EVP_Digest(numbers[i].spki, numbers[i].spki_bytes, spki_sha256, NULL,
                   EVP_sha256(), NULL);
        assert_ptr_equal(warprsa_vault_find(vault, spki_sha256), key);
        warprsa_vault_key_release(key);
        assert_string_equal(warprsa_vault_key_name(key), names[i]);
        assert_memory_equal(warprsa_vault_key_spki_sha256(key), spki_sha256,
                            32);
        assert_memory_equal(warprsa_vault_key_spki(key, &bytes),
                            numbers[i].spki, numbers[i].spki_bytes);
        assert_int_equal(bytes, numbers[i].spki_bytes);
        assert_int_equal(warprsa_vault_key_modulus_bytes(key), 128);
        assert_true(warprsa_key_numbers_for_engines(&numbers[i], &engines));
        assert_memory_equal(warprsa_vault_key_for_engines(key), &engines,
                            sizeof(engines));
        assert_memory_equal(key->padding->n, numbers[i].bytes, 128);
        warprsa_vault_key_release(key);
    }
    spki_sha256[0] ^= 1;
    assert_null(warprsa_vault_find(vault, spki_sha256));
    assert_null(warprsa_vault_find_name(vault, "ww"));
    assert_true(warprsa_vault_next_name(vault, name));
    assert_string_equal(name, "ca");
    assert_true(warprsa_vault_next_name(vault, name));
    assert_string_equal(name, "mail");
    strcpy(name, "n"); /* which there is not */
    assert_true(warprsa_vault_next_name(vault, name));
    assert_string_equal(name, "www");
    assert_false(warprsa_vault_next_name(vault, name));
    warprsa_vault_free(vault);
}

TEST(test_readings)
{
    warprsa_vault *vault = vault_new();
    warprsa_vault_key *www = NULL, *now = NULL;
    uint64_t generation = 0;

    read_keys(vault, "www=0 ca=1", rules_of_alice);
    assert_logged("0 key ca: added: RSA of 1024 bits\n"
                  "0 key www: added: RSA of 1024 bits\n");
    generation = warprsa_vault_generation(vault);
    www = warprsa_vault_find_name(vault, "www");
    /* Nothing has changed. */
    read_keys(vault, "ca=1 www=0", rules_of_alice);
    assert_logged("");
    assert_int_equal(warprsa_vault_generation(vault), generation);
    now = warprsa_vault_find_name(vault, "www");
    assert_ptr_equal(now, www);
    warprsa_vault_key_release(now);
    /* A new key under the name, and one that goes. */
    read_keys(vault, "www=2 mail=3", rules_of_alice);
    assert_logged("0 key mail: added: RSA of 1024 bits\n"
                  "0 key www: replaced: RSA of 1024 bits\n"
                  "0 key ca: removed\n");
    assert_true(warprsa_vault_generation(vault) > generation);
    assert_true(warprsa_vault_key_is_removed(www));
    assert_int_equal(warprsa_vault_may(www, &alice, &sign, NULL),
                     WARPRSA_DENIED_NO_KEY);
    assert_false(warprsa_vault_may_know(www, &alice));
    logged.text[0] = '\0';
    now = warprsa_vault_find_name(vault, "www");
    assert_memory_equal(now->padding->n, numbers[2].bytes, 128);
    assert_int_equal(warprsa_vault_may(now, &alice, &sign, NULL),
                     WARPRSA_ALLOWED);
    assert_true(warprsa_vault_may_know(now, &alice));
    assert_null(warprsa_vault_find(vault, www->spki_sha256));
    warprsa_vault_key_release(now);
    /* The old key computes for whoever has it. */
    assert_memory_equal(www->padding->n, numbers[0].bytes, 128);
    warprsa_vault_key_release(www);
    read_keys(vault, "", "");
    assert_logged("0 key mail: removed\n0 key www: removed\n");
    warprsa_vault_free(vault);
}

TEST(test_refusals)
{
    warprsa_vault *vault = vault_new();
    warprsa_vault_key *www = NULL;

    read_keys(vault, "www=0 !new", rules_of_alice);
    assert_logged("0 key new: refused: it is bad\n"
                  "0 key www: added: RSA of 1024 bits\n");
    www = warprsa_vault_find_name(vault, "www");
    read_keys(vault, "new=1 !www", rules_of_alice);
    assert_logged("0 key www: refused: it is bad; the key as it was before "
                  "stays\n"
                  "0 key new: added: RSA of 1024 bits\n");
    assert_false(warprsa_vault_key_is_removed(www));
    assert_int_equal(warprsa_vault_may(www, &alice, &sign, NULL),
                     WARPRSA_ALLOWED);
    /* Twice the same name: the second counts for nothing. */
    read_keys(vault, "new=1 new=1 !www !www !new", rules_of_alice);
    logged.text[0] = '\0';
    read_keys(vault, "new=1", rules_of_alice);
    assert_logged("0 key www: removed\n");
    warprsa_vault_key_release(www);
    warprsa_vault_free(vault);
}

/* Rules are by name: one key has one name. */
TEST(test_twins)
{
    warprsa_vault *vault = vault_new();
    warprsa_vault_key *key = NULL;

    read_keys(vault, "b=0 a=0 c=1", rules_of_alice);
    assert_logged("0 key b: refused: it is the same key as a\n"
                  "0 key a: added: RSA of 1024 bits\n"
                  "0 key c: added: RSA of 1024 bits\n");
    assert_null(warprsa_vault_find_name(vault, "b"));
    read_keys(vault, "b=0 c=1", rules_of_alice);
    assert_logged("0 key b: added: RSA of 1024 bits\n0 key a: removed\n");
    key = warprsa_vault_find_name(vault, "b");
    assert_non_null(key);
    warprsa_vault_key_release(key);
    warprsa_vault_free(vault);
}

TEST(test_bad_names)
{
    static const char *const names[] = {"",    ".",    "../x", "a/b",
                                        "a b", "\x80", "-a"};
    warprsa_vault *vault = vault_new();
    warprsa_vault_reading reading;

    warprsa_vault_reading_init(&reading, warprsa_vault_means_of(vault));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_false(
            warprsa_vault_reading_add(&reading, names[i], &numbers[0]));
    assert_int_equal(reading.key_count, 0);
    warprsa_vault_reading_free(&reading);
    warprsa_vault_free(vault);
}

/* Of too many keys the log says how many there may be. */
TEST(test_too_many_keys)
{
    warprsa_vault *vault = vault_new();
    warprsa_vault_reading reading;

    warprsa_vault_reading_init(&reading, warprsa_vault_means_of(vault));
    reading.key_count = reading.key_room = WARPRSA_VAULT_KEYS_MAX;
    assert_false(warprsa_vault_reading_add(&reading, "www", &numbers[0]));
    assert_int_equal(reading.key_count, WARPRSA_VAULT_KEYS_MAX);
    reading.key_count = reading.key_room = 0; /* there were none */
    assert_true(warprsa_vault_replace(vault, &reading));
    assert_logged("0 key www: refused: the vault has room for 65536 keys\n");
    warprsa_vault_free(vault);
}

/* What could not be read changes nothing. */
TEST(test_failed_readings)
{
    warprsa_vault *vault = vault_new();
    warprsa_vault_reading reading;
    warprsa_vault_key *www = NULL;

    warprsa_vault_reading_init(&reading, warprsa_vault_means_of(vault));
    assert_true(warprsa_vault_reading_add(&reading, "www", &numbers[0]));
    strcpy(reading.rules_why, "keys.conf:1:1: no");
    assert_true(warprsa_vault_replace(vault, &reading));
    assert_logged("0 key www: added: RSA of 1024 bits\n"
                  "0 rules not read: keys.conf:1:1: no; no key can be used\n");
    www = warprsa_vault_find_name(vault, "www");
    assert_int_equal(warprsa_vault_may(www, &alice, &sign, NULL),
                     WARPRSA_DENIED_USER);
    logged.text[0] = '\0';
    strcpy(reading.keys_why, "/keys: gone");
    add_rules(&reading, rules_of_alice);
    assert_true(warprsa_vault_replace(vault, &reading));
    assert_logged("0 keys not read: /keys: gone; all stay as they were\n");
    assert_int_equal(warprsa_vault_may(www, &alice, &sign, NULL),
                     WARPRSA_ALLOWED);
    read_keys(vault, "www=0",
              "www user=1002 sign padding=none\n"
              "gone user=1,2 sign padding=none\n");
    assert_logged("0 keys.conf, line 2: there is no key gone\n");
    assert_int_equal(warprsa_vault_may(www, &bob, &sign, NULL),
                     WARPRSA_ALLOWED);
    assert_int_equal(warprsa_vault_may(www, &alice, &sign, NULL),
                     WARPRSA_DENIED_USER);
    logged.text[0] = '\0';
    strcpy(reading.rules_why, "keys.conf:1:1: no");
    assert_true(warprsa_vault_reading_add(&reading, "www", &numbers[0]));
    assert_true(warprsa_vault_replace(vault, &reading));
    assert_logged("0 rules not read: keys.conf:1:1: no; they stay as they "
                  "were\n0 keys.conf, line 2: there is no key gone\n");
    assert_int_equal(warprsa_vault_may(www, &bob, &sign, NULL),
                     WARPRSA_ALLOWED);
    warprsa_vault_key_release(www);
    warprsa_vault_free(vault);
}

TEST(test_certificates)
{
    warprsa_vault *vault = vault_new();
    warprsa_vault_reading reading;
    warprsa_vault_key *www = NULL;
    uint32_t first = 0, edition = 0, replaced = 0;
    char pem[10] = "";

    warprsa_vault_reading_init(&reading, warprsa_vault_means_of(vault));
    assert_true(warprsa_vault_reading_add(&reading, "www", &numbers[0]));
    assert_true(warprsa_vault_reading_certify(&reading, "www", "one", 3));
    assert_false(warprsa_vault_reading_certify(&reading, "ca", "one", 3));
    assert_true(warprsa_vault_replace(vault, &reading));
    www = warprsa_vault_find_name(vault, "www");
    assert_int_equal(
        warprsa_vault_key_certificates(www, 0, pem, sizeof(pem), &first), 3);
    assert_string_equal(pem, "one");
    /* The same once more. */
    assert_true(warprsa_vault_reading_add(&reading, "www", &numbers[0]));
    assert_true(warprsa_vault_reading_certify(&reading, "www", "one", 3));
    assert_true(warprsa_vault_replace(vault, &reading));
    assert_int_equal(
        warprsa_vault_key_certificates(www, 0, pem, sizeof(pem), &edition), 3);
    assert_int_equal(edition, first);
    /* A renewed certificate of the same key. */
    assert_true(warprsa_vault_reading_add(&reading, "www", &numbers[0]));
    assert_true(warprsa_vault_reading_certify(&reading, "www", "second", 6));
    assert_true(warprsa_vault_replace(vault, &reading));
    assert_false(warprsa_vault_key_is_removed(www));
    memset(pem, 0, sizeof(pem));
    assert_int_equal(warprsa_vault_key_certificates(www, 0, pem, 3, &edition),
                     6);
    assert_string_equal(pem, "sec");
    assert_true(edition != first);
    assert_int_equal(warprsa_vault_key_certificates(www, 4, pem, 9, &edition),
                     6);
    assert_string_equal(pem, "ndc");
    assert_int_equal(warprsa_vault_key_certificates(www, 6, pem, 9, &edition),
                     6);
    assert_string_equal(pem, "ndc");
    assert_int_equal(
        warprsa_vault_key_certificates(www, SIZE_MAX, pem, 9, &edition), 6);
    /* Those of another key of this name are others, even with these bytes. */
    warprsa_vault_key_release(www);
    assert_true(warprsa_vault_reading_add(&reading, "www", &numbers[1]));
    assert_true(warprsa_vault_reading_certify(&reading, "www", "second", 6));
    assert_true(warprsa_vault_replace(vault, &reading));
    www = warprsa_vault_find_name(vault, "www");
    assert_int_equal(warprsa_vault_key_certificates(www, 0, pem, 9, &replaced),
                     6);
    assert_true(replaced != edition && replaced != first);
    read_keys(vault, "www=1", "");
    assert_int_equal(warprsa_vault_key_certificates(www, 0, pem, 3, &edition),
                     0);
    assert_true(edition != replaced);
    warprsa_vault_key_release(www);
    warprsa_vault_free(vault);
}

/* The last release of a key that is gone wipes its numbers. */
TEST(test_wiping)
{
    static const warprsa_private_key none;
    warprsa_vault *vault = vault_new();
    warprsa_vault_key *www = NULL;
    const warprsa_private_key *engines = NULL;

    read_keys(vault, "www=0 ca=1", rules_of_alice);
    www = warprsa_vault_find_name(vault, "www");
    engines = warprsa_vault_key_for_engines(www);
    read_keys(vault, "ca=1", rules_of_alice);
    assert_memory_not_equal(engines, &none, sizeof(none));
    warprsa_vault_key_hold(www);
    warprsa_vault_key_release(www);
    assert_memory_not_equal(engines, &none, sizeof(none));
    warprsa_vault_key_release(www);
    /* Its mapping stays: "ca" has its numbers there. */
    assert_memory_equal(engines, &none, sizeof(none));
    warprsa_vault_free(vault);
}

TEST(test_log_of_uses)
{
    const warprsa_vault_user host = {.identity = "dns:a", .pid = 1};
    warprsa_vault *vault = vault_new();
    warprsa_vault_key *www = NULL;
    warprsa_key_rights rights;
    char text[100];

    read_keys(vault, "www=0", rules_of_alice);
    www = warprsa_vault_find_name(vault, "www");
    logged.text[0] = '\0';
    assert_int_equal(warprsa_vault_may(www, &bob, &sign, NULL),
                     WARPRSA_DENIED_USER);
    assert_logged("0 key www: denied to user 1002 (process 4712): sign, "
                  "padding none, digest none: keys.conf allows this user "
                  "nothing with it\n");
    assert_int_equal(warprsa_vault_may(www, &host, &sign, NULL),
                     WARPRSA_DENIED_USER);
    assert_non_null(strstr(logged.text, "denied to identity dns:a (process"));
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(warprsa_vault_may(www, &alice, &sign, NULL),
                         WARPRSA_ALLOWED);
    logged.text[0] = '\0';
    warprsa_vault_audit(vault);
    assert_non_null(
        strstr(logged.text, "1 key www: user 1001: 5 uses, 0 denials so far"));
    assert_non_null(
        strstr(logged.text, "1 key www: user 1002: 0 uses, 1 denials so far"));
    assert_non_null(strstr(logged.text, "key www: identity dns:a: 0 uses, 1"));
    logged.text[0] = '\0';
    warprsa_vault_audit(vault);
    assert_logged("");
    warprsa_vault_describe(www, &alice, text, sizeof(text));
    warprsa_vault_rights(www, &alice, &rights);
    assert_int_equal(rights.operations, 1 << WARPRSA_USE_SIGN);
    assert_string_equal(text, "sign padding=none");
    warprsa_vault_key_release(www);
    warprsa_vault_free(vault);
}

/* One user's denials do not fill the log. */
TEST(test_log_budget)
{
    warprsa_vault *vault = vault_new();
    warprsa_vault_key *www = NULL;
    unsigned written = 0;

    read_keys(vault, "www=0", "");
    www = warprsa_vault_find_name(vault, "www");
    logged.text[0] = '\0';
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(warprsa_vault_may(www, &bob, &sign, NULL),
                         WARPRSA_DENIED_USER);
    for (const char *c = logged.text; *c != '\0'; c++)
        written += *c == '\n';
    /* 20 of each second that it took. */
    assert_in_range(written, 20, 999);
    warprsa_vault_key_release(www);
    warprsa_vault_free(vault);
}

/* The type of an RSA-PSS key, and what it is restricted to, are known to what
 * pads for it. */
TEST(test_pss_keys)
{
    static const warprsa_padding_restrictions expected[] = {
        {.pss = true},
        {true, true, WARPRSA_DIGEST_SHA256, WARPRSA_DIGEST_SHA256, 24}};
    static const char *const names[] = {"any", "few"};
    static warprsa_key_numbers of;
    EVP_PKEY *made[2] = {vault_keys_make("RSA-PSS", 1024, 2),
                         vault_keys_make_restricted(24)};
    warprsa_vault *vault = vault_new();
    warprsa_vault_reading reading;

    warprsa_vault_reading_init(&reading, warprsa_vault_means_of(vault));
    for (unsigned i = 0; i < 2; i++) {
        vault_keys_numbers(&of, made[i]);
        assert_true(warprsa_vault_reading_add(&reading, names[i], &of));
        EVP_PKEY_free(made[i]);
    }
    assert_true(warprsa_vault_replace(vault, &reading));
    assert_logged("0 key any: added: RSA-PSS of 1024 bits\n"
                  "0 key few: added: RSA-PSS of 1024 bits\n");
    for (unsigned i = 0; i < 2; i++) {
        warprsa_vault_key *key = warprsa_vault_find_name(vault, names[i]);
        const warprsa_padding_restrictions *is = &key->padding->restrictions;

        assert_int_equal(is->pss, expected[i].pss);
        assert_int_equal(is->restricted, expected[i].restricted);
        assert_int_equal(is->digest, expected[i].digest);
        assert_int_equal(is->mgf1_digest, expected[i].mgf1_digest);
        assert_int_equal(is->salt_bytes_min, expected[i].salt_bytes_min);
        warprsa_vault_key_release(key);
    }
    warprsa_vault_free(vault);
}

/* A key signs, as libcrypto does, with an engine in between or not. */
TEST(test_signing)
{
    uint8_t hash[32] = {1}, signature[128];
    warprsa_vault *vault = vault_new();
    warprsa_vault_key *www = NULL;
    warprsa_use_errors errors;
    unsigned length = 0;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(pkeys[0], NULL);

    read_keys(vault, "www=0", "");
    www = warprsa_vault_find_name(vault, "www");
    assert_true(warprsa_padding_compute(www->padding, &sign_pss, hash,
                                        signature, &length, &errors));
    assert_int_equal(length, 128);
    assert_int_equal(EVP_PKEY_verify_init(ctx), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PSS_PADDING),
                     1);
    assert_int_equal(EVP_PKEY_CTX_set_signature_md(ctx, EVP_sha256()), 1);
    assert_int_equal(EVP_PKEY_verify(ctx, signature, 128, hash, 32), 1);
    EVP_PKEY_CTX_free(ctx);
    warprsa_vault_key_release(www);
    warprsa_vault_free(vault);
}

/* A key with three primes is libcrypto's. */
TEST(test_no_engine)
{
    static warprsa_key_numbers of;
    EVP_PKEY *made = vault_keys_make("RSA", 1024, 3);
    warprsa_vault *vault = vault_new();
    warprsa_vault_reading reading;
    warprsa_vault_key *key = NULL;

    vault_keys_numbers(&of, made);
    EVP_PKEY_free(made);
    warprsa_vault_reading_init(&reading, warprsa_vault_means_of(vault));
    assert_true(warprsa_vault_reading_add(&reading, "k", &of));
    assert_true(warprsa_vault_replace(vault, &reading));
    assert_logged("0 key k: added: RSA of 1024 bits, which no engine takes\n");
    key = warprsa_vault_find_name(vault, "k");
    assert_null(warprsa_vault_key_for_engines(key));
    warprsa_vault_key_release(key);
    warprsa_vault_free(vault);
}

static atomic_bool stop;
static atomic_uint answers;

/* Uses keys while they come and go. */
static void *use_keys(void *arg)
{
    while (!atomic_load(&stop)) {
        warprsa_vault_key *key = warprsa_vault_find_name(arg, "www");

        if (key != NULL) {
            const warprsa_denial denial =
                warprsa_vault_may(key, &alice, &sign, NULL);

            assert_true(denial == WARPRSA_ALLOWED ||
                        denial == WARPRSA_DENIED_NO_KEY);
            atomic_fetch_add(&answers, 1);
        }
        warprsa_vault_key_release(key);
    }
    return NULL;
}

static void ignore_line(void *arg, int level, const char *line)
{
}

TEST(test_threads)
{
    static const char *const readings[] = {"www=0", "www=1 ca=0", "ca=1", ""};
    warprsa_vault *vault = warprsa_vault_new(ignore_line, NULL);
    pthread_t threads[3];

    read_keys(vault, "www=0", rules_of_alice);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_keys, vault), 0);
    while (atomic_load(&answers) < 100)
        usleep(1000);
    for (unsigned i = 0; i < 200; i++)
        read_keys(vault, readings[i % 4], rules_of_alice);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    warprsa_vault_free(vault);
}

RUN_TESTS(make_keys, free_keys)
