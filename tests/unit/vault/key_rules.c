/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * keys.conf: every word, and where each mistake is found.
 */
#include "tests/unit/vault/key_rules_fixture.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>

#include <openssl/core_names.h>
#include <openssl/param_build.h>
#include <openssl/x509.h>

/* An RSA key of 1024 bits, one of 512, and one of another kind. */
#define RSA_KEY                                                                \
    "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDbDFECdZIVmvtgNbg2DrrC"             \
    "aZ/8qGHnSfI6wmm/cIUBDIs1+wK27ZVxxbmIoFwc8jRQx47qisNo2mwK0hD5"             \
    "nqvA6r6tyMm+2mvzWIuKxsaB5O8y9jD55J4lQBT1FAg2CQy6qqsxdfh7q8nt"             \
    "9qy6f9O3NA5LFDfwo8cbMZGqRlRr1wIDAQAB"
#define SHORT_KEY                                                              \
    "MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAMuceCmrAWS1TbLghTrJvheMon9Q"             \
    "ay3vtFecrOYuiziDtUZP99bJopeATNZoq82G+Ecc1MCGLOVoXnB2y6+MxYMC"             \
    "AwEAAQ=="
#define EC_KEY                                                                 \
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEDplkGXQvnLRcQzAEr2WwDZh2"             \
    "c3BVuTparMK1q0dlBaR1KVOPXhyGu/LwgVmfiz3MfViHyOJPOrppoBfnbMcn"             \
    "MQ=="

TEST(test_each_word)
{
    static const struct {
        const char *line;
        warprsa_key_rule rule;
    } lines[] = {
        {"www user=alice sign padding=none",
         {.key = "www",
          .who = WARPRSA_WHO_USER,
          .id = ALICE,
          .operations = BIT(SIGN),
          .paddings = BIT(PAD(NONE))}},
        {"\t*\tgroup=staff  decrypt padding=none,oaep digest=sha1 rate=7\r",
         {.key = "*",
          .who = WARPRSA_WHO_GROUP,
          .id = STAFF,
          .operations = BIT(DECRYPT),
          .paddings = BIT(PAD(NONE)) | BIT(PAD(OAEP)),
          .digests = BIT(DIG(SHA1)),
          .rate = 7}},
        {"a.b_c-9 padding=pss,pkcs1 rate=100000000 digest=sha256,sha3-512 "
         "identity=dns:gw1.example.org sign",
         {.key = "a.b_c-9",
          .who = WARPRSA_WHO_IDENTITY,
          .identity = "dns:gw1.example.org",
          .operations = BIT(SIGN),
          .paddings = BIT(PAD(PKCS1)) | BIT(PAD(PSS)),
          .digests = BIT(DIG(SHA256)) | BIT(DIG(SHA3_512)),
          .rate = 100000000}},
        {"k identity=uri:spiffe://a/b decrypt padding=tls",
         {.key = "k",
          .who = WARPRSA_WHO_IDENTITY,
          .identity = "uri:spiffe://a/b",
          .operations = BIT(DECRYPT),
          .paddings = BIT(PAD(TLS))}},
        {"k user=0 decrypt padding=pkcs1",
         {.key = "k",
          .who = WARPRSA_WHO_USER,
          .operations = BIT(DECRYPT),
          .paddings = BIT(PAD(PKCS1)) | BIT(PAD(TLS))}},
        {"k group=4294967294 sign decrypt padding=pkcs1 digest=any",
         {.key = "k",
          .who = WARPRSA_WHO_GROUP,
          .id = 4294967294,
          .operations = BIT(SIGN) | BIT(DECRYPT),
          .paddings = BIT(PAD(PKCS1)) | BIT(PAD(TLS)),
          .digests = ALL_DIGESTS}},
    };

    for (size_t i = 0; i < COUNT(lines); i++) {
        warprsa_key_rules rules;
        warprsa_key_rule expected = lines[i].rule;

        expected.line = 1;
        parse(&rules, lines[i].line);
        assert_int_equal(rules.count, 1);
        assert_memory_equal(&rules.of[0], &expected, sizeof(expected));
        warprsa_key_rules_free(&rules);
    }
}

TEST(test_each_digest)
{
    for (unsigned digest = 1; digest < WARPRSA_USE_DIGESTS; digest++) {
        warprsa_key_rules rules;
        char line[100];

        snprintf(line, sizeof(line), "k user=1 sign padding=pss digest=%s",
                 warprsa_use_digest_name(digest));
        parse(&rules, line);
        assert_int_equal(rules.of[0].digests, BIT(digest));
        warprsa_key_rules_free(&rules);
    }
}

TEST(test_lines)
{
    warprsa_key_rules rules;

    parse(&rules, "# KEY WHO WHAT\n"
                  "\n"
                  " \t \r\n"
                  "  # more\n"
                  "www user=alice,bob,3 group=staff,4 "
                  "identity=dns:a,uri:b sign padding=none\n"
                  "www user=bob sign padding=none");
    assert_int_equal(rules.count, 8);
    for (unsigned i = 0; i < 7; i++)
        assert_int_equal(rules.of[i].line, 5);
    assert_int_equal(rules.of[1].id, BOB);
    assert_int_equal(rules.of[2].id, 3);
    assert_int_equal(rules.of[4].who, WARPRSA_WHO_GROUP);
    assert_int_equal(rules.of[4].id, 4);
    assert_string_equal(rules.of[4].identity, "");
    assert_string_equal(rules.of[6].identity, "uri:b");
    assert_int_equal(rules.of[6].id, 0);
    assert_int_equal(rules.of[7].line, 6);
    warprsa_key_rules_free(&rules);
    parse(&rules, "");
    assert_int_equal(rules.count, 0);
}

/* The line, then where the mistake is, which word, and what is allowed, as the
 * message begins. */
static const char *const mistakes[][2] = {
    {".www user=alice sign padding=none",
     "1:1: \".www\": expected * or a name of 1 to 63"},
    {"w*w user=alice sign padding=none", "1:1: \"w*w\": expected * or"},
    {"-w user=alice sign padding=none", "1:1: \"-w\": expected * or"},
    {"\n#\nwww users=alice sign padding=none",
     "3:5: \"users=alice\": expected sign, decrypt, user=, group="},
    {"www User=alice sign padding=none", "1:5: \"User=alice\": expected sign,"},
    {"www user=alice verify padding=none",
     "1:16: \"verify\": expected sign, decrypt"},
    {"www user=alice sign sign padding=none",
     "1:21: \"sign\": expected it once"},
    {"www user=alice user=bob sign padding=none",
     "1:16: \"user=bob\": expected this once"},
    {"www user=alice padding=none", "1:28: expected sign or decrypt"},
    {"www", "1:4: expected sign or decrypt"},
    {"www user=alice sign", "1:20: expected padding="},
    {"www user=alice sign padding=", "1:29: expected pkcs1, pss or none"},
    {"www user=alice sign padding=none,", "1:34: expected pkcs1, pss or none"},
    {"www user=alice sign padding=oaep digest=any",
     "1:29: \"oaep\": expected pkcs1, pss or none for sign"},
    {"www user=alice sign padding=pss,tls digest=any",
     "1:33: \"tls\": expected pkcs1, pss or none for sign"},
    {"www user=alice decrypt padding=pss digest=any",
     "1:32: \"pss\": expected pkcs1, tls, oaep or none for decrypt"},
    {"www user=alice sign decrypt padding=oaep digest=any",
     "1:16: \"sign\": expected a padding= with pkcs1, pss or none"},
    {"www user=alice sign decrypt padding=pss digest=any",
     "1:21: \"decrypt\": expected a padding= with pkcs1, tls, oaep"},
    {"www user=alice sign decrypt padding=raw",
     "1:37: \"raw\": expected pkcs1, pss or none for sign, pkcs1, tls"},
    {"www user=alice sign padding=pkcs1",
     "1:34: expected digest=any, or some of md5, sha1"},
    {"www user=alice decrypt padding=oaep", "1:36: expected digest=any"},
    {"www user=alice sign padding=none digest=sha256",
     "1:41: \"sha256\": expected no digest="},
    {"www user=alice decrypt padding=pkcs1,tls digest=any",
     "1:49: \"any\": expected no digest="},
    {"www user=alice sign padding=pss digest=sha256,sha-1",
     "1:47: \"sha-1\": expected any, or some of md5"},
    {"www user=alice sign padding=pss digest=none",
     "1:40: \"none\": expected any, or some of md5"},
    {"www user=alice sign padding=pss digest=",
     "1:40: expected any, or some of md5"},
    {"www user=alice sign padding=none rate=0",
     "1:39: \"0\": expected uses a second, from 1 to 100000000"},
    {"www user=alice sign padding=none rate=100000001",
     "1:39: \"100000001\": expected uses a second"},
    {"www user=alice sign padding=none rate=1000000000000",
     "1:39: \"1000000000000\": expected uses a second"},
    {"www user=alice sign padding=none rate=", "1:39: expected uses"},
    {"www user=alice sign padding=none rate=+5", "1:39: \"+5\": expected uses"},
    {"www sign padding=none", "1:22: expected user=, group= or identity="},
    {"www user=alice,carol sign padding=none",
     "1:16: \"carol\": expected a user of this machine"},
    {"www user= sign padding=none", "1:10: expected a user of this"},
    {"www user=4294967295 sign padding=none",
     "1:10: \"4294967295\": expected a user of this machine"},
    {"www user=99999999999999999999999 sign padding=none",
     "1:10: \"99999999999999999999999\": expected a user"},
    {"www user=-1 sign padding=none", "1:10: \"-1\": expected a user"},
    {"www group=alice sign padding=none",
     "1:11: \"alice\": expected a group of this machine"},
    {"www identity=gw1.example sign padding=none",
     "1:14: \"gw1.example\": expected an identity: dns:NAME or uri:NAME"},
    {"www identity=dns: sign padding=none",
     "1:14: \"dns:\": expected an identity"},
    {"www identity=dns:\x80 sign padding=none",
     "1:14: \"dns:?\": expected an identity"},
    {"www remote", "1:11: expected spki=, the SubjectPublicKeyInfo"},
    {"www remote spki=", "1:17: expected spki=, the"},
    {"www remote spki=AAAA", "1:17: \"AAAA\": expected spki=, the"},
    {"www remote spki=" SHORT_KEY, "1:17: \"MFww"},
    {"www remote spki=" EC_KEY, "1:17: \"MFkw"},
    {"www remote spki=" RSA_KEY "AAAA", "1:17: \"MIGf"},
    {"www remote spki=A" RSA_KEY, "1:17: \"AMIG"},
    {"www remote spki==" RSA_KEY, "1:17: \"=MIG"},
    {"www remote spki=" RSA_KEY " remote",
     "1:234: \"remote\": expected it once"},
    {"www remote spki=" RSA_KEY " spki=",
     "1:234: \"spki=\": expected this once"},
    {"* remote spki=" RSA_KEY, "1:1: \"*\": expected the name of one key"},
    {"www remote sign spki=" RSA_KEY, "1:12: \"sign\": expected spki= alone"},
    {"www remote user=alice spki=" RSA_KEY,
     "1:17: \"alice\": expected spki= a"},
    {"www user=alice sign padding=none spki=" RSA_KEY, "1:39: \"MIGf"},
    {"www remote spki=" RSA_KEY "\nwww remote spki=" RSA_KEY,
     "2:1: \"www\": expected each remote key once"},
};

/* A key with the modulus of RSA_KEY and another public exponent. */
static bool is_taken_with(const BIGNUM *n, const BIGNUM *e)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    OSSL_PARAM *parameters = NULL;
    EVP_PKEY *made = NULL, *taken = NULL;
    uint8_t *spki = NULL;
    int bytes = 0;

    assert_true(OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n));
    assert_true(OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e));
    parameters = OSSL_PARAM_BLD_to_param(build);
    assert_int_equal(EVP_PKEY_fromdata_init(context), 1);
    assert_int_equal(
        EVP_PKEY_fromdata(context, &made, EVP_PKEY_PUBLIC_KEY, parameters), 1);
    bytes = i2d_PUBKEY(made, &spki);
    assert_true(bytes > 0);
    taken = warprsa_remote_key_public(NULL, spki, (size_t)bytes);
    OPENSSL_free(spki);
    OSSL_PARAM_free(parameters);
    OSSL_PARAM_BLD_free(build);
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(made);
    EVP_PKEY_free(taken);
    return taken != NULL;
}

/* Public exponents that a key may have, and that it may not. */
TEST(test_remote_exponents)
{
    static const struct {
        unsigned e;
        bool is_taken;
    } small[] = {{0, false}, {1, false},     {2, false},    {3, true},
                 {4, false}, {65536, false}, {65537, true}, {65538, false}};
    warprsa_remote_key remote;
    BIGNUM *n = NULL, *e = BN_new();
    EVP_PKEY *rsa = NULL;

    assert_true(warprsa_remote_key_decode(&remote, RSA_KEY, strlen(RSA_KEY)));
    rsa = warprsa_remote_key_public(NULL, remote.spki, remote.spki_bytes);
    assert_int_equal(EVP_PKEY_get_bn_param(rsa, OSSL_PKEY_PARAM_RSA_N, &n), 1);
    for (size_t i = 0; i < sizeof(small) / sizeof(*small); i++) {
        assert_true(BN_set_word(e, small[i].e));
        assert_int_equal(is_taken_with(n, e), small[i].is_taken);
    }
    /* n is odd. */
    assert_true(BN_sub(e, n, BN_value_one()) && BN_sub_word(e, 1));
    assert_true(is_taken_with(n, e));
    assert_false(is_taken_with(n, n));
    assert_true(BN_add(e, n, BN_value_one()) && BN_add_word(e, 1));
    assert_false(is_taken_with(n, e));
    BN_free(e);
    BN_free(n);
    EVP_PKEY_free(rsa);
}

TEST(test_remote_keys)
{
    warprsa_key_rules rules;
    const warprsa_remote_key *key = NULL;

    parse(&rules, "# one\nwww  remote spki=" RSA_KEY "\r\n"
                  "www user=alice sign padding=none\n"
                  "ca spki=" RSA_KEY " remote\n");
    assert_int_equal(rules.count, 1);
    assert_int_equal(rules.remote_count, 2);
    key = warprsa_key_rules_remote(&rules, "www");
    assert_non_null(key);
    assert_int_equal(key->line, 2);
    assert_int_equal(key->spki_bytes, 162);
    assert_memory_equal(key->spki, "\x30\x81\x9f\x30", 4);
    assert_memory_equal(key->spki + 157, "\x02\x03\x01\x00\x01", 5);
    assert_int_equal(warprsa_key_rules_remote(&rules, "ca")->line, 4);
    assert_null(warprsa_key_rules_remote(&rules, "ww"));
    warprsa_key_rules_free(&rules);
    assert_int_equal(rules.remote_count, 0);
}

/* Whether a key with a modulus and an exponent of so many bits is taken. */
static bool is_taken(int bits, int e_bits)
{
    BIGNUM *n = BN_new(), *e = BN_new();
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    static unsigned char base64[8192];
    unsigned char *spki = NULL;
    static warprsa_remote_key key;
    OSSL_PARAM *params = NULL;
    EVP_PKEY *public = NULL;
    bool taken = false;
    int bytes = 0;

    assert_true(BN_set_bit(n, bits - 1) && BN_set_bit(n, 0) &&
                BN_set_bit(e, e_bits - 1) && BN_set_bit(e, 0));
    assert_true(OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n) &&
                OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e));
    params = OSSL_PARAM_BLD_to_param(build);
    assert_int_equal(EVP_PKEY_fromdata_init(ctx), 1);
    assert_int_equal(
        EVP_PKEY_fromdata(ctx, &public, EVP_PKEY_PUBLIC_KEY, params), 1);
    bytes = i2d_PUBKEY(public, &spki);
    assert_in_range(bytes, 1, 6000);
    taken =
        warprsa_remote_key_decode(&key, (const char *)base64,
                                  (size_t)EVP_EncodeBlock(base64, spki, bytes));
    OPENSSL_free(spki);
    EVP_PKEY_free(public);
    OSSL_PARAM_free(params);
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_BLD_free(build);
    BN_free(e);
    BN_free(n);
    return taken;
}

/* Keys whose signatures libcrypto would not check are refused. */
TEST(test_long_exponents)
{
    assert_true(is_taken(3072, 65));
    assert_true(is_taken(3073, 64));
    assert_false(is_taken(3073, 65));
    assert_false(is_taken(16385, 17));
}

static void assert_refused(const char *text, size_t bytes, const char *expected)
{
    warprsa_key_rules rules = {0};
    char why[600] = "";

    assert_false(warprsa_key_rules_parse(&rules, "keys.conf", text, bytes,
                                         &names, why, sizeof(why)));
    if (strncmp(why, "keys.conf:", 10) != 0 ||
        strncmp(why + 10, expected, strlen(expected)) != 0)
        fail_msg("\"%s\" is not \"%s\"", why, expected);
    assert_int_equal(rules.count, 0);
    assert_null(rules.of);
    assert_null(rules.remote);
}

TEST(test_mistakes)
{
    for (size_t i = 0; i < COUNT(mistakes); i++)
        assert_refused(mistakes[i][0], strlen(mistakes[i][0]), mistakes[i][1]);
}

/* A mistake in the last line leaves nothing of the others. */
TEST(test_mistake_refuses_all)
{
    static const char text[] = "www user=alice sign padding=none\n"
                               "www user=alice,bob,carol sign padding=none\n";

    assert_refused(text, strlen(text), "2:20: \"carol\"");
}

TEST(test_odd_bytes)
{
    static const char zero[] = "www user=al\0ice sign padding=none";
    static const char zero_name[] = "ww\0w user=alice sign padding=none";
    static const char zero_rate[] = "w user=alice sign padding=none rate=1";
    static char line[5000], name[65 + 40];
    warprsa_key_rules rules = {0};
    char why[100];

    assert_refused(zero, sizeof(zero) - 1, "1:12: \"?\": expected a line w");
    assert_refused(zero_name, sizeof(zero_name) - 1, "1:3: \"?\": expected a");
    /* The final zero is a part of the text here. */
    assert_refused(zero_rate, sizeof(zero_rate), "1:38: \"?\": expected a");
    memset(line, ' ', sizeof(line));
    assert_refused(line, 4096, "1:1: expected a line of at most 4095 bytes");
    assert_true(warprsa_key_rules_parse(&rules, "k", line, 4095, &names, why,
                                        sizeof(why)));
    memset(name, 'a', 64);
    strcpy(name + 64, " user=1 sign padding=none");
    assert_refused(name, strlen(name), "1:1: \"aaa");
    parse(&rules, name + 1);
    assert_int_equal(rules.count, 1);
    warprsa_key_rules_free(&rules);
    /* A message that does not fit is cut. */
    assert_false(warprsa_key_rules_parse(&rules, "k", "x", 1, &names, why, 10));
    assert_string_equal(why, "k:1:2: ex");
}

TEST(test_machine_names)
{
    uint32_t id = 1;
    int error = -1;

    assert_true(warprsa_key_rules_names.user("root", &id, &error));
    assert_int_equal(id, 0);
    id = 1;
    assert_true(warprsa_key_rules_names.group("root", &id, &error));
    assert_int_equal(id, 0);
    /* Whatever else the machine's name service says. */
    assert_false(warprsa_key_rules_names.user("no such user", &id, &error));
    assert_false(warprsa_key_rules_names.group("no such group", &id, &error));
}

/* Users and groups as a directory has them that can't be reached. */
static int name_service_error;

int __real_getpwnam_r(const char *name, struct passwd *entry, char *buffer,
                      size_t size, struct passwd **found);
int __wrap_getpwnam_r(const char *name, struct passwd *entry, char *buffer,
                      size_t size, struct passwd **found)
{
    *found = NULL;
    return name_service_error != 0
               ? name_service_error
               : __real_getpwnam_r(name, entry, buffer, size, found);
}

int __real_getgrnam_r(const char *name, struct group *entry, char *buffer,
                      size_t size, struct group **found);
int __wrap_getgrnam_r(const char *name, struct group *entry, char *buffer,
                      size_t size, struct group **found)
{
    *found = NULL;
    return name_service_error != 0
               ? name_service_error
               : __real_getgrnam_r(name, entry, buffer, size, found);
}

static void assert_machine_refuses(const char *text, const char *expected)
{
    warprsa_key_rules rules = {0};
    char why[400] = "";

    assert_false(warprsa_key_rules_parse(&rules, "keys.conf", text,
                                         strlen(text), &warprsa_key_rules_names,
                                         why, sizeof(why)));
    assert_string_equal(why, expected);
    assert_null(rules.of);
}

/* That nobody could be asked is not taken for the answer that there is no such
 * user. Numbers need no answer. */
TEST(test_name_service_fails)
{
    static const char numbers[] = "k user=7 group=8 sign padding=none";
    warprsa_key_rules rules = {0};
    char why[400] = "";

    name_service_error = ENOENT; /* as some say that there is none */
    assert_machine_refuses("k user=no.such sign padding=none",
                           "keys.conf:1:8: \"no.such\": expected a user of "
                           "this machine, by name or number");
    name_service_error = ECONNREFUSED;
    assert_machine_refuses(
        "k user=root sign padding=none",
        "keys.conf:1:8: \"root\": expected a user of this machine, by name or "
        "number, but the name service failed: Connection refused; reload once "
        "it answers");
    assert_machine_refuses(
        "k group=root sign padding=none",
        "keys.conf:1:9: \"root\": expected a group of this machine, by name or "
        "number, but the name service failed: Connection refused; reload once "
        "it answers");
    assert_true(
        warprsa_key_rules_parse(&rules, "keys.conf", numbers, strlen(numbers),
                                &warprsa_key_rules_names, why, sizeof(why)));
    assert_int_equal(rules.count, 2);
    warprsa_key_rules_free(&rules);
    name_service_error = 0;
}

/* Rules from another process are those of a parser, or refused. */
TEST(test_unsound_rules)
{
    static const warprsa_key_rule sound = {.key = "k",
                                           .who = WARPRSA_WHO_IDENTITY,
                                           .identity = "dns:a",
                                           .operations = BIT(SIGN),
                                           .paddings = BIT(PAD(PSS)),
                                           .digests = 2,
                                           .rate = 1};
    warprsa_key_rules rules = {0};
    warprsa_key_rule odd[12];

    assert_true(warprsa_key_rules_add(&rules, &sound));
    for (size_t i = 0; i < COUNT(odd); i++)
        odd[i] = sound;
    memset(odd[0].key, 'k', sizeof(odd[0].key));
    odd[1].key[0] = '/';
    odd[2].who = 0;
    odd[3].who = WARPRSA_WHO_IDENTITY + 1;
    memset(odd[4].identity + 4, 'i', sizeof(odd[4].identity) - 4);
    odd[5].identity[0] = 'x';
    odd[6].operations = 0;
    odd[7].operations = 1;
    odd[8].paddings = BIT(PAD(OAEP));
    odd[9].paddings = 0;
    odd[10].digests = BIT(WARPRSA_USE_DIGESTS);
    odd[11].rate = WARPRSA_KEY_RULE_RATE_MAX + 1;
    for (size_t i = 0; i < COUNT(odd); i++)
        if (warprsa_key_rules_add(&rules, &odd[i]))
            fail_msg("rule %zu is taken", i);
    assert_int_equal(rules.count, 1);
    warprsa_key_rules_free(&rules);
}

RUN_TESTS(NULL, NULL)
