/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From files to the vault: directories and keys.conf as a reading process sees
 * them, and what the vault then has.
 */
#include "tests/unit/vault/transfer_fixture.h"

#include <sys/wait.h>

#include <openssl/pem.h>
#include <openssl/x509.h>

#include "batching/vault/vault_reader.h"

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static FILE *create(const char *name)
{
    char path[200];
    FILE *file = NULL;

    snprintf(path, sizeof(path), "%s/%s", keys_directory, name);
    file = fopen(path, "w");
    assert_non_null(file);
    return file;
}

static void write_key(const char *name, EVP_PKEY *key, const char *passphrase)
{
    FILE *file = create(name);

    assert_int_equal(
        PEM_write_PKCS8PrivateKey(
            file, key, passphrase != NULL ? EVP_aes_128_cbc() : NULL,
            passphrase, passphrase != NULL ? (int)strlen(passphrase) : 0, NULL,
            NULL),
        1);
    assert_int_equal(fclose(file), 0);
}

static void write_certificates(const char *name, EVP_PKEY *key, unsigned count)
{
    FILE *file = create(name);
    X509 *certificate = X509_new();

    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 60);
    assert_int_equal(X509_set_pubkey(certificate, key), 1);
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    while (count-- > 0)
        assert_int_equal(PEM_write_X509(file, certificate), 1);
    X509_free(certificate);
    assert_int_equal(fclose(file), 0);
}

static const char *no_remote; /* why remote keys can't be used */

/* Has another process read the files. */
static void read_files(const char *rules, const char *passphrase)
{
    const warprsa_vault_files files = {.keys_directory = keys_directory,
                                       .rules = rules,
                                       .passphrase = passphrase,
                                       .no_remote = no_remote};
    int status = -1;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(warprsa_vault_reader_run(&files, ends[1]) ? 0 : 1);
    assert_int_equal(receive_next(), WARPRSA_VAULT_REPLACED);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

TEST_IN(test_files, begin, end)
{
    const warprsa_vault_user user = {.uid = 7};
    const warprsa_key_use use = {.operation = WARPRSA_USE_SIGN,
                                 .padding = WARPRSA_PADDING_NONE};
    warprsa_vault_key *www = NULL;
    uint32_t edition = 0;
    size_t bytes = 0;
    static char pem[65536];

    write_key("www.pem", pkeys[0], NULL);
    write_certificates("www.crt", pkeys[0], 40); /* several pieces */
    write_key("ca.pem", pkeys[1], "secret");
    write_certificates("ca.crt", pkeys[0], 1); /* another key's */
    write_key("notes.txt", pkeys[2], NULL);
    write_key(".hidden.pem", pkeys[2], NULL);
    write_key("no name.pem", pkeys[2], NULL);
    write_key("\x80.pem", pkeys[2], NULL);
    fclose(create("empty.pem"));
    write_text(rules_path, "www user=7 sign padding=none\n");
    write_text(passphrase_path, "secret\n");
    take_empty_reading();
    read_files(rules_path, passphrase_path);
    assert_logged(
        "key ?: refused: expected " WARPRSA_KEY_NAME_ALLOWED "\n"
        "key ca: its certificates are refused: its first certificate is for "
        "another public key\n"
        "key empty: refused: it has no key: expected a private key in PEM\n"
        "key no name: refused: expected " WARPRSA_KEY_NAME_ALLOWED "\n"
        "key ca: added: RSA of 1024 bits\n"
        "key www: added: RSA of 1024 bits, with certificates\n");
    www = warprsa_vault_find_name(vault, "www");
    assert_int_equal(warprsa_vault_may(www, &user, &use, NULL),
                     WARPRSA_ALLOWED);
    bytes = warprsa_vault_key_certificates(www, 0, pem, sizeof(pem), &edition);
    assert_true(bytes > 2 * WARPRSA_VAULT_PIECE_BYTES);
    assert_memory_equal(pem, "-----BEGIN CERTIFICATE-----", 27);
    assert_memory_equal(pem + bytes - 26, "-----END CERTIFICATE-----\n", 26);
    warprsa_vault_key_release(www);
}

TEST_IN(test_mistakes, begin, end)
{
    char expected[400];

    write_key("www.pem", pkeys[0], NULL);
    write_text(rules_path, "www user=7 sign padding=none\nwww\n");
    read_files(rules_path, "");
    snprintf(expected, sizeof(expected),
             "key www: added: RSA of 1024 bits\n"
             "rules not read: %s:2:4: expected sign or decrypt; no key can be "
             "used\n",
             rules_path);
    assert_logged(expected);
    unlink(rules_path);
    read_files(rules_path, passphrase_path);
    snprintf(expected, sizeof(expected),
             "keys not read: %s: No such file or directory; all stay as they "
             "were\nrules not read: %s: No such file or directory; no key can "
             "be used\n",
             passphrase_path, rules_path);
    assert_logged(expected);
    assert_true(has_key("www"));
    write_key("ca.pem", pkeys[1], "secret");
    read_files("", "");
    assert_logged("key ca: refused: it is encrypted, and there is no "
                  "passphrase: set keys_passphrase_file\n");
    assert_int_equal(chmod(keys_directory, 0777), 0);
    read_files("", "");
    snprintf(expected, sizeof(expected),
             "keys not read: %s: others may write to it (mode 0777): expected "
             "0700 or 0755; all stay as they were\n",
             keys_directory);
    assert_logged(expected);
    assert_true(has_key("www"));
    assert_int_equal(chmod(rules_path, 0666), -1);
    write_text(rules_path, "");
    assert_int_equal(chmod(rules_path, 0666), 0);
    read_files(rules_path, "");
    assert_non_null(strstr(log_text, "keys.conf: others may write it"));
    assert_int_equal(unlink(rules_path), 0);
    assert_int_equal(chmod(keys_directory, 0700), 0);
}

/* A file whose name begins as that of a key does is no reason to keep this key
 * once its own file is gone. */
TEST_IN(test_longer_name, begin, end)
{
    char name[WARPRSA_KEY_NAME_SIZE], file[100], path[250], expected[400];

    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    snprintf(file, sizeof(file), "%s.pem", name);
    write_key(file, pkeys[0], NULL);
    read_files("", "");
    snprintf(expected, sizeof(expected), "key %s: added: RSA of 1024 bits\n",
             name);
    assert_logged(expected);
    snprintf(path, sizeof(path), "%s/%s", keys_directory, file);
    assert_int_equal(unlink(path), 0);
    snprintf(file, sizeof(file), "%sb.pem", name);
    write_key(file, pkeys[0], NULL);
    read_files("", "");
    snprintf(expected, sizeof(expected),
             "key %sb: refused: expected " WARPRSA_KEY_NAME_ALLOWED "\n"
             "key %s: removed\n",
             name, name);
    assert_logged(expected);
    assert_false(has_key(name));
}

/* A line of keys.conf for a key that GPU hosts have. */
static void add_remote(const char *name, EVP_PKEY *key)
{
    unsigned char *der = NULL, base64[1024];
    int bytes = i2d_PUBKEY(key, &der);
    FILE *file = fopen(rules_path, "a");

    assert_true(bytes > 0 && bytes < 700);
    assert_true(EVP_EncodeBlock(base64, der, bytes) > 0);
    OPENSSL_free(der);
    assert_non_null(file);
    assert_true(fprintf(file, "%s remote spki=%s\n", name, base64) > 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_remote(const char *name, bool is_remote)
{
    warprsa_vault_key *key = warprsa_vault_find_name(vault, name);

    assert_non_null(key);
    assert_int_equal(warprsa_vault_key_is_remote(key), is_remote);
    assert_true((warprsa_vault_key_for_engines(key) == NULL) == is_remote);
    assert_int_equal(warprsa_vault_key_modulus_bytes(key), 128);
    warprsa_vault_key_release(key);
}

/* Keys that GPU hosts have: their numbers go nowhere, they stay while keys.conf
 * can't be read, and a file of the same name is not used. */
TEST_IN(test_remote, begin, end)
{
    const warprsa_vault_user user = {.uid = 7};
    const warprsa_key_use use = {.operation = WARPRSA_USE_SIGN,
                                 .padding = WARPRSA_PADDING_NONE};
    warprsa_vault_key *www = NULL;
    char expected[600];

    write_text(rules_path, "www user=7 sign padding=none\n");
    add_remote("www", pkeys[0]);
    write_key("own.pem", pkeys[1], NULL);
    read_files(rules_path, "");
    /* In any order: the line of a remote key comes before a key is checked. */
    assert_non_null(strstr(log_text, "key own: added: RSA of 1024 bits\n"));
    assert_non_null(strstr(log_text, "key www: added: RSA of 1024 bits, which "
                                     "GPU hosts have\n"));
    log_text[0] = '\0';
    assert_remote("www", true);
    assert_remote("own", false);
    www = warprsa_vault_find_name(vault, "www");
    assert_int_equal(warprsa_vault_may(www, &user, &use, NULL),
                     WARPRSA_ALLOWED);

    write_key("www.pem", pkeys[0], NULL);
    read_files(rules_path, "");
    snprintf(expected, sizeof(expected),
             "key www: refused: its file is not used: %s, line 2, says that "
             "GPU hosts have it; remove the one or the other\n",
             rules_path);
    assert_logged(expected);
    assert_remote("www", true);
    assert_false(warprsa_vault_key_is_removed(www));

    unlink(rules_path);
    write_text(rules_path, "www\n");
    read_files(rules_path, ""); /* with the file of the key */
    assert_non_null(strstr(log_text, "rules not read"));
    assert_non_null(strstr(log_text, "key www: refused: its file is not used "
                                     "while keys.conf can't be read"));
    assert_remote("www", true);
    assert_false(warprsa_vault_key_is_removed(www));
    log_text[0] = '\0';

    unlink(rules_path);
    write_text(rules_path, "");
    add_remote("www", pkeys[0]);
    read_files(rules_path, "");
    assert_remote("www", true);
    assert_int_equal(system("rm /tmp/warprsa-vault-*/keys/www.pem"), 0);
    write_text(rules_path, "www\n");
    log_text[0] = '\0';
    read_files(rules_path, ""); /* without: nothing else names it now */
    assert_non_null(strstr(log_text, "rules not read"));
    assert_null(strstr(log_text, "removed"));
    assert_remote("www", true);
    log_text[0] = '\0';

    write_text(rules_path, "");
    read_files(rules_path, "");
    assert_logged("key www: removed\n");
    assert_false(has_key("www"));
    warprsa_vault_key_release(www);
}

/* Where there is no network. */
TEST_IN(test_no_remote, begin, end)
{
    write_text(rules_path, "");
    add_remote("www", pkeys[0]);
    no_remote = "there is no network";
    read_files(rules_path, "");
    no_remote = NULL;
    assert_logged("key www: refused: there is no network\n");
    assert_false(has_key("www"));
}

/* Nobody receives: the reader ends. */
TEST_IN(test_no_receiver, begin, end)
{
    const warprsa_vault_files files = {
        .keys_directory = keys_directory, .rules = "", .passphrase = ""};

    close(ends[0]);
    assert_false(warprsa_vault_reader_run(&files, ends[1]));
    assert_true(warprsa_vault_transfer_open(ends));
}

RUN_TESTS(set_up, tear_down)
