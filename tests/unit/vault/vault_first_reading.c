/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys that come before the end of a vault's first reading: they are used
 * meanwhile, by the rules, and the end finds them there.
 */
#include "tests/unit/vault/transfer_fixture.h"

static const warprsa_vault_user user = {.uid = 7};

/* What a user may do with a key of the vault. */
static warprsa_denial may(const char *name)
{
    const warprsa_key_use use = {.operation = WARPRSA_USE_SIGN,
                                 .padding = WARPRSA_PADDING_NONE};
    warprsa_vault_key *key = warprsa_vault_find_name(vault, name);
    warprsa_denial denial = WARPRSA_DENIED_NO_KEY;

    if (key != NULL)
        denial = warprsa_vault_may(key, &user, &use, NULL);
    warprsa_vault_key_release(key);
    return denial;
}

static size_t certificates_of(const char *name)
{
    warprsa_vault_key *key = warprsa_vault_find_name(vault, name);
    uint32_t edition = 0;
    char pem[8];
    const size_t bytes =
        warprsa_vault_key_certificates(key, 0, pem, sizeof(pem), &edition);

    warprsa_vault_key_release(key);
    return bytes;
}

/* One rule for all keys. Its rate allows so many uses, since the clock stands
 * still: one, and those of a burst of a tenth of a second. */
static void send_rule(unsigned uses)
{
    const warprsa_name_service *names = &warprsa_key_rules_names;
    const unsigned rate = uses > 1 ? 10 * (uses - 1) : 1;
    char why[200], text[100];
    warprsa_key_rules rules = {0};

    snprintf(text, sizeof(text), "* user=7 sign padding=none rate=%u\n", rate);
    assert_true(warprsa_key_rules_parse(&rules, "", text, strlen(text), names,
                                        why, sizeof(why)));
    assert_int_equal(rules.count, 1);
    record.rule = rules.of[0];
    send_kind(WARPRSA_RECORD_RULE);
    warprsa_key_rules_free(&rules);
}

static void send_certificates(const char *name, unsigned bytes)
{
    memset(&record, 0, sizeof(record));
    strcpy(record.name, name);
    record.piece.total = record.piece.bytes = bytes;
    send_kind(WARPRSA_RECORD_CERTIFICATES);
}

/* The first keys are used, by the rules, while others are still checked. The
 * end of the reading finds them there, with what was counted of their rates. */
TEST_IN(test_as_they_come, begin, end)
{
    send_kind(WARPRSA_RECORD_BEGIN);
    send_rule(2);
    send_key("www", pkeys[0]);
    assert_received(WARPRSA_VAULT_NOTHING_YET);
    assert_false(has_key("www")); /* it may have certificates */
    send_certificates("www", 5);
    send_kind(WARPRSA_RECORD_SO_FAR);
    assert_received(WARPRSA_VAULT_NOTHING_YET);
    assert_logged("key www: added: RSA of 1024 bits, with certificates\n");
    assert_false(warprsa_vault_is_filled(vault));
    assert_int_equal(may("www"), WARPRSA_ALLOWED);
    send_key("ca", pkeys[1]);
    send_kind(WARPRSA_RECORD_SO_FAR);
    assert_received(WARPRSA_VAULT_NOTHING_YET);
    assert_logged("key ca: added: RSA of 1024 bits\n");
    assert_int_equal(may("ca"), WARPRSA_ALLOWED);
    assert_int_equal(may("www"), WARPRSA_ALLOWED);
    send_kind(WARPRSA_RECORD_END);
    assert_received(WARPRSA_VAULT_REPLACED);
    assert_logged("");
    assert_true(warprsa_vault_is_filled(vault));
    assert_int_equal(may("ca"), WARPRSA_ALLOWED);
    assert_int_equal(may("www"), WARPRSA_DENIED_RATE);
    assert_int_equal(certificates_of("www"), 5);
    assert_int_equal(certificates_of("ca"), 0);
    assert_int_equal(warprsa_vault_generation(vault), 0);
}

/* A vault that has taken a reading takes the next one as a whole. */
TEST_IN(test_a_reload_is_whole, begin, end)
{
    take_empty_reading();
    send_kind(WARPRSA_RECORD_BEGIN);
    send_rule(2);
    send_key("www", pkeys[0]);
    send_kind(WARPRSA_RECORD_SO_FAR);
    assert_received(WARPRSA_VAULT_NOTHING_YET);
    assert_false(has_key("www"));
    send_kind(WARPRSA_RECORD_END);
    assert_received(WARPRSA_VAULT_REPLACED);
    assert_int_equal(may("www"), WARPRSA_ALLOWED);
}

/* A reader dies after its first keys. They stay until the next one has read
 * all, by the rules that it brings, and then are what it has found. */
TEST_IN(test_a_first_reader_dies, begin, end)
{
    send_kind(WARPRSA_RECORD_BEGIN);
    send_rule(2);
    send_key("www", pkeys[0]);
    send_certificates("www", 5);
    send_kind(WARPRSA_RECORD_SO_FAR);
    send_key("gone", pkeys[1]);
    send_kind(WARPRSA_RECORD_SO_FAR);
    assert_received(WARPRSA_VAULT_NOTHING_YET);
    send_kind(WARPRSA_RECORD_BEGIN);
    send_rule(1);
    send_key("www", pkeys[0]);
    send_certificates("www", 6);
    send_kind(WARPRSA_RECORD_SO_FAR);
    assert_received(WARPRSA_VAULT_NOTHING_YET);
    assert_int_equal(may("www"), WARPRSA_ALLOWED);
    assert_int_equal(may("www"), WARPRSA_DENIED_RATE);
    assert_int_equal(may("gone"), WARPRSA_ALLOWED);
    log_text[0] = '\0';
    send_kind(WARPRSA_RECORD_END);
    assert_received(WARPRSA_VAULT_REPLACED);
    assert_logged("key gone: removed\n");
    assert_true(has_key("www"));
    assert_int_equal(certificates_of("www"), 6);
}

/* Of two names of one key the second is left out, whichever comes first, and
 * said to be refused once. */
TEST_IN(test_two_names_as_they_come, begin, end)
{
    send_kind(WARPRSA_RECORD_BEGIN);
    send_key("b", pkeys[0]);
    send_kind(WARPRSA_RECORD_SO_FAR);
    assert_received(WARPRSA_VAULT_NOTHING_YET);
    assert_true(has_key("b"));
    send_key("a", pkeys[0]);
    send_kind(WARPRSA_RECORD_SO_FAR);
    assert_received(WARPRSA_VAULT_NOTHING_YET);
    assert_true(has_key("a"));
    assert_false(has_key("b"));
    log_text[0] = '\0';
    send_kind(WARPRSA_RECORD_END);
    assert_received(WARPRSA_VAULT_REPLACED);
    assert_logged("key b: refused: it is the same key as a\n");
}

/* Rules that come too late, and a key that is not whole. */
TEST_IN(test_malformed_parts, begin, end)
{
    send_kind(WARPRSA_RECORD_BEGIN);
    send_key("www", pkeys[0]);
    send_kind(WARPRSA_RECORD_SO_FAR);
    assert_received(WARPRSA_VAULT_NOTHING_YET);
    send_rule(1);
    assert_received(WARPRSA_VAULT_MALFORMED);
    assert_int_equal(may("www"), WARPRSA_DENIED_USER);
    send_kind(WARPRSA_RECORD_BEGIN);
    send_key("ca", pkeys[1]);
    send_half_of_certificates("ca");
    send_kind(WARPRSA_RECORD_SO_FAR);
    assert_received(WARPRSA_VAULT_MALFORMED);
    assert_false(has_key("ca"));
}

RUN_TESTS(set_up, tear_down)
