/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Ledgers: rates at times that the test chooses, accounts by user, the bounds
 * on their number, and what the rules say to a user.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/vault/vault_ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"

#define MS WARPRSA_NS_PER_MS

enum {
    ALICE = 1001,
    BOB = 1002,
};

static const warprsa_vault_user alice = {.uid = ALICE}, bob = {.uid = BOB};
static const warprsa_key_use sign = {.operation = WARPRSA_USE_SIGN,
                                     .padding = WARPRSA_PADDING_NONE};
static const warprsa_key_use decrypt = {.operation = WARPRSA_USE_DECRYPT,
                                        .padding = WARPRSA_PADDING_NONE};

static void parse(warprsa_key_rules *rules, const char *text)
{
    char why[400] = "";

    *rules = (warprsa_key_rules){0};
    if (!warprsa_key_rules_parse(rules, "keys.conf", text, strlen(text),
                                 &warprsa_key_rules_names, why, sizeof(why)))
        fail_msg("%s", why);
}

static warprsa_vault_ledger *ledger_new(warprsa_key_rules *rules,
                                        const char *text)
{
    warprsa_vault_ledger *ledger = warprsa_vault_ledger_new("www", NULL);

    assert_non_null(ledger);
    parse(rules, text);
    assert_true(warprsa_vault_ledger_set_rules(ledger, rules));
    return ledger;
}

static void assert_decision(warprsa_vault_ledger *ledger,
                            const warprsa_vault_user *user,
                            const warprsa_key_use *use, uint64_t now_ns,
                            warprsa_denial expected)
{
    assert_int_equal(warprsa_vault_ledger_decide(ledger, user, use,
                                                 WARPRSA_ALLOWED, now_ns, NULL),
                     expected);
}

/* How many of `tries` uses are allowed at one time. */
static unsigned allowed_at(warprsa_vault_ledger *ledger,
                           const warprsa_vault_user *user, uint64_t now_ns,
                           unsigned tries)
{
    unsigned allowed = 0;

    while (tries-- > 0)
        allowed +=
            warprsa_vault_ledger_decide(ledger, user, &sign, WARPRSA_ALLOWED,
                                        now_ns, NULL) == WARPRSA_ALLOWED;
    return allowed;
}

TEST(test_rate)
{
    warprsa_key_rules rules;
    warprsa_vault_ledger *ledger =
        ledger_new(&rules, "www user=1001,1002 sign padding=none rate=100\n");
    uint64_t now = 1000 * MS;
    unsigned allowed = 0;

    /* A burst of a tenth of a second, and the one that is due. */
    assert_int_equal(allowed_at(ledger, &alice, now, 1000), 11);
    assert_decision(ledger, &alice, &sign, now, WARPRSA_DENIED_RATE);
    /* Another user has a rate of its own, on the same line. */
    assert_int_equal(allowed_at(ledger, &bob, now, 1000), 11);
    for (unsigned ms = 0; ms < 10000; ms++)
        allowed += allowed_at(ledger, &alice, now += MS, 3);
    assert_int_equal(allowed, 1000);
    /* A pause gives no more than the burst. */
    assert_int_equal(allowed_at(ledger, &alice, now + 3600000 * MS, 1000), 11);
    /* What is forbidden anyway is not a matter of rates. */
    assert_decision(ledger, &alice, &decrypt, now, WARPRSA_DENIED_OPERATION);
    warprsa_vault_ledger_free(ledger);
    warprsa_key_rules_free(&rules);
}

/* A second line that allows the use has a rate of its own, or none. */
TEST(test_rates_of_lines)
{
    warprsa_key_rules rules;
    warprsa_vault_ledger *ledger =
        ledger_new(&rules, "www user=1001 sign padding=none rate=1\n"
                           "www user=1001,1002 sign padding=none rate=2\n"
                           "* user=1002 sign padding=none\n");

    assert_int_equal(allowed_at(ledger, &alice, MS, 100), 2);
    assert_int_equal(allowed_at(ledger, &bob, MS, 100), 100);
    /* New rules: the rates begin anew. */
    assert_true(warprsa_vault_ledger_set_rules(ledger, &rules));
    assert_int_equal(allowed_at(ledger, &alice, MS, 100), 2);
    warprsa_vault_ledger_free(ledger);
    warprsa_key_rules_free(&rules);
}

/* Which rate pays for a use that is allowed. */
static warprsa_vault_paid pay(warprsa_vault_ledger *ledger,
                              const warprsa_vault_user *user,
                              const warprsa_key_use *use)
{
    warprsa_vault_paid paid = {.line = 99};

    assert_int_equal(warprsa_vault_ledger_decide(
                         ledger, user, use, WARPRSA_ALLOWED, 1000 * MS, &paid),
                     WARPRSA_ALLOWED);
    return paid;
}

/* What could not be begun costs nothing of the rate, and stays counted. */
TEST(test_rate_given_back)
{
    warprsa_key_rules rules;
    warprsa_vault_ledger *ledger =
        ledger_new(&rules, "www user=1001,1002 sign padding=none rate=20\n"
                           "www user=1002 sign padding=none\n");
    warprsa_vault_paid paid = pay(ledger, &alice, &sign), none;

    assert_int_equal(paid.line, 1);
    assert_int_equal(allowed_at(ledger, &alice, 1000 * MS, 100), 2);
    warprsa_vault_ledger_give_back(ledger, &alice, &paid);
    warprsa_vault_ledger_give_back(ledger, &alice, &paid);
    assert_int_equal(allowed_at(ledger, &alice, 1000 * MS, 100), 2);
    /* What a line without a rate allows costs nothing. */
    assert_int_equal(allowed_at(ledger, &bob, 1000 * MS, 100), 100);
    none = pay(ledger, &bob, &sign);
    assert_int_equal(none.line, 0);
    warprsa_vault_ledger_give_back(ledger, &bob, &none);
    assert_decision(ledger, &alice, &sign, 1000 * MS, WARPRSA_DENIED_RATE);
    /* However often: it takes back no more than the clock. */
    for (unsigned i = 0; i < 1000; i++)
        warprsa_vault_ledger_give_back(ledger, &alice, &paid);
    assert_true(allowed_at(ledger, &alice, 1000 * MS, 100) < 100);
    warprsa_vault_ledger_free(ledger);
    warprsa_key_rules_free(&rules);
}

/* What is given back is what the use took, not what the user's last one did;
 * and nothing, if there are other rules by then. */
TEST(test_rate_given_back_where_it_was_taken)
{
    warprsa_key_rules rules;
    warprsa_vault_ledger *ledger =
        ledger_new(&rules, "www user=1001 sign padding=none\n"
                           "www user=1001 decrypt padding=none rate=1\n");
    const warprsa_vault_paid free_of_charge = pay(ledger, &alice, &sign);
    const warprsa_vault_paid paid = pay(ledger, &alice, &decrypt);

    assert_int_equal(paid.line, 2);
    for (unsigned i = 0; i < 100; i++)
        warprsa_vault_ledger_give_back(ledger, &alice, &free_of_charge);
    assert_decision(ledger, &alice, &decrypt, 1000 * MS, WARPRSA_DENIED_RATE);
    warprsa_vault_ledger_give_back(ledger, &alice, &paid);
    assert_decision(ledger, &alice, &decrypt, 1000 * MS, WARPRSA_ALLOWED);
    assert_true(warprsa_vault_ledger_set_rules(ledger, &rules));
    assert_decision(ledger, &alice, &decrypt, 1000 * MS, WARPRSA_ALLOWED);
    warprsa_vault_ledger_give_back(ledger, &alice, &paid);
    assert_decision(ledger, &alice, &decrypt, 1000 * MS, WARPRSA_DENIED_RATE);
    warprsa_vault_ledger_free(ledger);
    warprsa_key_rules_free(&rules);
}

/* A user who is named by number and by a group of the same line. */
TEST(test_rate_of_user_and_group)
{
    const warprsa_vault_user user = {.uid = ALICE, .gid = 2001};
    warprsa_key_rules rules;
    warprsa_vault_ledger *ledger = ledger_new(
        &rules, "www user=1001 group=2001 sign padding=none rate=1\n");

    assert_int_equal(allowed_at(ledger, &user, MS, 100), 1);
    warprsa_vault_ledger_free(ledger);
    warprsa_key_rules_free(&rules);
}

typedef struct sums {
    unsigned accounts, others;
    uint64_t uses, denials, others_denials, others_uses;
    const char *identity; /* of the last account that has one */
} sums;

static void add(void *arg, const warprsa_vault_account *account)
{
    sums *s = arg;

    assert_string_equal(account->key, "www");
    s->accounts++;
    s->others += account->is_others;
    s->uses += account->uses;
    if (account->identity != NULL)
        s->identity = account->identity;
    for (unsigned i = 0; i < WARPRSA_DENIALS; i++) {
        s->denials += account->denials[i];
        if (account->is_others)
            s->others_denials += account->denials[i];
    }
    if (account->is_others)
        s->others_uses = account->uses;
}

static sums sum_of(warprsa_vault_ledger *ledger, bool changed)
{
    sums s = {0};

    warprsa_vault_ledger_each(ledger, changed, add, &s);
    return s;
}

TEST(test_accounts)
{
    const warprsa_vault_user host = {.uid = ALICE, .identity = "dns:a"};
    const warprsa_vault_user other_host = {.uid = ALICE, .identity = "dns:b"};
    warprsa_key_rules rules;
    warprsa_vault_ledger *ledger =
        ledger_new(&rules, "www user=1001 identity=dns:a sign padding=none\n");
    sums s;

    assert_int_equal(sum_of(ledger, false).accounts, 0);
    assert_decision(ledger, &alice, &sign, MS, WARPRSA_ALLOWED);
    assert_decision(ledger, &alice, &sign, MS, WARPRSA_ALLOWED);
    assert_decision(ledger, &alice, &decrypt, MS, WARPRSA_DENIED_OPERATION);
    assert_decision(ledger, &host, &sign, MS, WARPRSA_ALLOWED);
    assert_decision(ledger, &other_host, &sign, MS, WARPRSA_DENIED_USER);
    assert_decision(ledger, &bob, &sign, MS, WARPRSA_DENIED_USER);
    assert_int_equal(sum_of(ledger, true).accounts, 4);
    assert_int_equal(sum_of(ledger, true).accounts, 0);
    assert_int_equal(sum_of(ledger, false).accounts, 4);
    assert_int_equal(sum_of(ledger, false).uses, 3);
    assert_int_equal(sum_of(ledger, false).denials, 3);
    assert_decision(ledger, &host, &sign, MS, WARPRSA_ALLOWED);
    s = sum_of(ledger, true);
    assert_int_equal(s.accounts, 1);
    assert_string_equal(s.identity, "dns:a");
    /* What was denied before, as by the key itself, is counted and stays. */
    assert_int_equal(warprsa_vault_ledger_decide(ledger, &alice, &sign,
                                                 WARPRSA_DENIED_NO_KEY, MS,
                                                 NULL),
                     WARPRSA_DENIED_NO_KEY);
    assert_int_equal(sum_of(ledger, false).denials, 4);
    warprsa_vault_ledger_free(ledger);
    warprsa_key_rules_free(&rules);
}

static const warprsa_key_account *shown(warprsa_key_accounts *accounts,
                                        const char *by)
{
    return warprsa_key_accounts_find(accounts, "www", by, false);
}

/* What others see goes on when a new process begins with a new ledger. */
TEST(test_shown_accounts)
{
    static const char text[] =
        "www user=1001 identity=dns:a sign padding=none\n";
    const warprsa_vault_user host = {.uid = ALICE, .identity = "dns:a"};
    warprsa_key_accounts *accounts = warprsa_key_accounts_new();
    warprsa_key_rules rules;

    assert_non_null(accounts);
    parse(&rules, text);
    for (unsigned process = 1; process <= 2; process++) {
        warprsa_vault_ledger *ledger =
            warprsa_vault_ledger_new("www", accounts);

        assert_non_null(ledger);
        assert_true(warprsa_vault_ledger_set_rules(ledger, &rules));
        assert_decision(ledger, &alice, &sign, MS, WARPRSA_ALLOWED);
        assert_decision(ledger, &alice, &sign, MS, WARPRSA_ALLOWED);
        assert_decision(ledger, &alice, &decrypt, MS, WARPRSA_DENIED_OPERATION);
        assert_decision(ledger, &host, &sign, MS, WARPRSA_ALLOWED);
        assert_decision(ledger, &bob, &sign, MS, WARPRSA_DENIED_USER);
        assert_int_equal(shown(accounts, "1001")->uses, 2 * process);
        assert_int_equal(
            shown(accounts, "1001")->denials[WARPRSA_DENIED_OPERATION],
            process);
        assert_int_equal(shown(accounts, "dns:a")->uses, process);
        assert_int_equal(shown(accounts, "1002")->uses, 0);
        assert_int_equal(shown(accounts, "1002")->denials[WARPRSA_DENIED_USER],
                         process);
        assert_int_equal(accounts->allowed_taken, 2);
        assert_int_equal(accounts->denied_taken, 1);
        warprsa_vault_ledger_free(ledger);
    }
    warprsa_key_rules_free(&rules);
    warprsa_key_accounts_free(accounts);
}

/* Strangers without number share an account, and take none of another's. */
TEST(test_strangers)
{
    warprsa_key_rules rules;
    warprsa_vault_ledger *ledger =
        ledger_new(&rules, "www user=1001,1002 sign padding=none rate=1\n");
    sums s;

    for (unsigned uid = 5000; uid < 6000; uid++) {
        const warprsa_vault_user stranger = {.uid = uid};

        assert_decision(ledger, &stranger, &sign, MS, WARPRSA_DENIED_USER);
    }
    s = sum_of(ledger, false);
    assert_int_equal(s.accounts, 257);
    assert_int_equal(s.others, 1);
    assert_int_equal(s.others_denials, 1000 - 256);
    assert_int_equal(allowed_at(ledger, &alice, MS, 10), 1);
    assert_int_equal(allowed_at(ledger, &bob, MS, 10), 1);
    assert_int_equal(sum_of(ledger, false).accounts, 259);
    warprsa_vault_ledger_free(ledger);
    warprsa_key_rules_free(&rules);
}

/* More users than accounts: their uses are counted, too. */
TEST(test_many_users)
{
    const unsigned most = 4096, users = most + 10;
    warprsa_key_rules rules;
    warprsa_vault_ledger *ledger =
        ledger_new(&rules, "www group=7 sign padding=none\n");
    sums s;

    for (unsigned uid = 0; uid < users; uid++) {
        const warprsa_vault_user user = {.uid = uid, .gid = 7};

        assert_decision(ledger, &user, &sign, MS, WARPRSA_ALLOWED);
    }
    s = sum_of(ledger, false);
    assert_int_equal(s.accounts, most + 1);
    assert_int_equal(s.uses, users);
    assert_int_equal(s.others_uses, 10);
    warprsa_vault_ledger_free(ledger);
    warprsa_key_rules_free(&rules);
}

/* A user has the rights of the rules for this name and this user alone. */
TEST(test_rights)
{
    warprsa_key_rules rules;
    warprsa_vault_ledger *ledger =
        ledger_new(&rules, "www user=1001 sign padding=pss digest=sha384\n"
                           "www user=1002 decrypt padding=tls\n"
                           "ca user=1001 decrypt padding=none\n");
    warprsa_key_rights rights;

    warprsa_vault_ledger_rights(ledger, &alice, &rights);
    assert_int_equal(rights.operations, 1 << WARPRSA_USE_SIGN);
    assert_int_equal(rights.paddings[WARPRSA_USE_SIGN],
                     1 << WARPRSA_PADDING_PSS);
    assert_int_equal(rights.digests[WARPRSA_USE_SIGN][WARPRSA_PADDING_PSS],
                     1 << WARPRSA_DIGEST_SHA384);
    warprsa_vault_ledger_rights(ledger, &bob, &rights);
    assert_int_equal(rights.operations, 1 << WARPRSA_USE_DECRYPT);
    assert_int_equal(rights.paddings[WARPRSA_USE_SIGN], 0);
    warprsa_vault_ledger_rights(ledger, &(warprsa_vault_user){.uid = 3},
                                &rights);
    assert_int_equal(rights.operations, 0);
    warprsa_vault_ledger_free(ledger);
    warprsa_key_rules_free(&rules);
}

/* A text that is cut says so, after whole words. */
static void assert_cut(const char *text, const char *all)
{
    const size_t length = strlen(text);

    assert_true(length >= 3);
    assert_string_equal(text + length - 3, "...");
    assert_memory_equal(text, all, length - 3);
    assert_true(length == 3 || text[length - 4] == ' ');
}

TEST(test_describe)
{
    static const char expected[] =
        "sign padding=pkcs1,pss digest=sha256,sha384 rate=7; "
        "sign decrypt padding=none,pkcs1,tls digest=any";
    warprsa_key_rules rules;
    warprsa_vault_ledger *ledger = ledger_new(
        &rules,
        "www user=1001 sign padding=pss,pkcs1 digest=sha384,sha256 rate=7\n"
        "www user=1002 decrypt padding=tls\n"
        "ca user=1001 decrypt padding=oaep digest=sha1\n"
        "* user=1001 sign decrypt padding=pkcs1,none digest=any\n");
    char text[200];

    warprsa_vault_ledger_describe(ledger, &alice, text, sizeof(text));
    assert_string_equal(text, expected);
    warprsa_vault_ledger_describe(ledger, &bob, text, sizeof(text));
    assert_string_equal(text, "decrypt padding=tls");
    warprsa_vault_ledger_describe(ledger, &(warprsa_vault_user){.uid = 3}, text,
                                  sizeof(text));
    assert_string_equal(text, "");
    for (size_t size = 1; size < sizeof(expected); size++) {
        memset(text, 'x', sizeof(text));
        warprsa_vault_ledger_describe(ledger, &alice, text, size);
        assert_non_null(memchr(text, '\0', size));
        assert_int_equal(text[size], 'x');
        if (size > 3)
            assert_cut(text, expected);
        else
            assert_string_equal(text, "");
    }
    /* Half of a rate would be another rate, and half of a list another list. */
    warprsa_vault_ledger_describe(ledger, &alice, text,
                                  sizeof(expected) - sizeof(",tls digest=any"));
    assert_string_equal(text, "sign padding=pkcs1,pss digest=sha256,sha384 "
                              "rate=7; sign decrypt ...");
    warprsa_vault_ledger_describe(ledger, &alice, text, sizeof(expected) - 1);
    assert_string_equal(text,
                        "sign padding=pkcs1,pss digest=sha256,sha384 rate=7; "
                        "sign decrypt padding=none,pkcs1,tls ...");
    warprsa_vault_ledger_describe(ledger, &alice, text, sizeof(expected));
    assert_string_equal(text, expected);
    assert_true(warprsa_vault_ledger_knows(ledger, &bob));
    assert_false(
        warprsa_vault_ledger_knows(ledger, &(warprsa_vault_user){.uid = 3}));
    warprsa_vault_ledger_free(ledger);
    warprsa_key_rules_free(&rules);
}

RUN_TESTS(NULL, NULL)
