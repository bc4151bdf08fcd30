/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Questions which keys the daemon's vault has: by programs that wait for the
 * replies, and by clients that break the protocol.
 */
#include "tests/unit/support/daemon_support.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "batching/base/clock.h"
#include "batching/daemon/client/key_lookup.h"
#include "batching/daemon/server/lookups.h"

enum {
    KEY = 1,
    WHY_SIZE = 300,
};

static test_server s;

static int begin(void **state)
{
    (void)state;
    fake_reset();
    test_server_open(&s, 64, LONG_MS);
    return 0;
}

static int end(void **state)
{
    (void)state;
    test_server_close(&s);
    return 0;
}

static void open_lookup(warprsa_key_lookup *lookup, const char *path)
{
    char why[WHY_SIZE];

    assert_true(warprsa_key_lookup_open(
        lookup, path, warprsa_clock_ns() + LONG_MS * WARPRSA_NS_PER_MS, why,
        sizeof(why)));
}

TEST_IN(keys_are_listed, begin, end)
{
    warprsa_key_lookup lookup;
    warprsa_key_message key;
    char why[WHY_SIZE], name[WARPRSA_KEY_NAME_SIZE] = "", wanted[16];
    unsigned count = 0;

    open_lookup(&lookup, s.path);
    fake_vault.unknown_before = 90; /* more than are looked at at once */
    while (warprsa_key_lookup_next(&lookup, name, &key, why, sizeof(why)) ==
           WARPRSA_KEY_FOUND) {
        snprintf(wanted, sizeof(wanted), "key%02u", 90 + count++);
        assert_string_equal(key.name, wanted);
        assert_int_equal(key.spki_bytes, 300);
        assert_int_equal(key.spki[299], 89 + count);
        strcpy(name, key.name);
    }
    assert_int_equal(key.type, WARPRSA_MESSAGE_NO_KEY);
    assert_int_equal(count, FAKE_VAULT_KEYS - 90);
    assert_int_equal(fake_vault.user.uid, getuid());
    assert_int_equal(fake_vault.user.pid, getpid());
    warprsa_key_lookup_close(&lookup);
}

TEST_IN(keys_are_found_by_name, begin, end)
{
    warprsa_key_lookup lookup;
    warprsa_key_message key;
    char why[WHY_SIZE];

    open_lookup(&lookup, s.path);
    assert_int_equal(
        warprsa_key_lookup_name(&lookup, "key07", &key, why, sizeof(why)),
        WARPRSA_KEY_FOUND);
    assert_string_equal(key.name, "key07");
    assert_string_equal(key.allowed, "anything with key07");
    assert_int_equal(key.rights.operations, 1 << WARPRSA_USE_SIGN);
    assert_int_equal(key.rights.paddings[WARPRSA_USE_SIGN],
                     1 << WARPRSA_PADDING_PSS);
    assert_int_equal(key.rights.digests[WARPRSA_USE_SIGN][WARPRSA_PADDING_PSS],
                     7);
    assert_int_equal(key.rights.paddings[WARPRSA_USE_DECRYPT], 0);
    assert_int_equal(
        warprsa_key_lookup_name(&lookup, "key7", &key, why, sizeof(why)),
        WARPRSA_KEY_NOT_FOUND);
    fake_vault.unknown_before = 8;
    assert_int_equal(
        warprsa_key_lookup_name(&lookup, "key07", &key, why, sizeof(why)),
        WARPRSA_KEY_NOT_FOUND);
    assert_int_equal(fake_vault_references(), 0);
    /* What is no name ends the connection. */
    assert_int_equal(
        warprsa_key_lookup_name(&lookup, "../key07", &key, why, sizeof(why)),
        WARPRSA_KEY_UNKNOWN);
    assert_non_null(strstr(why, s.path));
    assert_int_equal(test_server_broken(&s), 1);
    warprsa_key_lookup_close(&lookup);
}

/* Looks the key up by its name, and gets its certificates. */
static warprsa_key_found certificates_of(warprsa_key_lookup *lookup,
                                         const char *name, char **pem,
                                         size_t *bytes, char why[WHY_SIZE])
{
    static warprsa_key_message key;
    warprsa_key_found found;

    *pem = NULL;
    found = warprsa_key_lookup_name(lookup, name, &key, why, WHY_SIZE);
    if (found == WARPRSA_KEY_FOUND)
        found = warprsa_key_lookup_certificates(lookup, &key, pem, bytes, why,
                                                WHY_SIZE);
    return found;
}

/* The certificates of key number KEY come whole, however many there are. */
static void get_certificates(warprsa_key_lookup *lookup, unsigned wanted)
{
    char why[WHY_SIZE] = "", *pem = NULL;
    size_t bytes = SIZE_MAX;

    assert_int_equal(certificates_of(lookup, "key01", &pem, &bytes, why),
                     WARPRSA_KEY_FOUND);
    assert_int_equal(bytes, wanted);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(pem[i],
                         fake_vault_certificate(KEY, fake_vault.edition, i));
    assert_int_equal(pem[bytes], '\0');
    free(pem);
}

TEST_IN(certificates_come_in_pieces, begin, end)
{
    static const unsigned sizes[] = {
        0,
        1,
        WARPRSA_KEY_CERTIFICATES_PIECE - 1,
        WARPRSA_KEY_CERTIFICATES_PIECE,
        WARPRSA_KEY_CERTIFICATES_PIECE + 1,
        3 * WARPRSA_KEY_CERTIFICATES_PIECE + 17,
        WARPRSA_KEY_CERTIFICATES_MAX,
    };
    static const unsigned questions[] = {1, 1, 1, 1, 2, 4, 8};
    warprsa_key_lookup lookup;
    char why[WHY_SIZE] = "", *pem = NULL;
    size_t bytes = 0;

    open_lookup(&lookup, s.path);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const uint32_t before = lookup.asked;

        fake_vault.certificates = sizes[i];
        get_certificates(&lookup, sizes[i]);
        assert_int_equal(lookup.asked - before, questions[i]);
    }
    /* Two that are of different editions are never put together. */
    fake_vault.editions_left = 7;
    get_certificates(&lookup, WARPRSA_KEY_CERTIFICATES_MAX);
    assert_int_equal(fake_vault.editions_left, 0);
    assert_int_equal(fake_vault.edition, 7);
    fake_vault.editions_left = 1000;
    assert_int_equal(certificates_of(&lookup, "key01", &pem, &bytes, why),
                     WARPRSA_KEY_UNKNOWN);
    assert_null(pem);
    assert_non_null(strstr(why, "key01 again and again"));
    warprsa_key_lookup_close(&lookup);
    assert_int_equal(fake_vault_references(), 0);
    assert_int_equal(test_server_broken(&s), 0);
}

/* A key comes with its certificates: one question for each, and one that finds
 * no more. */
TEST_IN(one_question_a_key, begin, end)
{
    warprsa_key_lookup lookup;
    static warprsa_key_message key;
    char why[WHY_SIZE], name[WARPRSA_KEY_NAME_SIZE] = "", *pem = NULL;
    size_t bytes = 0;
    unsigned count = 0;

    fake_vault.certificates = WARPRSA_KEY_CERTIFICATES_PIECE;
    open_lookup(&lookup, s.path);
    while (warprsa_key_lookup_next(&lookup, name, &key, why, sizeof(why)) ==
           WARPRSA_KEY_FOUND) {
        assert_int_equal(warprsa_key_lookup_certificates(
                             &lookup, &key, &pem, &bytes, why, sizeof(why)),
                         WARPRSA_KEY_FOUND);
        assert_int_equal(bytes, WARPRSA_KEY_CERTIFICATES_PIECE);
        free(pem);
        strcpy(name, key.name);
        count++;
    }
    assert_int_equal(count, FAKE_VAULT_KEYS);
    assert_int_equal(lookup.asked, count + 1);
    warprsa_key_lookup_close(&lookup);
}

/* Whoever may not know of a key gets no certificates of it, as if there were no
 * such key. */
TEST_IN(certificates_of_unknown_keys, begin, end)
{
    static const char *const names[] = {"key7", "key00"};
    warprsa_key_lookup lookup;
    char why[WHY_SIZE] = "", *pem = NULL;
    size_t bytes = 0;

    fake_vault.certificates = 100;
    fake_vault.unknown_before = KEY;
    open_lookup(&lookup, s.path);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(certificates_of(&lookup, names[i], &pem, &bytes, why),
                         WARPRSA_KEY_NOT_FOUND);
        assert_null(pem);
    }
    get_certificates(&lookup, 100);
    assert_int_equal(test_server_broken(&s), 0);
    assert_int_equal(certificates_of(&lookup, "", &pem, &bytes, why),
                     WARPRSA_KEY_UNKNOWN);
    assert_non_null(strstr(why, s.path));
    assert_int_equal(test_server_broken(&s), 1);
    warprsa_key_lookup_close(&lookup);
}

/* Asks for a key with certificates from a byte on. True: it got a reply. */
static bool ask_from(const warprsa_control_connection *control, uint32_t offset,
                     warprsa_key_message *reply)
{
    warprsa_message message = {
        .type = WARPRSA_MESSAGE_LOOKUP, .name = "key07", .number = offset};
    warprsa_received received;

    assert_true(warprsa_message_send(control->socket.fd, &message, NULL, 0));
    do
        received = warprsa_key_message_receive(control->socket.fd, reply);
    while (received == WARPRSA_NOTHING_YET);
    return received == WARPRSA_RECEIVED;
}

/* From a byte on that is not there any more there is nothing; one that no key
 * can have ends the connection. */
TEST_IN(certificates_from_any_byte_on, begin, end)
{
    static const uint32_t absurd[] = {WARPRSA_KEY_CERTIFICATES_MAX + 1,
                                      INT32_MAX, UINT32_MAX};
    static warprsa_key_message reply;
    warprsa_control_connection control;
    char why[WHY_SIZE];

    fake_vault.certificates = 100;
    assert_true(
        warprsa_control_connection_open(&control, s.path, why, sizeof(why)));
    for (uint32_t offset = 99; offset <= WARPRSA_KEY_CERTIFICATES_MAX;
         offset += offset < 101 ? 1 : 65435) {
        assert_true(ask_from(&control, offset, &reply));
        assert_int_equal(reply.type, WARPRSA_MESSAGE_KEY);
        assert_int_equal(reply.certificates.total, 100);
        assert_int_equal(reply.certificates.offset, offset);
        assert_int_equal(reply.certificates.bytes, offset == 99);
    }
    assert_int_equal(test_server_broken(&s), 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_false(ask_from(&control, absurd[i], &reply));
        assert_int_equal(test_server_broken(&s), i + 1);
        assert_true(test_server_logged(&s, "from a byte on that no key"));
        warprsa_control_connection_close(&control);
        assert_true(warprsa_control_connection_open(&control, s.path, why,
                                                    sizeof(why)));
    }
    warprsa_control_connection_close(&control);
}

/* A client that asks without reading can't fill the kernel's memory. */
TEST_IN(questions_without_reading, begin, end)
{
    static const uint32_t types[] = {
        WARPRSA_MESSAGE_LIST, WARPRSA_MESSAGE_LOOKUP, WARPRSA_MESSAGE_LIST};
    warprsa_control_connection control;
    char why[WHY_SIZE];

    for (unsigned type = 0; type < 3; type++) {
        warprsa_message message = {.type = types[type], .name = "key07"};

        /* With all keys hidden a search has two turns. */
        fake_vault.unknown_before = type == 2 ? FAKE_VAULT_KEYS : 0;

        assert_true(warprsa_control_connection_open(&control, s.path, why,
                                                    sizeof(why)));
        for (unsigned i = 0; i < 2; i++)
            (void)warprsa_message_send(control.socket.fd, &message, NULL, 0);
        WAIT_UNTIL(test_server_broken(&s) == type + 1);
        warprsa_control_connection_close(&control);
    }
}

/* ---- keys that a user may not know of ---- */

/* Sends a question, and receives the reply. */
static void ask(const warprsa_control_connection *control, uint32_t type,
                const char *name, warprsa_key_message *reply)
{
    warprsa_message message = {.type = type};
    warprsa_received received;

    snprintf(message.name, sizeof(message.name), "%s", name);
    assert_true(warprsa_message_send(control->socket.fd, &message, NULL, 0));
    do
        received = warprsa_key_message_receive(control->socket.fd, reply);
    while (received == WARPRSA_NOTHING_YET);
    assert_int_equal(received, WARPRSA_RECEIVED);
}

/* Wherever a user begins, no reply to it has the name of a key that is not its
 * own: not of one that it asked for by name, and not of one on the way. */
TEST_IN(hidden_keys_are_never_named, begin, end)
{
    static const unsigned hidden[] = {FAKE_VAULT_KEYS, FAKE_VAULT_KEYS - 1};
    static const char no_name[WARPRSA_KEY_NAME_SIZE];
    static warprsa_key_message reply;
    warprsa_control_connection control;
    char why[WHY_SIZE], name[16];

    assert_true(
        warprsa_control_connection_open(&control, s.path, why, sizeof(why)));
    for (unsigned i = 0; i < 2; i++)
        for (unsigned guess = 0; guess < FAKE_VAULT_KEYS; guess++) {
            const bool last = guess == FAKE_VAULT_KEYS - 1;

            fake_vault.unknown_before = hidden[i];
            snprintf(name, sizeof(name), "key%02u", guess);
            ask(&control, WARPRSA_MESSAGE_LIST, last ? "" : name, &reply);
            if (i == 1) { /* the control: the last one is the user's */
                assert_int_equal(reply.type, WARPRSA_MESSAGE_KEY);
                assert_string_equal(reply.name, "key99");
                continue;
            }
            assert_int_equal(reply.type, WARPRSA_MESSAGE_NO_KEY);
            assert_memory_equal(reply.name, no_name, sizeof(no_name));
            ask(&control, WARPRSA_MESSAGE_LOOKUP, name, &reply);
            assert_int_equal(reply.type, WARPRSA_MESSAGE_NO_KEY);
            assert_memory_equal(reply.name, no_name, sizeof(no_name));
        }
    assert_int_equal(fake_vault_references(), 0);
    assert_int_equal(test_server_broken(&s), 0);
    warprsa_control_connection_close(&control);
}

/* A question of this process's, whose turns a test has one by one. */
typedef struct question {
    int ends[2]; /* the daemon's is the first */
    warprsa_vault *vault;
    warprsa_lookup lookup;
    warprsa_key_message reply;
} question;

static question q;

static int begin_question(void **state)
{
    (void)state;
    memset(&q, 0, sizeof(q));
    q.vault = fake_vault_reset(FAKE_VAULT_KEYS);
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, q.ends);
}

static int end_question(void **state)
{
    (void)state;
    close(q.ends[0]);
    close(q.ends[1]);
    return 0;
}

/* The first turn of a LIST from the beginning. */
static void begin_list(uint32_t generation)
{
    const warprsa_message asked = {.type = WARPRSA_MESSAGE_LIST,
                                   .generation = generation};
    const struct ucred sender = {.pid = 1, .uid = 4711, .gid = 4711};

    assert_null(
        warprsa_lookup_begin(&q.lookup, q.vault, q.ends[0], &asked, &sender));
}

static void go_on(void)
{
    assert_null(warprsa_lookup_go_on(&q.lookup, q.vault, q.ends[0]));
}

static warprsa_received receive(void)
{
    return warprsa_key_message_receive(q.ends[1], &q.reply);
}

/* Nobody waits for more than one turn, and nothing is said before the end. */
TEST_IN(a_search_has_turns, begin_question, end_question)
{
    fake_vault.unknown_before = FAKE_VAULT_KEYS;
    begin_list(5);
    assert_true(q.lookup.is_open);
    assert_int_equal(fake_vault.known, WARPRSA_LOOKUP_KEYS);
    assert_int_equal(receive(), WARPRSA_NOTHING_YET);
    go_on();
    assert_false(q.lookup.is_open);
    assert_int_equal(fake_vault.known, FAKE_VAULT_KEYS);
    assert_int_equal(receive(), WARPRSA_RECEIVED);
    assert_int_equal(q.reply.type, WARPRSA_MESSAGE_NO_KEY);
    assert_int_equal(q.reply.generation, 5);
    assert_int_equal(q.reply.name[0], '\0');
    /* The same process is asked about in each turn. */
    assert_int_equal(fake_vault.user.uid, 4711);
    assert_int_equal(fake_vault.user.pid, 1);
}

/* Between two turns the vault may change. */
TEST_IN(a_reload_amid_a_search, begin_question, end_question)
{
    fake_vault.unknown_before = 70;
    begin_list(1);
    assert_true(q.lookup.is_open);
    fake_vault_remove(WARPRSA_LOOKUP_KEYS - 1); /* where the search stands */
    fake_vault_remove(70);
    go_on();
    assert_int_equal(receive(), WARPRSA_RECEIVED);
    assert_string_equal(q.reply.name, "key71");
    /* A key before it that is the user's now comes with the next list. */
    fake_vault.unknown_before = FAKE_VAULT_KEYS;
    begin_list(2);
    fake_vault.unknown_before = 0;
    go_on();
    assert_int_equal(receive(), WARPRSA_RECEIVED);
    assert_string_equal(q.reply.name, "key65"); /* 64 and one is removed */
    begin_list(3);
    assert_false(q.lookup.is_open);
    assert_int_equal(receive(), WARPRSA_RECEIVED);
    assert_string_equal(q.reply.name, "key00");
    assert_int_equal(fake_vault_references(), 0);
}

/* ---- daemons that lie ---- */

typedef enum lie {
    NONE_YET, /* no key, but a name */
    THE_SAME, /* the key that was there before */
    ONE_BEFORE,
    ONE_MORE, /* always another one */
} lie;

static struct {
    lie lie;
    int listener;
    atomic_uint questions;
    char path[64];
} liar;

static void tell_lie(const warprsa_message *question,
                     warprsa_key_message *reply)
{
    const unsigned number = atomic_fetch_add(&liar.questions, 1);

    *reply = (warprsa_key_message){
        .type =
            liar.lie == NONE_YET ? WARPRSA_MESSAGE_NO_KEY : WARPRSA_MESSAGE_KEY,
        .generation = question->generation,
    };
    if (liar.lie == NONE_YET || liar.lie == ONE_MORE)
        snprintf(reply->name, sizeof(reply->name), "key%09u", number);
    else if (liar.lie == THE_SAME || question->name[0] == '\0')
        strcpy(reply->name, "key");
    else
        strcpy(reply->name, "before");
}

static void *lie_without_end(void *arg)
{
    const int fd = accept(liar.listener, NULL, NULL);
    struct pollfd one = {.fd = fd, .events = POLLIN};
    int fds[WARPRSA_MESSAGE_FDS];
    warprsa_message question;
    warprsa_key_message reply;

    (void)arg;
    assert_true(fd >= 0);
    do {
        if (poll(&one, 1, -1) != 1 ||
            warprsa_message_receive(fd, &question, fds) != WARPRSA_RECEIVED)
            break;
        tell_lie(&question, &reply);
    } while (warprsa_key_message_send(fd, &reply));
    close(fd);
    return NULL;
}

static void start_liar(pthread_t *thread, lie lie)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    liar.lie = lie;
    atomic_store(&liar.questions, 0);
    snprintf(liar.path, sizeof(liar.path), "/tmp/warprsa-liar.%d",
             (int)getpid());
    strcpy(address.sun_path, liar.path);
    liar.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(
        bind(liar.listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(liar.listener, 1), 0);
    assert_int_equal(pthread_create(thread, NULL, lie_without_end, NULL), 0);
}

static void stop_liar(pthread_t thread)
{
    assert_int_equal(pthread_join(thread, NULL), 0);
    close(liar.listener);
    assert_int_equal(unlink(liar.path), 0);
}

/* Lists all keys. Returns how many it found until it was told no more. */
static unsigned list_lies(lie lie, char why[WHY_SIZE])
{
    static warprsa_key_message key;
    char name[WARPRSA_KEY_NAME_SIZE] = "";
    warprsa_key_lookup lookup;
    warprsa_key_found found;
    unsigned count = 0;
    pthread_t thread;

    why[0] = '\0';
    start_liar(&thread, lie);
    open_lookup(&lookup, liar.path);
    while ((found = warprsa_key_lookup_next(&lookup, name, &key, why,
                                            WHY_SIZE)) == WARPRSA_KEY_FOUND &&
           count <= WARPRSA_CLIENT_KEYS_MAX) {
        strcpy(name, key.name);
        count++;
    }
    assert_int_equal(found, WARPRSA_KEY_UNKNOWN);
    warprsa_key_lookup_close(&lookup);
    stop_liar(thread);
    return count;
}

/* A list ends, whatever the daemon says. */
TEST(a_list_goes_on)
{
    char why[WHY_SIZE];

    assert_int_equal(list_lies(THE_SAME, why), 1);
    assert_non_null(strstr(why, "without sense"));
    assert_int_equal(liar.questions, 2);
    assert_int_equal(list_lies(ONE_BEFORE, why), 1);
    assert_non_null(strstr(why, "without sense"));
    assert_int_equal(liar.questions, 2);
    assert_int_equal(list_lies(NONE_YET, why), 0);
    assert_non_null(strstr(why, "without sense"));
    assert_int_equal(liar.questions, 1);
    assert_int_equal(list_lies(ONE_MORE, why), WARPRSA_CLIENT_KEYS_MAX);
    assert_non_null(strstr(why, "without end"));
}

/* The deadline is of all questions together: it is not a new one for each. */
TEST_IN(a_search_has_one_deadline, begin, end)
{
    static warprsa_key_message key;
    char why[WHY_SIZE] = "";
    warprsa_key_lookup lookup;

    open_lookup(&lookup, s.path);
    assert_int_equal(
        warprsa_key_lookup_next(&lookup, "", &key, why, sizeof(why)),
        WARPRSA_KEY_FOUND);
    lookup.until_ns = warprsa_clock_ns();
    assert_int_equal(
        warprsa_key_lookup_next(&lookup, key.name, &key, why, sizeof(why)),
        WARPRSA_KEY_UNKNOWN);
    assert_non_null(strstr(why, "does not answer in time"));
    warprsa_key_lookup_close(&lookup);
}

RUN_TESTS(NULL, NULL)
