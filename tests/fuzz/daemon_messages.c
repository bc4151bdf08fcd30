/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzer: the messages of a client, over a control connection and through the
 * shared memory of the sessions that it is granted. The bytes are a script. Its
 * steps know enough of the protocol to come behind CONNECT and the upload of
 * keys; what they say is right, nearly right or rubbish.
 */
#include "tests/fuzz/fuzz_daemon.h"
#include "tests/fuzz/fuzz_input.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>

enum {
    STEPS = 64,
    SESSIONS = 3,
    REPLY_MS = 20, /* waits for a reply; there may be none */
    KEYS = 8,      /* in the dictionary */
};

typedef struct script {
    fuzz_input in;
    int control;
    uint32_t offered; /* the number of the last session */
    raw_client sessions[SESSIONS];
    bool open[SESSIONS];
} script;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void connect_control(script *x)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (x->control >= 0)
        close(x->control);
    strcpy(address.sun_path, fuzz_daemon()->path);
    x->control = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(x->control >= 0);
    x->offered = 0;
    /* It may be refused later on, but not here. */
    assert_int_equal(
        connect(x->control, (struct sockaddr *)&address, sizeof(address)), 0);
}

static void send_bytes(const script *x, const void *bytes, size_t size)
{
    (void)send(x->control, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void close_session(script *x, unsigned i)
{
    if (!x->open[i])
        return;
    x->open[i] = false;
    warprsa_shm_unmap(&x->sessions[i].shm);
    close(x->sessions[i].socket);
    close(x->sessions[i].memory);
    close(x->sessions[i].eventfd);
}

/* Keeps a session that was offered, in place of another one. */
static void keep_session(script *x, const warprsa_message *welcome,
                         const int fds[WARPRSA_MESSAGE_FDS])
{
    unsigned i = welcome->number % SESSIONS;
    raw_client *s = &x->sessions[i];

    close_session(x, i);
    x->offered = welcome->number;
    memset(s, 0, sizeof(*s));
    s->socket = fds[0];
    s->memory = fds[1];
    s->eventfd = fds[2];
    s->welcome = *welcome;
    /* An identity of the network has more. */
    assert_true(welcome->slots >= 1 && welcome->slots <= 8192);
    x->open[i] = true;
    /* Where ATTACHED was sent before, the memory can't be mapped any more. */
    if (!warprsa_shm_map(&s->shm, welcome->slots, welcome->uses != 0,
                         s->memory))
        close_session(x, i);
}

static void receive_reply(script *x)
{
    struct pollfd one = {.fd = x->control, .events = POLLIN};
    int fds[WARPRSA_MESSAGE_FDS];
    warprsa_message reply;

    if (poll(&one, 1, REPLY_MS) != 1 ||
        warprsa_message_receive(x->control, &reply, fds) != WARPRSA_RECEIVED)
        return;
    if (reply.type == WARPRSA_MESSAGE_WELCOME)
        keep_session(x, &reply, fds);
    else
        assert_int_equal(reply.type, WARPRSA_MESSAGE_REFUSED);
}

/* CONNECT, and the reply. */
static void ask_for_session(script *x)
{
    warprsa_message message = {.version = WARPRSA_PROTOCOL,
                               .type = WARPRSA_MESSAGE_CONNECT,
                               .slots = fuzz_number(&x->in),
                               .keys = fuzz_number(&x->in),
                               .notifiers = fuzz_number(&x->in),
                               .uses = fuzz_byte(&x->in) % 4};

    /* As the gateway does: the daemon's own user may. */
    if (fuzz_byte(&x->in) > 200) {
        message.identity = fuzz_number(&x->in);
        message.generation = fuzz_number(&x->in);
        memset(message.name, fuzz_byte(&x->in),
               fuzz_number(&x->in) % (sizeof(message.name) + 1));
    }
    send_bytes(x, &message, sizeof(message));
    receive_reply(x);
}

static void accept_session(script *x)
{
    warprsa_message message = {.version = WARPRSA_PROTOCOL,
                               .type = WARPRSA_MESSAGE_ATTACHED,
                               .number = x->offered};

    if (fuzz_byte(&x->in) > 200)
        message.number = fuzz_number(&x->in);
    send_bytes(x, &message, sizeof(message));
}

static void send_any_message(script *x)
{
    warprsa_message message = {.version = WARPRSA_PROTOCOL};

    if (fuzz_byte(&x->in) > 200)
        message.version = fuzz_number(&x->in);
    message.type = fuzz_number(&x->in);
    message.number = fuzz_number(&x->in);
    message.generation = fuzz_number(&x->in);
    send_bytes(x, &message, sizeof(message));
}

/* Has the user know of some keys alone. An earlier question with the same
 * generation, whose reply may be the one that is read, had the same ones. */
static void hide_keys(const warprsa_message *question)
{
    fake_vault.unknown_before = question->generation % (FAKE_VAULT_KEYS + 1);
}

/* A question which keys the vault has, and mostly the reply. No reply names a
 * key that is hidden. */
static void ask_for_key(script *x)
{
    warprsa_message message = {.version = WARPRSA_PROTOCOL,
                               .type = WARPRSA_MESSAGE_LOOKUP +
                                       fuzz_byte(&x->in) % 2,
                               .generation = fuzz_number(&x->in)};
    struct pollfd one = {.fd = x->control, .events = POLLIN};
    warprsa_key_message reply;

    hide_keys(&message);
    snprintf(message.name, sizeof(message.name), "key%02u",
             fuzz_byte(&x->in) % (FAKE_VAULT_KEYS + 1));
    if (fuzz_byte(&x->in) > 128)
        memset(message.name, (int)fuzz_byte(&x->in),
               fuzz_number(&x->in) % (sizeof(message.name) + 1));
    send_bytes(x, &message, sizeof(message));
    if (fuzz_byte(&x->in) > 200 || poll(&one, 1, REPLY_MS) != 1 ||
        warprsa_key_message_receive(x->control, &reply) != WARPRSA_RECEIVED)
        return;
    assert_true(reply.spki_bytes <= sizeof(reply.spki));
    assert_non_null(memchr(reply.name, '\0', sizeof(reply.name)));
    assert_non_null(memchr(reply.allowed, '\0', sizeof(reply.allowed)));
    if (reply.type != WARPRSA_MESSAGE_KEY)
        assert_int_equal(reply.name[0], '\0');
    else if (reply.generation == message.generation)
        assert_true(strtoul(reply.name + 3, NULL, 10) >=
                    fake_vault.unknown_before);
}

/* A question for a key with certificates from some byte on, and mostly the
 * reply. */
static void ask_for_certificates(script *x)
{
    warprsa_message message = {.version = WARPRSA_PROTOCOL,
                               .type = WARPRSA_MESSAGE_LOOKUP,
                               .number = fuzz_number(&x->in),
                               .generation = fuzz_number(&x->in)};
    struct pollfd one = {.fd = x->control, .events = POLLIN};
    static warprsa_key_message reply;
    const warprsa_certificates_piece *piece = &reply.certificates;

    fake_vault.certificates =
        fuzz_number(&x->in) % (WARPRSA_KEY_CERTIFICATES_MAX + 1);
    hide_keys(&message);
    snprintf(message.name, sizeof(message.name), "key%02u",
             fuzz_byte(&x->in) % (FAKE_VAULT_KEYS + 1));
    if (fuzz_byte(&x->in) > 128)
        message.number %= WARPRSA_KEY_CERTIFICATES_MAX + 2;
    send_bytes(x, &message, sizeof(message));
    if (fuzz_byte(&x->in) > 200 || poll(&one, 1, REPLY_MS) != 1 ||
        warprsa_key_message_receive(x->control, &reply) != WARPRSA_RECEIVED)
        return;
    if (reply.type != WARPRSA_MESSAGE_KEY)
        return;
    assert_true(piece->bytes <= sizeof(piece->pem));
    assert_true(piece->total <= WARPRSA_KEY_CERTIFICATES_MAX);
    if (piece->bytes > 0)
        assert_true(piece->offset + piece->bytes <= piece->total);
}

static void send_rubbish(script *x)
{
    size_t size = fuzz_byte(&x->in) % 64;

    if (size > (size_t)(x->in.end - x->in.at))
        size = (size_t)(x->in.end - x->in.at);
    send_bytes(x, x->in.at, size);
    x->in.at += size;
}

/* A message with descriptors, of which the daemon wants none. */
static void send_descriptors(script *x)
{
    warprsa_message message = {.type = 1 + fuzz_byte(&x->in) % 5,
                               .slots = 1,
                               .keys = 1,
                               .notifiers = 1};
    int ends[2], fds[WARPRSA_MESSAGE_FDS];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends),
                     0);
    fds[0] = ends[0];
    fds[1] = ends[1];
    fds[2] = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)warprsa_message_send(x->control, &message, fds,
                               1 + fuzz_byte(&x->in) % WARPRSA_MESSAGE_FDS);
    warprsa_message_close_fds(fds);
}

/* A session of the script's, or NULL. */
static raw_client *some_session(script *x)
{
    unsigned i = fuzz_byte(&x->in) % SESSIONS;

    return x->open[i] ? &x->sessions[i] : NULL;
}

/* Notifies the daemon, and mostly waits a moment for it to look. */
static void notify(script *x, const raw_client *s)
{
    raw_client_notify(s);
    if (fuzz_byte(&x->in) < 200)
        FUZZ_LET(atomic_load(&s->shm.head->notify_flags) == 0);
}

static void send_shm_message(script *x, raw_client *s,
                             const warprsa_shm_message *message)
{
    (void)warprsa_shm_send(&s->shm, &s->messages_offset, message);
    notify(x, s);
}

/* A key of the dictionary, sometimes with bytes changed. */
static void send_key(script *x, raw_client *s)
{
    warprsa_shm_message message = {.type = WARPRSA_SHM_KEY};
    uint32_t which = fuzz_byte(&x->in), changes = fuzz_byte(&x->in);
    uint8_t *bytes = (uint8_t *)&message.key;

    message.key = fake_key((warprsa_size_class)(which % WARPRSA_CLASSES),
                           which / WARPRSA_CLASSES % KEYS);
    for (uint32_t i = 200; i < changes; i++) {
        size_t at = fuzz_number(&x->in) % sizeof(message.key);

        bytes[at] = (uint8_t)fuzz_byte(&x->in);
    }
    if (changes == 199)
        message.key.modulus_bytes = fuzz_number(&x->in);
    message.number = fuzz_number(&x->in);
    message.generation = fuzz_byte(&x->in) % 3;
    send_shm_message(x, s, &message);
}

/* A key of the vault, or one that it has not. */
static void name_key(script *x, raw_client *s)
{
    warprsa_shm_message message = {.type = WARPRSA_SHM_KEY_USE};

    fake_vault_spki(fuzz_byte(&x->in) % (FAKE_VAULT_LARGE + 2),
                    message.spki_sha256);
    message.number = fuzz_number(&x->in);
    message.generation = fuzz_byte(&x->in) % 3;
    send_shm_message(x, s, &message);
}

static void send_other(script *x, raw_client *s)
{
    warprsa_shm_message message = {.type = fuzz_number(&x->in),
                                   .number = fuzz_number(&x->in),
                                   .generation = fuzz_byte(&x->in) % 3};

    send_shm_message(x, s, &message);
}

static void ask_for_notifier(script *x, raw_client *s)
{
    warprsa_shm_message asked = {.type = WARPRSA_SHM_NOTIFIER,
                                 .number = 1 + fuzz_byte(&x->in) % 4,
                                 .generation = fuzz_byte(&x->in) % 3};
    warprsa_message reply;
    int fds[WARPRSA_MESSAGE_FDS];

    send_shm_message(x, s, &asked);
    if (fuzz_byte(&x->in) > 128 ||
        warprsa_message_receive(s->socket, &reply, fds) != WARPRSA_RECEIVED)
        return;
    warprsa_message_close_fds(fds);
}

static void request(script *x, raw_client *s)
{
    uint32_t slot = fuzz_byte(&x->in) % s->shm.slots;
    uint32_t generation = 1 + fuzz_byte(&x->in), key = fuzz_number(&x->in);
    warprsa_shm_request *r = &s->shm.slot[slot].request;

    raw_client_fill(s, slot, generation, key, fuzz_byte(&x->in) % 3);
    r->bytes = 128 * (1 + fuzz_byte(&x->in) % 8);
    if (fuzz_byte(&x->in) > 200)
        r->bytes = fuzz_number(&x->in);
    r->notifier = fuzz_byte(&x->in) % 8;
    if (r->notifier > 5)
        r->notifier = fuzz_number(&x->in);
    r->notifier_generation = fuzz_byte(&x->in) % 3;
    r->number[0] = (uint8_t)fuzz_byte(&x->in);
    raw_client_submit(s, fuzz_byte(&x->in) > 220 ? fuzz_number(&x->in) : slot);
    notify(x, s);
    FUZZ_LET(atomic_load(&s->shm.slot[slot].answered) == generation);
}

/* A use: right, or with any of its fields changed. */
static void use(script *x, raw_client *s)
{
    uint32_t slot = fuzz_byte(&x->in) % s->shm.slots;
    uint32_t generation = 1 + fuzz_byte(&x->in), key = fuzz_number(&x->in);
    uint32_t changes = fuzz_byte(&x->in);
    warprsa_shm_use *u;

    if (s->shm.use == NULL)
        return;
    u = &s->shm.use[slot];
    raw_client_fill(s, slot, generation, key, fuzz_byte(&x->in) % 3);
    s->shm.slot[slot].request.bytes = 0;
    u->header = (warprsa_key_use){
        .operation = (uint8_t)(1 + fuzz_byte(&x->in) % 2),
        .padding = WARPRSA_PADDING_NONE,
        .input_bytes = fuzz_byte(&x->in) < 200 ? 128 : FAKE_VAULT_LARGE_BYTES};
    for (uint32_t i = 128; i < changes; i++)
        ((uint8_t *)&u->header)[fuzz_byte(&x->in) % sizeof(u->header)] =
            (uint8_t)fuzz_byte(&x->in);
    u->number[0] = (uint8_t)fuzz_byte(&x->in);
    raw_client_submit(s, slot);
    notify(x, s);
    FUZZ_LET(atomic_load(&s->shm.slot[slot].answered) == generation);
}

static void session_step(script *x, uint32_t what)
{
    raw_client *s = some_session(x);

    if (s == NULL)
        return;
    switch (what % 8) {
    case 0:
        send_key(x, s);
        break;
    case 1:
        send_other(x, s);
        break;
    case 2:
        ask_for_notifier(x, s);
        break;
    case 3:
    case 4:
        request(x, s);
        break;
    case 5:
        name_key(x, s);
        break;
    case 6:
        use(x, s);
        break;
    default:
        close_session(x, (unsigned)(s - x->sessions));
    }
}

static void step(script *x)
{
    uint32_t what = fuzz_byte(&x->in);

    switch (what % 16) {
    case 0:
        connect_control(x);
        break;
    case 1:
        ask_for_session(x);
        break;
    case 2:
    case 3:
        ask_for_session(x);
        accept_session(x);
        break;
    case 4:
        send_any_message(x);
        break;
    case 5:
        send_rubbish(x);
        break;
    case 6:
        send_descriptors(x);
        break;
    case 7:
        fuzz_honest_operation();
        break;
    case 8:
        ask_for_key(x);
        break;
    case 9:
        ask_for_certificates(x);
        break;
    default:
        session_step(x, what / 16);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    script x = {.in = {data, data + size}, .control = -1};

    (void)fuzz_daemon();
    connect_control(&x);
    for (int i = 0; i < STEPS && x.in.at < x.in.end; i++)
        step(&x);
    for (unsigned i = 0; i < SESSIONS; i++)
        close_session(&x, i);
    close(x.control);
    fuzz_daemon_check();
    return 0;
}
