/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From files to the vault: directories as a reading process sees them, and
 * records that lie in any field.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/vault/vault_transfer.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <openssl/x509.h>

#include "batching/vault/vault_reader.h"
#include "tests/unit/support/vault_keys.h"

enum {
    KEYS = 3,
};

static char directory[] = "/tmp/warprsa-vault-XXXXXX";
static char keys_directory[100], rules_path[100], passphrase_path[100];
static EVP_PKEY *pkeys[KEYS];
static char log_text[16384];

static warprsa_vault *vault;
static int ends[2];
static warprsa_vault_receiver receiver;

/* Always at the same time. */
int __wrap_clock_gettime(clockid_t id, struct timespec *now);

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
    *now = (struct timespec){.tv_sec = 1000};
    return 0;
}

static int set_up(void **state)
{
    umask(0077);
    for (unsigned i = 0; i < KEYS; i++)
        pkeys[i] = vault_keys_make("RSA", 1024, 2);
    return mkdtemp(directory) == NULL;
}

static int tear_down(void **state)
{
    for (unsigned i = 0; i < KEYS; i++)
        EVP_PKEY_free(pkeys[i]);
    return rmdir(directory);
}

static void log_line(void *arg, int level, const char *line)
{
    const size_t used = strlen(log_text);

    snprintf(log_text + used, sizeof(log_text) - used, "%s\n", line);
}

static void assert_logged(const char *expected)
{
    assert_string_equal(log_text, expected);
    log_text[0] = '\0';
}

/* An empty vault with a receiver, and directories. */
static int begin(void **state)
{
    snprintf(keys_directory, sizeof(keys_directory), "%s/keys", directory);
    snprintf(rules_path, sizeof(rules_path), "%s/keys.conf", directory);
    snprintf(passphrase_path, sizeof(passphrase_path), "%s/pass", directory);
    log_text[0] = '\0';
    vault = warprsa_vault_new(log_line, NULL);
    return vault == NULL || !warprsa_vault_transfer_open(ends) ||
           !warprsa_vault_receiver_init(&receiver, ends[0], vault) ||
           mkdir(keys_directory, 0700) != 0;
}

static int end(void **state)
{
    char command[150];

    warprsa_vault_receiver_free(&receiver);
    warprsa_vault_free(vault);
    close(ends[0]);
    close(ends[1]);
    snprintf(command, sizeof(command), "rm -rf %s/*", directory);
    return system(command);
}

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

/* Receives until there is something to say. */
static warprsa_vault_received receive_next(void)
{
    warprsa_vault_received received = WARPRSA_VAULT_NOTHING_YET;

    while (received == WARPRSA_VAULT_NOTHING_YET) {
        struct pollfd readable = {.fd = ends[0], .events = POLLIN};

        assert_int_equal(poll(&readable, 1, 60000), 1);
        received = warprsa_vault_receive(&receiver);
    }
    return received;
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

/* After that the vault takes readings as a whole, and its log has their
 * order. */
static void take_empty_reading(void)
{
    warprsa_vault_record record = {.kind = WARPRSA_RECORD_BEGIN};

    assert_true(warprsa_vault_transfer_send(ends[1], &record));
    record.kind = WARPRSA_RECORD_END;
    assert_true(warprsa_vault_transfer_send(ends[1], &record));
    assert_int_equal(receive_next(), WARPRSA_VAULT_REPLACED);
}

static bool has_key(const char *name)
{
    warprsa_vault_key *key = warprsa_vault_find_name(vault, name);

    warprsa_vault_key_release(key);
    return key != NULL;
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

/* What the receiving process sends reaches nobody. */
TEST_IN(test_one_way, begin, end)
{
    assert_int_equal(send(ends[0], "x", 1, MSG_NOSIGNAL), -1);
    assert_int_equal(warprsa_vault_receive(&receiver),
                     WARPRSA_VAULT_NOTHING_YET);
    close(ends[1]);
    assert_int_equal(warprsa_vault_receive(&receiver), WARPRSA_VAULT_CLOSED);
    close(ends[0]);
    assert_true(warprsa_vault_transfer_open(ends));
}

static warprsa_vault_record record;

static void send_kind(warprsa_vault_record_kind kind)
{
    record.kind = kind;
    assert_true(warprsa_vault_transfer_send(ends[1], &record));
}

static void send_key(const char *name, const EVP_PKEY *key)
{
    vault_keys_numbers(&record.numbers, key);
    snprintf(record.name, sizeof(record.name), "%s", name);
    send_kind(WARPRSA_RECORD_KEY);
}

static void assert_received(warprsa_vault_received expected)
{
    assert_int_equal(warprsa_vault_receive(&receiver), expected);
}

/* A reader that dies, and the next. */
TEST_IN(test_starts_over, begin, end)
{
    send_kind(WARPRSA_RECORD_BEGIN);
    send_key("www", pkeys[0]);
    assert_received(WARPRSA_VAULT_NOTHING_YET);
    assert_false(has_key("www"));
    send_kind(WARPRSA_RECORD_BEGIN);
    send_key("ca", pkeys[1]);
    send_kind(WARPRSA_RECORD_END);
    assert_received(WARPRSA_VAULT_REPLACED);
    assert_received(WARPRSA_VAULT_NOTHING_YET);
    assert_false(has_key("www"));
    assert_true(has_key("ca"));
}

/* ---- keys that come before the end of a first reading ---- */

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
    memset(&record, 0, sizeof(record));
    strcpy(record.name, "ca");
    record.piece.total = 2;
    record.piece.bytes = 1;
    send_kind(WARPRSA_RECORD_CERTIFICATES);
    send_kind(WARPRSA_RECORD_SO_FAR);
    assert_received(WARPRSA_VAULT_MALFORMED);
    assert_false(has_key("ca"));
}

/* A key that is none is refused alone. */
TEST_IN(test_unsound_key, begin, end)
{
    send_kind(WARPRSA_RECORD_BEGIN);
    vault_keys_numbers(&record.numbers, pkeys[0]);
    record.numbers.lengths[4] = 1000000;
    strcpy(record.name, "www");
    send_kind(WARPRSA_RECORD_KEY);
    send_key("ca", pkeys[1]);
    send_kind(WARPRSA_RECORD_END);
    assert_received(WARPRSA_VAULT_REPLACED);
    assert_logged("key www: refused: its numbers are none of a key, or there "
                  "is no memory\nkey ca: added: RSA of 1024 bits\n");
}

/* Sends bytes as they are in the middle of a reading, which has to fail, and
 * shows that the next reading is taken. */
static void assert_malformed(const void *bytes, size_t size)
{
    warprsa_vault_record begin_record = {.kind = WARPRSA_RECORD_BEGIN};

    assert_true(warprsa_vault_transfer_send(ends[1], &begin_record));
    assert_int_equal(send(ends[1], bytes, size, 0), size);
    assert_received(WARPRSA_VAULT_MALFORMED);
    begin_record.kind = WARPRSA_RECORD_END;
    assert_true(warprsa_vault_transfer_send(ends[1], &begin_record));
    assert_received(WARPRSA_VAULT_MALFORMED);
}

TEST_IN(test_malformed, begin, end)
{
    static char bytes[2 * sizeof(warprsa_vault_record)];
    const size_t head = offsetof(warprsa_vault_record, numbers);
    const size_t why = head + WARPRSA_VAULT_WHY_SIZE;

    memset(&record, 0, sizeof(record));
    assert_malformed(bytes, 1);
    assert_malformed(bytes, sizeof(bytes));
    for (uint32_t kind = 0; kind < 20; kind++) {
        record.kind = kind;
        assert_malformed(&record, head - 1);
        assert_malformed(&record, head + 1);
        assert_malformed(&record, sizeof(record));
    }
    /* Texts without an end. */
    memset(record.why, 'w', sizeof(record.why));
    record.kind = WARPRSA_RECORD_REFUSED_KEY;
    assert_malformed(&record, why);
    record.kind = WARPRSA_RECORD_NO_RULES;
    assert_malformed(&record, why);
    record.kind = WARPRSA_RECORD_NO_KEYS;
    assert_malformed(&record, why);
    /* A reason that is none. */
    memset(&record, 0, sizeof(record));
    record.kind = WARPRSA_RECORD_NO_RULES;
    assert_malformed(&record, why);
    record.kind = WARPRSA_RECORD_NO_KEYS;
    assert_malformed(&record, why);
    memset(record.name, 'n', sizeof(record.name));
    record.kind = WARPRSA_RECORD_REFUSED_KEY;
    assert_malformed(&record, why);
    /* A rule that no parser makes. */
    memset(&record, 0, sizeof(record));
    record.kind = WARPRSA_RECORD_RULE;
    assert_malformed(&record, head + sizeof(record.rule));
    assert_logged("");
    /* An END without a BEGIN. */
    send_kind(WARPRSA_RECORD_END);
    assert_received(WARPRSA_VAULT_MALFORMED);
}

TEST_IN(test_malformed_pieces, begin, end)
{
    static const struct {
        uint32_t total, bytes;
    } pieces[] = {
        {0, 0},
        {0, 1},
        {1, 0},
        {1, 2},
        {UINT32_MAX, 1},
        {WARPRSA_VAULT_CERTIFICATE_BYTES_MAX + 1, 1},
        {WARPRSA_VAULT_CERTIFICATE_BYTES_MAX, WARPRSA_VAULT_PIECE_BYTES + 1},
        {1, 1}, /* of no key */
    };
    const size_t size =
        offsetof(warprsa_vault_record, piece) + sizeof(warprsa_vault_piece);

    memset(&record, 0, sizeof(record));
    strcpy(record.name, "www");
    record.kind = WARPRSA_RECORD_CERTIFICATES;
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        record.piece.total = pieces[i].total;
        record.piece.bytes = pieces[i].bytes;
        assert_malformed(&record, size);
    }
    /* Pieces that disagree about the whole. */
    send_kind(WARPRSA_RECORD_BEGIN);
    send_key("www", pkeys[0]);
    memset(&record, 0, sizeof(record));
    strcpy(record.name, "www");
    record.piece.total = 3;
    record.piece.bytes = 2;
    send_kind(WARPRSA_RECORD_CERTIFICATES);
    record.piece.total = 1;
    send_kind(WARPRSA_RECORD_CERTIFICATES);
    assert_received(WARPRSA_VAULT_MALFORMED);
    /* An END amid pieces. */
    send_kind(WARPRSA_RECORD_BEGIN);
    send_key("www", pkeys[0]);
    memset(&record, 0, sizeof(record));
    strcpy(record.name, "www");
    record.piece.total = 2;
    record.piece.bytes = 1;
    send_kind(WARPRSA_RECORD_CERTIFICATES);
    send_kind(WARPRSA_RECORD_END);
    assert_received(WARPRSA_VAULT_MALFORMED);
    assert_false(has_key("www"));
}

/* What the sender says reaches the log as one line. */
TEST_IN(test_reasons_are_printable, begin, end)
{
    send_kind(WARPRSA_RECORD_BEGIN);
    memset(&record, 0, sizeof(record));
    strcpy(record.why, "a\nb");
    send_kind(WARPRSA_RECORD_NO_KEYS);
    strcpy(record.why, "c\033d");
    send_kind(WARPRSA_RECORD_NO_RULES);
    send_kind(WARPRSA_RECORD_END);
    assert_received(WARPRSA_VAULT_REPLACED);
    assert_logged("keys not read: a?b; all stay as they were\n"
                  "rules not read: c?d; no key can be used\n");
}

RUN_TESTS(set_up, tear_down)
