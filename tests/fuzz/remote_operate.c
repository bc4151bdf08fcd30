/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzer: a host's call of Operate, from its messages to the daemon's answers,
 * and sessions of the gateway that come and go. The bytes are a script. Each
 * operation is answered once at most, and all of them if the call goes on; what
 * is held lets go in the end. HTTP/2 and the map of identities are those of
 * fake_call.h.
 */
#include "tests/fuzz/fuzz_daemon.h"
#include "tests/fuzz/fuzz_input.h"

#include "tests/unit/support/fake_call.h"

enum {
    STEPS = 64,
    OPERATIONS = 16, /* of the identity, and of the daemon for each client */
    AT_ONCE = 32,
    KEYS = 8,    /* in the dictionary */
    SMALL = 128, /* bytes of a modulus of the fake vault */
    ROUNDS = 20000,
    IDS = STEPS * AT_ONCE,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    bool asked[IDS]; /* operations without a result yet */
    uint32_t ids;
} seen;

static warprsa_operate *session, *closed;

void fake_call_response(const warprsa_remote_response *response)
{
    if (response->kind != WARPRSA_REMOTE_RESULTS)
        return;
    for (size_t i = 0; i < response->count; i++) {
        assert_true(response->result[i].id < IDS);
        assert_true(seen.asked[response->result[i].id]);
        seen.asked[response->result[i].id] = false;
    }
}

static void begin(void)
{
    memset(&seen, 0, sizeof(seen));
    session = fake_call_begin();
}

/* Freed after the events of the round. */
static void end(void)
{
    fake_call_end(session);
    closed = session;
    session = NULL;
}

static void run(int timeout_ms)
{
    fake_call_run(session, timeout_ms);
    if (closed != NULL)
        warprsa_operate_free(closed);
    closed = NULL;
}

/* Whether the call goes on, as the server would have it. */
static void give(const uint8_t *bytes, size_t size)
{
    const char *wrong;

    if (fake_call.ended > 0)
        return;
    wrong = warprsa_operate_message(session, bytes, size);
    if (wrong != NULL)
        warprsa_http2_finish(&fake_stream, WARPRSA_GRPC_INVALID_ARGUMENT,
                             wrong);
}

static void name_key(uint32_t number, unsigned of)
{
    uint8_t spki[WARPRSA_KEY_SPKI_BYTES], message[128];

    fake_vault_spki(of, spki);
    give(message + WARPRSA_REMOTE_PREFIX,
         warprsa_remote_write_load_key_by_spki(message, sizeof(message), number,
                                               spki) -
             WARPRSA_REMOTE_PREFIX);
}

static void load_key(fuzz_input *in)
{
    warprsa_private_key key =
        fake_key(WARPRSA_CLASS_2048, 1 + fuzz_byte(in) % KEYS);
    uint8_t message[sizeof(key) + 128];
    const uint32_t number = fuzz_number(in);
    const uint32_t wrong = fuzz_byte(in);

    if (wrong > 100 && wrong < 200) {
        name_key(number, wrong % KEYS);
        return;
    }
    if (wrong > 200)
        key.n[fuzz_number(in) % sizeof(key.n)] ^= (uint8_t)wrong;
    give(message + WARPRSA_REMOTE_PREFIX,
         warprsa_remote_write_load_key(message, sizeof(message), number, &key) -
             WARPRSA_REMOTE_PREFIX);
}

static void unload_key(fuzz_input *in)
{
    uint8_t message[64];

    give(message + WARPRSA_REMOTE_PREFIX,
         warprsa_remote_write_unload_key(message, sizeof(message),
                                         fuzz_number(in)) -
             WARPRSA_REMOTE_PREFIX);
}

/* A use that the fake vault's small keys take, or one with a wrong byte. */
static warprsa_key_use make_use(fuzz_input *in)
{
    warprsa_key_use use = {.operation = 1 + fuzz_byte(in) % 2,
                           .padding = WARPRSA_PADDING_NONE,
                           .input_bytes = SMALL};
    const uint32_t wrong = fuzz_byte(in);

    if (wrong > 128)
        ((uint8_t *)&use)[wrong % offsetof(warprsa_key_use, label)] ^=
            (uint8_t)fuzz_byte(in);
    use.label_bytes %= sizeof(use.label) + 1;
    use.input_bytes %= WARPRSA_VAULT_MODULUS_BYTES_MAX + 1;
    return use;
}

static void operate(fuzz_input *in)
{
    static uint8_t message[WARPRSA_REMOTE_PREFIX + WARPRSA_REMOTE_MESSAGE_MAX];
    static const uint8_t zeros[WARPRSA_VAULT_MODULUS_BYTES_MAX];
    static uint8_t ones[WARPRSA_VAULT_MODULUS_BYTES_MAX];
    warprsa_key_use use = {0};
    warprsa_remote_operation operation[AT_ONCE];
    const uint32_t count = 1 + fuzz_byte(in) % AT_ONCE;
    const uint32_t key = fuzz_number(in), how = fuzz_byte(in);
    const bool has_use = how > 120 && how < 240;

    if (has_use)
        use = make_use(in);
    memset(ones, 0xFF, sizeof(ones));
    if (fake_call.ended > 0 || seen.ids + count > IDS)
        return;
    for (uint32_t i = 0; i < count; i++) {
        seen.asked[seen.ids] = true;
        operation[i] = (warprsa_remote_operation){
            .id = seen.ids++,
            .key = key,
            .bytes = has_use     ? use.input_bytes
                     : how > 240 ? 1 + how
                                 : 256,
            .input = how % 16 == 15 ? ones : zeros,
            .use = has_use ? &use : NULL,
        };
    }
    give(message + WARPRSA_REMOTE_PREFIX,
         warprsa_remote_write_operations(message, sizeof(message), operation,
                                         count) -
             WARPRSA_REMOTE_PREFIX);
}

static void any_message(fuzz_input *in)
{
    size_t size = fuzz_byte(in);

    if (size > (size_t)(in->end - in->at))
        size = (size_t)(in->end - in->at);
    give(in->at, size);
    in->at += size;
    /* Its operations have numbers of their own. */
    memset(seen.asked, true, sizeof(seen.asked));
    seen.ids = IDS;
}

static void step(fuzz_input *in)
{
    switch (fuzz_byte(in) % 10) {
    case 0:
    case 1:
        load_key(in);
        break;
    case 2:
        unload_key(in);
        break;
    case 3:
    case 4:
        operate(in);
        break;
    case 5:
        any_message(in);
        break;
    case 6:
        if (fake_call.ended == 0)
            warprsa_operate_half_closed(session);
        break;
    case 7:
        end();
        run(0);
        begin();
        break;
    case 8:
        run(0);
        break;
    default:
        run(1);
    }
}

static bool has_unanswered(void)
{
    for (uint32_t i = 0; i < IDS && seen.ids < IDS; i++)
        if (seen.asked[i])
            return true;
    return session->in_flight > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const test_server *server = fuzz_daemon();
    fuzz_input in = {data, data + size};

    fake_call_open(server->path, KEYS * 2, OPERATIONS);
    begin();
    for (unsigned i = 0; i < STEPS && in.at < in.end; i++)
        step(&in);
    for (unsigned i = 0; i < ROUNDS && fake_call.ended == 0 && has_unanswered();
         i++)
        run(1);
    assert_true(fake_call.ended > 0 || !has_unanswered());
    end();
    run(0);
    fake_call_close();
    fuzz_daemon_check();
    return 0;
}
