/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Key files: which ones are read, and what is said of each that is not. Owners
 * are tried where the test may give files away.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/vault/key_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ui.h>
#include <openssl/x509.h>

#include "batching/vault/key_numbers.h"
#include "tests/unit/support/rsa_numbers.h"
#include "tests/unit/support/vault_keys.h"

enum {
    CHECKED_BITS_MAX = 2048, /* larger ones are not checked here */
    STRANGER = 54321,        /* a user and a group */
};

static char directory[] = "/tmp/warprsa-key-file-XXXXXX";
static int dir = -1;
static EVP_PKEY *rsa; /* of 1024 bits */
static unsigned checks;
static warprsa_checked_keys *checked; /* NULL: all are checked */

int __real_EVP_PKEY_check(EVP_PKEY_CTX *ctx);
int __wrap_EVP_PKEY_check(EVP_PKEY_CTX *ctx);

int __wrap_EVP_PKEY_check(EVP_PKEY_CTX *ctx)
{
    EVP_PKEY *key = EVP_PKEY_CTX_get0_pkey(ctx);

    checks++;
    return EVP_PKEY_get_bits(key) > CHECKED_BITS_MAX
               ? 1
               : __real_EVP_PKEY_check(ctx);
}

static int set_up(void **state)
{
    umask(0077);
    if (mkdtemp(directory) == NULL)
        return -1;
    dir = open(directory, O_RDONLY | O_DIRECTORY);
    rsa = vault_keys_make("RSA", 1024, 2);
    return dir < 0;
}

static int tear_down(void **state)
{
    EVP_PKEY_free(rsa);
    close(dir);
    return rmdir(directory);
}

static void write_file(const char *name, const void *bytes, size_t size)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    assert_int_equal(close(fd), 0);
}

static void write_bio(const char *name, BIO *bio)
{
    char *bytes = NULL;
    long size = BIO_get_mem_data(bio, &bytes);

    write_file(name, bytes, (size_t)size);
    BIO_free(bio);
}

/* Writes a key to "k.pem": PKCS#8, encrypted if there is a passphrase. */
static void write_key(EVP_PKEY *key, const char *passphrase)
{
    BIO *bio = BIO_new(BIO_s_mem());

    assert_int_equal(
        PEM_write_bio_PKCS8PrivateKey(
            bio, key, passphrase != NULL ? EVP_aes_128_cbc() : NULL, passphrase,
            passphrase != NULL ? (int)strlen(passphrase) : 0, NULL, NULL),
        1);
    write_bio("k.pem", bio);
}

static EVP_PKEY *read_with(const char *passphrase, char why[400])
{
    char copy[100];
    warprsa_trusted_file secret = {copy, 0};
    EVP_PKEY *key = NULL;

    if (passphrase != NULL) {
        strcpy(copy, passphrase);
        secret.size = strlen(passphrase);
    }
    why[0] = '\0';
    key = warprsa_key_file_read(
        dir, "k.pem", passphrase != NULL ? &secret : NULL, checked, why, 400);
    assert_int_equal(ERR_peek_error(), 0);
    return key;
}

/* Reads "k.pem", which is this key, and removes it. */
static void assert_read(EVP_PKEY *expected, const char *passphrase)
{
    char why[400];
    EVP_PKEY *key = read_with(passphrase, why);

    if (key == NULL)
        fail_msg("%s", why);
    assert_int_equal(EVP_PKEY_eq(key, expected), 1);
    EVP_PKEY_free(key);
    assert_int_equal(unlinkat(dir, "k.pem", 0), 0);
}

static void assert_refused_with(const char *passphrase, const char *expected)
{
    char why[400];

    assert_null(read_with(passphrase, why));
    if (strstr(why, expected) == NULL)
        fail_msg("\"%s\" is not \"%s\"", why, expected);
    assert_int_equal(unlinkat(dir, "k.pem", 0), 0);
}

static void assert_refused(const char *expected)
{
    assert_refused_with(NULL, expected);
}

TEST(test_forms)
{
    BIO *bio = BIO_new(BIO_s_mem());

    write_key(rsa, NULL);
    assert_read(rsa, NULL);
    assert_int_equal(PEM_write_bio_PrivateKey_traditional(bio, rsa, NULL, NULL,
                                                          0, NULL, NULL),
                     1);
    write_bio("k.pem", bio);
    assert_read(rsa, NULL);
    /* With text before it, and a public key beside it. */
    bio = BIO_new(BIO_s_mem());
    BIO_printf(bio, "Bag Attributes\n");
    assert_int_equal(PEM_write_bio_PUBKEY(bio, rsa), 1);
    assert_int_equal(
        PEM_write_bio_PKCS8PrivateKey(bio, rsa, NULL, NULL, 0, NULL, NULL), 1);
    write_bio("k.pem", bio);
    assert_read(rsa, NULL);
}

TEST(test_types)
{
    EVP_PKEY *keys[] = {
        vault_keys_make("RSA-PSS", 1024, 2),
        vault_keys_make_restricted(32),
        vault_keys_make("RSA", 1024, 3),
        vault_keys_make("RSA", 2048, 2),
    };

    checks = 0;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        write_key(keys[i], NULL);
        assert_read(keys[i], NULL);
        EVP_PKEY_free(keys[i]);
    }
    assert_int_equal(checks, 4);
}

/* A key of so many bits whose factors are none but odd, which takes no time. */
static EVP_PKEY *large_key(int bits)
{
    rsa_numbers numbers;
    EVP_PKEY *key = NULL;
    bool ok = rsa_numbers_init(&numbers) == 1;
    BIGNUM *p = numbers.value[NUMBER_P], *q = numbers.value[NUMBER_Q];

    ok = ok && BN_set_word(numbers.value[NUMBER_E], 65537) == 1 &&
         BN_rand(p, bits - bits / 2, BN_RAND_TOP_TWO, BN_RAND_BOTTOM_ODD) == 1;
    while (ok && key == NULL) {
        ok = BN_rand(q, bits / 2, BN_RAND_TOP_TWO, BN_RAND_BOTTOM_ODD) == 1 &&
             BN_mul(numbers.value[NUMBER_N], p, q, numbers.ctx) == 1;
        if (ok && rsa_numbers_private_exponent(&numbers) == 1 &&
            rsa_numbers_crt(&numbers) == 1)
            key = rsa_numbers_import(&numbers, NULL);
    }
    rsa_numbers_free(&numbers);
    ERR_clear_error();
    assert_non_null(key);
    assert_int_equal(EVP_PKEY_get_bits(key), bits);
    return key;
}

TEST(test_large)
{
    static const int bits[] = {4096, 8192, 16384};
    static warprsa_key_numbers numbers;

    checks = 0;
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        EVP_PKEY *key = large_key(bits[i]), *made = NULL;

        write_key(key, NULL);
        assert_read(key, NULL);
        assert_int_equal(checks, i + 1);
        /* There is room for its numbers, too. */
        vault_keys_numbers(&numbers, key);
        made = warprsa_key_numbers_to(&numbers);
        assert_int_equal(EVP_PKEY_eq(made, key), 1);
        EVP_PKEY_free(made);
        EVP_PKEY_free(key);
    }
}

TEST(test_sizes_refused)
{
    EVP_PKEY *small = vault_keys_make("RSA", 1023, 2);
    EVP_PKEY *large = large_key(16392);

    checks = 0;
    write_key(small, NULL);
    assert_refused("it is a key of 1023 bits: expected 1024 to 16384");
    write_key(large, NULL);
    assert_refused("it is a key of 16392 bits: expected 1024 to 16384");
    assert_int_equal(checks, 0);
    EVP_PKEY_free(small);
    EVP_PKEY_free(large);
}

TEST(test_other_keys)
{
    EVP_PKEY *ec = EVP_EC_gen("P-256");
    BIO *bio = BIO_new(BIO_s_mem());

    write_key(ec, NULL);
    assert_refused("it is a key of the type EC: expected RSA");
    EVP_PKEY_free(ec);
    assert_int_equal(PEM_write_bio_PUBKEY(bio, rsa), 1);
    write_bio("k.pem", bio);
    assert_refused("it has a public key alone: expected a private key");
    bio = BIO_new(BIO_s_mem());
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(
            PEM_write_bio_PKCS8PrivateKey(bio, rsa, NULL, NULL, 0, NULL, NULL),
            1);
    write_bio("k.pem", bio);
    assert_refused("it has 2 private keys: expected one");
}

/* Writes the key with one number changed. */
static void write_changed(rsa_number which, const char *number)
{
    rsa_numbers numbers;
    EVP_PKEY *key = NULL;

    assert_int_equal(rsa_numbers_init(&numbers), 1);
    assert_int_equal(rsa_numbers_of_key(&numbers, rsa), 1);
    if (number != NULL)
        assert_true(BN_dec2bn(&numbers.value[which], number) > 0);
    else
        assert_int_equal(BN_add_word(numbers.value[which], 2), 1);
    key = rsa_numbers_import(&numbers, NULL);
    assert_non_null(key);
    write_key(key, NULL);
    EVP_PKEY_free(key);
    rsa_numbers_free(&numbers);
}

TEST(test_wrong_numbers)
{
    EVP_PKEY *key = NULL;

    for (int i = NUMBER_E; i < NUMBERS; i++) {
        write_changed((rsa_number)i, NULL);
        assert_refused("its numbers do not belong together");
    }
    write_changed(NUMBER_E, "1");
    assert_refused("its numbers do not belong together");
    /* Factors that are no primes: large_key() has such, and is checked. */
    key = large_key(1024);
    write_key(key, NULL);
    EVP_PKEY_free(key);
    assert_refused("its numbers do not belong together, or its primes are");
}

TEST(test_odd_texts)
{
    static const char *const texts[] = {
        "",
        "no key",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PUBLIC KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\n!!!!\n-----END PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\nMAAA\n-----END PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----\nMAAA\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n",
    };
    static const char *const expected[] = {
        "it has no key",
        "it has no key",
        "no PEM, or cut off",
        "no PEM",
        "no PEM",
        "it is no private key of",
        "it is no private key of",
        "it has no key",
    };
    char zeros[100] = {0};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        write_file("k.pem", texts[i], strlen(texts[i]));
        assert_refused(expected[i]);
    }
    write_file("k.pem", zeros, sizeof(zeros));
    assert_refused("it has no key");
}

TEST(test_encrypted)
{
    BIO *bio = BIO_new(BIO_s_mem());

    write_key(rsa, "secret");
    assert_read(rsa, "secret");
    write_key(rsa, "secret");
    assert_refused_with("Secret", "the passphrase does not decrypt it");
    write_key(rsa, "secret");
    assert_refused("it is encrypted, and there is no passphrase");
    /* The old form, by a header. */
    assert_int_equal(PEM_write_bio_PrivateKey_traditional(
                         bio, rsa, EVP_aes_128_cbc(),
                         (const unsigned char *)"secret", 6, NULL, NULL),
                     1);
    write_bio("k.pem", bio);
    assert_read(rsa, "secret");
    /* A passphrase that nobody asks for. */
    write_key(rsa, NULL);
    assert_read(rsa, "secret");
}

TEST(test_kinds_of_files)
{
    char why[400];

    assert_null(read_with(NULL, why));
    assert_string_equal(why, "No such file or directory");
    write_key(rsa, NULL);
    assert_int_equal(renameat(dir, "k.pem", dir, "real.pem"), 0);
    assert_int_equal(symlinkat("real.pem", dir, "k.pem"), 0);
    assert_refused("it is a symbolic link: expected the file itself");
    assert_int_equal(symlinkat("/nowhere", dir, "k.pem"), 0);
    assert_refused("it is a symbolic link");
    assert_int_equal(unlinkat(dir, "real.pem", 0), 0);
    assert_int_equal(mkfifoat(dir, "k.pem", 0600), 0);
    assert_refused("it is no regular file");
    assert_int_equal(mkdirat(dir, "k.pem", 0700), 0);
    assert_null(read_with(NULL, why));
    assert_string_equal(why, "it is no regular file");
    assert_int_equal(unlinkat(dir, "k.pem", AT_REMOVEDIR), 0);
}

TEST(test_huge_file)
{
    int fd = -1;

    write_key(rsa, NULL);
    fd = openat(dir, "k.pem", O_WRONLY);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
    close(fd);
    assert_refused("it is longer than 65536 bytes");
}

TEST(test_modes)
{
    static const struct {
        mode_t mode;
        bool ok;
    } modes[] = {
        {0600, true},  {0400, true},  {0440, true},  {0640, true},
        {0660, false}, {0644, false}, {0604, false}, {0602, false},
        {0601, false}, {0620, false}, {0700, true},  {0666, false},
    };

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        write_key(rsa, NULL);
        assert_int_equal(fchmodat(dir, "k.pem", modes[i].mode, 0), 0);
        if (modes[i].ok)
            assert_read(rsa, NULL);
        else
            assert_refused("others may read or write it (mode 0");
    }
}

TEST(test_owners)
{
    char why[400];
    EVP_PKEY *key = NULL;

    if (geteuid() != 0)
        skip();
    write_key(rsa, NULL);
    assert_int_equal(fchownat(dir, "k.pem", STRANGER, 0, 0), 0);
    assert_refused("it belongs to user 54321: expected root or user 0");
    write_key(rsa, NULL);
    assert_int_equal(fchownat(dir, "k.pem", 0, STRANGER, 0), 0);
    assert_read(rsa, NULL); /* the group may do nothing */
    write_key(rsa, NULL);
    assert_int_equal(fchownat(dir, "k.pem", 0, STRANGER, 0), 0);
    assert_int_equal(fchmodat(dir, "k.pem", 0640, 0), 0);
    assert_refused("others may read or write it (mode 0640)");
    /* By the daemon's own user and group, who are not root. */
    write_key(rsa, NULL);
    assert_int_equal(fchownat(dir, "k.pem", STRANGER, STRANGER, 0), 0);
    assert_int_equal(fchmodat(dir, "k.pem", 0640, 0), 0);
    assert_int_equal(fchmod(dir, 0755), 0);
    assert_int_equal(setresgid(-1, STRANGER, -1), 0);
    assert_int_equal(setresuid(-1, STRANGER, -1), 0);
    key = read_with(NULL, why);
    assert_int_equal(setresuid(-1, 0, -1), 0);
    assert_int_equal(setresgid(-1, 0, -1), 0);
    assert_int_equal(fchmod(dir, 0700), 0);
    assert_string_equal(why, "");
    assert_non_null(key);
    EVP_PKEY_free(key);
    assert_int_equal(unlinkat(dir, "k.pem", 0), 0);
}

/* An access control list, as setfacl -m u:STRANGER:r makes it. */
TEST(test_access_lists)
{
    struct {
        uint32_t version;
        struct {
            uint16_t tag, permissions;
            uint32_t id;
        } entries[5];
    } acl = {2,
             {{1, 6, UINT32_MAX},
              {2, 4, STRANGER},
              {4, 0, UINT32_MAX},
              {16, 4, UINT32_MAX},
              {32, 0, UINT32_MAX}}};
    char path[100];

    snprintf(path, sizeof(path), "%s/k.pem", directory);
    write_key(rsa, NULL);
    if (setxattr(path, "system.posix_acl_access", &acl, sizeof(acl), 0) != 0) {
        unlink(path);
        skip(); /* a file system without */
    }
    assert_refused("others may read or write it (mode 0640)");
    /* systemd lets the service's user read credentials so. */
    acl.entries[1].id = geteuid();
    write_key(rsa, NULL);
    assert_int_equal(
        setxattr(path, "system.posix_acl_access", &acl, sizeof(acl), 0), 0);
    assert_read(rsa, NULL);
    acl.entries[1].tag = 4; /* the file's group, and another one */
    acl.entries[1].permissions = 0;
    acl.entries[1].id = UINT32_MAX;
    acl.entries[2].tag = 8;
    acl.entries[2].permissions = 4;
    acl.entries[2].id = STRANGER;
    write_key(rsa, NULL);
    assert_int_equal(
        setxattr(path, "system.posix_acl_access", &acl, sizeof(acl), 0), 0);
    assert_refused("others may read or write it");
}

static void assert_passphrase(const char *text, const char *expected)
{
    warprsa_trusted_file passphrase;
    char path[100], why[400] = "";

    snprintf(path, sizeof(path), "%s/pass", directory);
    write_file("pass", text, strlen(text));
    if (expected != NULL) {
        assert_true(
            warprsa_key_file_passphrase(&passphrase, path, why, sizeof(why)));
        assert_int_equal(passphrase.size, strlen(expected));
        assert_string_equal(passphrase.bytes, expected);
        warprsa_trusted_file_free(&passphrase);
    } else {
        assert_false(
            warprsa_key_file_passphrase(&passphrase, path, why, sizeof(why)));
        assert_memory_equal(why, path, strlen(path));
        assert_null(passphrase.bytes);
    }
    unlink(path);
}

TEST(test_passphrases)
{
    warprsa_trusted_file passphrase;
    char long_line[1025], why[400];

    assert_passphrase("secret", "secret");
    assert_passphrase("secret\n", "secret");
    assert_passphrase("se cret\r\nmore\n", "se cret");
    assert_passphrase("", NULL);
    assert_passphrase("\nsecret", NULL);
    memset(long_line, 'x', 1024);
    long_line[1024] = '\0';
    assert_passphrase(long_line, NULL);
    assert_passphrase(long_line + 1, long_line + 1);
    assert_false(warprsa_key_file_passphrase(&passphrase, "/nowhere/p", why,
                                             sizeof(why)));
    assert_string_equal(why, "/nowhere/p: No such file or directory");
}

/* The certificate of a key, by itself. */
static void add_certificate(BIO *bio, EVP_PKEY *key)
{
    X509 *certificate = X509_new();

    assert_non_null(certificate);
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 60);
    assert_int_equal(X509_set_pubkey(certificate, key), 1);
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    assert_int_equal(PEM_write_bio_X509(bio, certificate), 1);
    X509_free(certificate);
}

static void assert_certificates(const char *expected)
{
    warprsa_trusted_file certificates;
    char why[400] = "";

    if (expected == NULL) {
        if (!warprsa_key_file_certificates(&certificates, dir, "k.crt", rsa,
                                           why, sizeof(why)))
            fail_msg("%s", why);
        assert_non_null(strstr(certificates.bytes, "BEGIN CERTIFICATE"));
        warprsa_trusted_file_free(&certificates);
    } else {
        assert_false(warprsa_key_file_certificates(&certificates, dir, "k.crt",
                                                   rsa, why, sizeof(why)));
        assert_string_equal(why, expected);
    }
    assert_int_equal(ERR_peek_error(), 0);
    assert_int_equal(unlinkat(dir, "k.crt", 0), 0);
}

TEST(test_certificates)
{
    EVP_PKEY *other = vault_keys_make("RSA", 1024, 2);
    BIO *bio = BIO_new(BIO_s_mem());

    add_certificate(bio, rsa);
    add_certificate(bio, other);
    write_bio("k.crt", bio);
    assert_int_equal(fchmodat(dir, "k.crt", 0644, 0), 0);
    assert_certificates(NULL);
    bio = BIO_new(BIO_s_mem());
    add_certificate(bio, other);
    add_certificate(bio, rsa);
    write_bio("k.crt", bio);
    assert_certificates("its first certificate is for another public key");
    write_file("k.crt", "none", 4);
    assert_certificates("expected certificates in PEM");
    bio = BIO_new(BIO_s_mem());
    add_certificate(bio, rsa);
    BIO_printf(bio, "-----BEGIN CERTIFICATE-----\n");
    write_bio("k.crt", bio);
    assert_certificates("expected certificates in PEM");
    bio = BIO_new(BIO_s_mem());
    add_certificate(bio, rsa);
    write_bio("k.crt", bio);
    assert_int_equal(fchmodat(dir, "k.crt", 0666, 0), 0);
    assert_certificates("others may write it (mode 0666): expected 0600 or "
                        "less");
    EVP_PKEY_free(other);
}

/* All who may know of the key get the bytes of this file: a private key among
 * them would be given away. */
TEST(test_certificates_with_a_private_key)
{
    static const struct {
        const char *cipher; /* of PKCS #8; NULL: it is not encrypted */
        bool is_first;
    } files[] = {{NULL, false}, {NULL, true}, {"AES-256-CBC", false}};

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        BIO *bio = BIO_new(BIO_s_mem());
        const EVP_CIPHER *cipher = files[i].cipher == NULL
                                       ? NULL
                                       : EVP_get_cipherbyname(files[i].cipher);

        if (!files[i].is_first)
            add_certificate(bio, rsa);
        assert_int_equal(PEM_write_bio_PKCS8PrivateKey(bio, rsa, cipher,
                                                       "secret", 6, NULL, NULL),
                         1);
        if (files[i].is_first)
            add_certificate(bio, rsa);
        write_bio("k.crt", bio);
        assert_certificates("it has a private key: expected certificates alone "
                            "in PEM");
    }
}

static unsigned questions;

static int count_question(UI *ui)
{
    questions++;
    return 0; /* nobody answers */
}

/* PEM can have an encrypted certificate. libcrypto would ask whoever sits at
 * the terminal of warprsad for its passphrase, and the reading would wait. */
TEST(test_encrypted_certificates)
{
    static const char header[] =
        "Proc-Type: 4,ENCRYPTED\n"
        "DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n";
    static const unsigned char encrypted[16];
    const UI_METHOD *before = UI_get_default_method();
    UI_METHOD *method = UI_create_method("nobody");
    BIO *bio = BIO_new(BIO_s_mem());

    assert_int_equal(UI_method_set_opener(method, count_question), 0);
    UI_set_default_method(method);
    assert_true(PEM_write_bio(bio, PEM_STRING_X509, header, encrypted,
                              sizeof(encrypted)) > 0);
    write_bio("k.crt", bio);
    assert_certificates("expected certificates in PEM");
    assert_int_equal(questions, 0);
    UI_set_default_method(before);
    UI_destroy_method(method);
}

TEST(test_directories)
{
    char path[100], why[400];
    int fd = warprsa_trusted_directory_open(directory, why, sizeof(why));

    assert_true(fd >= 0);
    close(fd);
    snprintf(path, sizeof(path), "%s/d", directory);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0770), 0);
    assert_int_equal(warprsa_trusted_directory_open(path, why, sizeof(why)),
                     -1);
    assert_string_equal(why, "others may write to it (mode 0770): expected "
                             "0700 or 0755");
    assert_int_equal(chmod(path, 0755), 0);
    fd = warprsa_trusted_directory_open(path, why, sizeof(why));
    assert_true(fd >= 0);
    close(fd);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, STRANGER, 0), 0);
        assert_int_equal(warprsa_trusted_directory_open(path, why, sizeof(why)),
                         -1);
        assert_string_equal(why, "it belongs to user 54321: expected root or "
                                 "user 0");
    }
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(warprsa_trusted_directory_open(path, why, sizeof(why)),
                     -1);
    assert_string_equal(why, "No such file or directory");
}

/* A file that has been checked is not checked again, in any process; another
 * one is, and so is each that was refused. */
TEST(test_checked_before)
{
    EVP_PKEY *other = vault_keys_make("RSA", 1024, 2);
    char why[400];
    pid_t child;
    int status = -1;

    checked = warprsa_checked_keys_map();
    assert_non_null(checked);
    checks = 0;
    write_key(rsa, NULL);
    child = fork();
    if (child == 0)
        _exit(read_with(NULL, why) != NULL && checks == 1 ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_read(rsa, NULL);
    assert_int_equal(checks, 0);
    write_key(other, NULL);
    assert_read(other, NULL);
    assert_int_equal(checks, 1);
    write_key(rsa, "secret");
    assert_read(rsa, "secret");
    assert_int_equal(checks, 2);
    write_file("k.pem", "nothing", 7);
    for (unsigned i = 0; i < 2; i++)
        assert_null(read_with(NULL, why));
    assert_int_equal(unlinkat(dir, "k.pem", 0), 0);
    warprsa_checked_keys_unmap(checked);
    checked = NULL;
    warprsa_checked_keys_unmap(NULL);
    EVP_PKEY_free(other);
}

static void digest_number(unsigned i, uint8_t digest[WARPRSA_CHECKED_KEY_BYTES])
{
    assert_int_equal(
        EVP_Digest(&i, sizeof(i), digest, NULL, EVP_sha256(), NULL), 1);
}

/* More files than there is room for: the last ones are known. */
TEST(test_checked_crowd)
{
    enum {
        ROOM = 65536,
    };
    warprsa_checked_keys *keys = warprsa_checked_keys_map();
    uint8_t digest[WARPRSA_CHECKED_KEY_BYTES];

    assert_non_null(keys);
    for (unsigned i = 0; i < ROOM + 10; i++) {
        digest_number(i, digest);
        assert_false(warprsa_checked_keys_have(keys, digest));
        warprsa_checked_keys_add(keys, digest);
        warprsa_checked_keys_add(keys, digest);
        assert_true(warprsa_checked_keys_have(keys, digest));
        digest_number(0, digest);
        assert_int_equal(warprsa_checked_keys_have(keys, digest), i < ROOM);
    }
    assert_false(warprsa_checked_keys_have(NULL, digest));
    warprsa_checked_keys_add(NULL, digest);
    warprsa_checked_keys_unmap(keys);
}

RUN_TESTS(set_up, tear_down)
