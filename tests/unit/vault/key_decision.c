/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What rules of keys.conf allow: decisions by tables, and rights.
 */
#include "tests/unit/vault/key_rules_fixture.h"

#define YES     WARPRSA_ALLOWED
#define NO(why) WARPRSA_DENIED_##why
#define USE(operation_, padding_, digest_, mgf1_digest_)                       \
    {                                                                          \
        .operation = (operation_), .padding = PAD(padding_),                   \
        .digest = DIG(digest_), .mgf1_digest = DIG(mgf1_digest_)               \
    }

static const char rules_text[] =
    "www user=alice sign padding=pss,pkcs1 digest=sha256,sha384\n"
    "www user=alice decrypt padding=oaep digest=sha1\n"
    "www user=bob decrypt padding=pkcs1\n"
    "www user=bob sign padding=pkcs1 digest=any\n"
    "www group=staff sign padding=none\n"
    "ca user=bob sign decrypt padding=pkcs1,oaep digest=sha512\n"
    "* identity=dns:gw1 sign padding=none\n"
    "* user=1003 decrypt padding=tls\n";

static const uint32_t staff[] = {5, STAFF};

static const struct decision {
    const char *key;
    warprsa_vault_user user;
    warprsa_key_use use;
    warprsa_denial answer;
} decisions[] = {
    {"www", {.uid = ALICE}, USE(SIGN, PSS, SHA256, SHA256), YES},
    {"www", {.uid = ALICE}, USE(SIGN, PSS, SHA256, SHA384), YES},
    {"www", {.uid = ALICE}, USE(SIGN, PSS, SHA256, SHA1), NO(DIGEST)},
    {"www", {.uid = ALICE}, USE(SIGN, PSS, SHA1, SHA256), NO(DIGEST)},
    {"www", {.uid = ALICE}, USE(SIGN, PKCS1, SHA384, NONE), YES},
    {"www", {.uid = ALICE}, USE(SIGN, PKCS1, NONE, NONE), NO(DIGEST)},
    {"www", {.uid = ALICE}, USE(SIGN, PKCS1, MD5_SHA1, NONE), NO(DIGEST)},
    {"www", {.uid = ALICE}, USE(SIGN, NONE, NONE, NONE), NO(PADDING)},
    {"www", {.uid = ALICE}, USE(DECRYPT, NONE, NONE, NONE), NO(PADDING)},
    {"www", {.uid = ALICE}, USE(DECRYPT, PKCS1, NONE, NONE), NO(PADDING)},
    {"www", {.uid = ALICE}, USE(DECRYPT, TLS, NONE, NONE), NO(PADDING)},
    {"www", {.uid = ALICE}, USE(DECRYPT, OAEP, SHA1, SHA1), YES},
    {"www", {.uid = ALICE}, USE(DECRYPT, OAEP, SHA1, MD5), NO(DIGEST)},
    /* What one line allows for signatures counts for none of another's. */
    {"www", {.uid = ALICE}, USE(DECRYPT, OAEP, SHA256, SHA256), NO(DIGEST)},
    {"www", {.uid = BOB}, USE(DECRYPT, PKCS1, NONE, NONE), YES},
    {"www", {.uid = BOB}, USE(DECRYPT, TLS, NONE, NONE), YES},
    {"www", {.uid = BOB}, USE(DECRYPT, NONE, NONE, NONE), NO(PADDING)},
    {"www", {.uid = BOB}, USE(SIGN, PKCS1, NONE, NONE), YES},
    {"www", {.uid = BOB}, USE(SIGN, PKCS1, SM3, NONE), YES},
    {"www", {.uid = BOB}, USE(SIGN, PSS, SHA256, SHA256), NO(PADDING)},
    {"www", {.uid = MALLORY}, USE(SIGN, NONE, NONE, NONE), NO(USER)},
    {"www", {.uid = MALLORY, .gid = STAFF}, USE(SIGN, NONE, NONE, NONE), YES},
    {"www",
     {.uid = MALLORY, .groups = staff, .group_count = 2},
     USE(SIGN, NONE, NONE, NONE),
     YES},
    {"www",
     {.uid = MALLORY, .groups = staff, .group_count = 1},
     USE(SIGN, NONE, NONE, NONE),
     NO(USER)},
    {"www",
     {.uid = MALLORY, .gid = STAFF},
     USE(DECRYPT, NONE, NONE, NONE),
     NO(OPERATION)},
    /* The line that is nearest decides about the reason. */
    {"www",
     {.uid = BOB, .gid = STAFF},
     USE(DECRYPT, NONE, NONE, NONE),
     NO(PADDING)},
    {"www", {.uid = 0}, USE(SIGN, NONE, NONE, NONE), NO(USER)},
    {"ca", {.uid = ALICE}, USE(SIGN, PKCS1, SHA256, NONE), NO(USER)},
    {"ca", {.uid = BOB}, USE(SIGN, PKCS1, SHA512, NONE), YES},
    {"ca", {.uid = BOB}, USE(DECRYPT, PKCS1, NONE, NONE), YES},
    {"ca", {.uid = BOB}, USE(DECRYPT, OAEP, SHA512, SHA512), YES},
    {"ca", {.uid = BOB}, USE(SIGN, PKCS1, SHA256, NONE), NO(DIGEST)},
    {"ca", {.uid = 1003}, USE(DECRYPT, TLS, NONE, NONE), YES},
    {"ca", {.uid = 1003}, USE(DECRYPT, PKCS1, NONE, NONE), NO(PADDING)},
    {"other",
     {.uid = BOB, .gid = STAFF},
     USE(SIGN, NONE, NONE, NONE),
     NO(USER)},
    {"other", {.identity = "dns:gw1"}, USE(SIGN, NONE, NONE, NONE), YES},
    {"www", {.identity = "dns:gw1"}, USE(SIGN, NONE, NONE, NONE), YES},
    {"www",
     {.identity = "dns:gw1"},
     USE(DECRYPT, NONE, NONE, NONE),
     NO(OPERATION)},
    {"www", {.identity = "dns:gw11"}, USE(SIGN, NONE, NONE, NONE), NO(USER)},
    {"www", {.identity = "dns:gw"}, USE(SIGN, NONE, NONE, NONE), NO(USER)},
    {"www", {.identity = "DNS:gw1"}, USE(SIGN, NONE, NONE, NONE), NO(USER)},
    {"www", {.identity = ""}, USE(SIGN, NONE, NONE, NONE), NO(USER)},
    /* The gateway's own user and groups are not the other host's. */
    {"www",
     {BOB, STAFF, staff, 2, 1, "dns:gw2"},
     USE(SIGN, NONE, NONE, NONE),
     NO(USER)},
};

/* The rules for a key. */
static unsigned rules_for(const warprsa_key_rules *rules, const char *key,
                          const warprsa_key_rule **of)
{
    unsigned count = 0;

    for (unsigned i = 0; i < rules->count; i++)
        if (warprsa_key_rule_is_for(&rules->of[i], key))
            of[count++] = &rules->of[i];
    return count;
}

TEST(test_decisions)
{
    warprsa_key_rules rules;
    const warprsa_key_rule *of[20];

    parse(&rules, rules_text);
    for (size_t i = 0; i < COUNT(decisions); i++) {
        const struct decision *d = &decisions[i];
        unsigned at = 0, count = rules_for(&rules, d->key, of);
        warprsa_denial answer =
            warprsa_key_rules_decide(of, count, &d->user, &d->use, &at);

        if (answer != d->answer)
            fail_msg("decision %zu is %d, not %d", i, (int)answer,
                     (int)d->answer);
        assert_true(answer == YES ? at < count : at == count);
        assert_int_equal(warprsa_key_rules_know(of, count, &d->user),
                         answer != WARPRSA_DENIED_USER);
    }
    warprsa_key_rules_free(&rules);
}

/* Whether the rules allow a use that has no fault, and names this digest alone:
 * what warprsa_key_rules_decide() says. */
static bool allows(const warprsa_key_rule *const *rules, unsigned count,
                   const warprsa_vault_user *user, unsigned operation,
                   unsigned padding, unsigned digest)
{
    warprsa_key_use use = {.operation = (uint8_t)operation,
                           .padding = (uint8_t)padding,
                           .digest = (uint8_t)digest,
                           .input_bytes = 256};
    unsigned at = 0;

    if (padding == PAD(PSS) || padding == PAD(OAEP))
        use.mgf1_digest = use.digest;
    if (padding == PAD(PSS))
        use.input_bytes = (uint16_t)warprsa_use_digest_bytes(digest);
    return warprsa_key_use_fault(&use, 256) == NULL &&
           warprsa_key_rules_decide(rules, count, user, &use, &at) == YES;
}

/* Rights are what the decisions allow, no more and no less. Returns how many
 * bits they have. */
static unsigned try_rights(const warprsa_key_rule *const *rules, unsigned count,
                           const warprsa_vault_user *user)
{
    warprsa_key_rights rights, expected = {0};
    unsigned bits = 0;

    memset(&rights, 0xff, sizeof(rights));
    for (unsigned o = 1; o < WARPRSA_USE_OPERATIONS; o++)
        for (unsigned p = 1; p < WARPRSA_USE_PADDINGS; p++)
            for (unsigned d = 0; d < WARPRSA_USE_DIGESTS; d++) {
                if (!allows(rules, count, user, o, p, d))
                    continue;
                expected.operations |= BIT(o);
                expected.paddings[o] |= BIT(p);
                if (warprsa_use_digests(o, p) != 0)
                    expected.digests[o][p] |= BIT(d);
                bits++;
            }
    warprsa_key_rules_rights(rules, count, user, &rights);
    assert_memory_equal(&rights, &expected, sizeof(rights));
    return bits;
}

TEST(test_rights)
{
    static const warprsa_vault_user alice = {.uid = ALICE};
    static const char *const text[] = {
        rules_text,
        /* Each operation has a padding that the other does not. */
        "www user=alice sign decrypt padding=pss,oaep digest=any\n",
        /* All digests that make no signatures. */
        "www user=alice sign padding=pss,pkcs1 "
        "digest=sm3,shake128,blake2s256\n",
        "www user=alice sign padding=pkcs1 digest=sha1\n"
        "www user=alice sign padding=pss digest=sha256 rate=1\n"
        "www user=alice decrypt padding=none\n",
        ""};
    static const unsigned bits[] = {5, 14 + 19, 0, 1 + 1 + 1, 0};
    const warprsa_key_rule *of[20];

    for (size_t i = 0; i < COUNT(text); i++) {
        warprsa_key_rules rules;
        unsigned count;

        parse(&rules, text[i]);
        count = rules_for(&rules, "www", of);
        assert_int_equal(try_rights(of, count, &alice), bits[i]);
        for (size_t j = 0; j < COUNT(decisions); j++) {
            count = rules_for(&rules, decisions[j].key, of);
            (void)try_rights(of, count, &decisions[j].user);
        }
        warprsa_key_rules_free(&rules);
    }
}

/* Two rules that each allow one digest of a pair allow no use with both: rights
 * are a bound. */
TEST(test_rights_are_a_bound)
{
    static const warprsa_vault_user alice = {.uid = ALICE};
    static const warprsa_key_use use = USE(SIGN, PSS, SHA256, SHA384);
    const warprsa_key_rule *of[2];
    warprsa_key_rights rights;
    warprsa_key_rules rules;
    unsigned at = 0;

    parse(&rules, "www user=alice sign padding=pss digest=sha256\n"
                  "www user=alice sign padding=pss digest=sha384\n");
    assert_int_equal(rules_for(&rules, "www", of), 2);
    warprsa_key_rules_rights(of, 2, &alice, &rights);
    assert_int_equal(rights.digests[SIGN][PAD(PSS)],
                     BIT(DIG(SHA256)) | BIT(DIG(SHA384)));
    assert_int_equal(warprsa_key_rules_decide(of, 2, &alice, &use, &at),
                     NO(DIGEST));
    warprsa_key_rules_free(&rules);
}

/* Without rules nothing is allowed to anybody. */
TEST(test_no_rules)
{
    const warprsa_vault_user root = {.uid = 0};

    for (unsigned operation = 1; operation < WARPRSA_USE_OPERATIONS;
         operation++)
        for (unsigned padding = 1; padding < WARPRSA_USE_PADDINGS; padding++) {
            const warprsa_key_use use = {.operation = (uint8_t)operation,
                                         .padding = (uint8_t)padding};
            unsigned at = 0;

            assert_int_equal(
                warprsa_key_rules_decide(NULL, 0, &root, &use, &at), NO(USER));
        }
}

/* A caller whose rate is used up by one rule asks for the next. */
TEST(test_next_rule)
{
    static const char text[] = "k user=alice sign padding=none rate=1\n"
                               "k user=bob sign padding=none\n"
                               "k user=alice sign padding=none rate=2\n";
    const warprsa_vault_user alice = {.uid = ALICE};
    const warprsa_key_use use = USE(SIGN, NONE, NONE, NONE);
    const warprsa_key_rule *of[3];
    warprsa_key_rules rules;
    unsigned at = 0, count = 0;

    parse(&rules, text);
    count = rules_for(&rules, "k", of);
    assert_int_equal(warprsa_key_rules_decide(of, count, &alice, &use, &at),
                     YES);
    assert_int_equal(at, 0);
    at++;
    assert_int_equal(warprsa_key_rules_decide(of, count, &alice, &use, &at),
                     YES);
    assert_int_equal(at, 2);
    at++;
    assert_int_equal(warprsa_key_rules_decide(of, count, &alice, &use, &at),
                     NO(USER));
    warprsa_key_rules_free(&rules);
}

RUN_TESTS(NULL, NULL)
