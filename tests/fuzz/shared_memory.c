/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzer: the memory that a client shares with the daemon, changed at any
 * moment. The bytes are a script of right requests and messages, and of writes
 * anywhere into the memory, while the daemon's threads read and serve.
 */
#include "tests/fuzz/fuzz_daemon.h"
#include "tests/fuzz/fuzz_input.h"

enum {
    STEPS = 96,
    KEYS = 4,
    VAULT_KEYS = 4,  /* whose numbers follow; one of them no engine takes */
    TURNS_MAX = 256, /* of a word between two values */
};

typedef struct script {
    fuzz_input in;
    raw_client client;
    uint32_t generation; /* of the last request */
} script;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where in the memory: a part of it by name, and an offset there. */
static size_t some_offset(script *x)
{
    const warprsa_shm *shm = &x->client.shm;
    const uint8_t *base = (const uint8_t *)shm->head;
    uint32_t part = fuzz_byte(&x->in), at = fuzz_number(&x->in);
    const warprsa_shm_slot *slot = &shm->slot[part / 8 % shm->slots];
    const uint8_t *from;

    switch (part % 10) {
    case 0:
        return at % shm->size;
    case 1:
        from = (const uint8_t *)shm->head + at % sizeof(*shm->head);
        break;
    case 2:
        from = (const uint8_t *)&slot->request + at % 32;
        break;
    case 3:
        from = (const uint8_t *)slot + at % sizeof(*slot);
        break;
    case 4:
        from = (const uint8_t *)&shm->message[part / 8 % WARPRSA_SHM_MESSAGES] +
               at % 64;
        break;
    case 5: /* the message that the daemon will read next */
        from = (const uint8_t *)&shm
                   ->message[x->client.messages_offset % WARPRSA_SHM_MESSAGES] +
               at % sizeof(*shm->message);
        break;
    case 6: /* the cell that the daemon will read next */
        from = (const uint8_t *)&shm->cell[x->client.ring_offset & shm->mask] +
               at % sizeof(*shm->cell);
        break;
    case 7:
        from = (const uint8_t *)&shm->use[part / 8 % shm->slots].header +
               at % sizeof(warprsa_key_use);
        break;
    case 8:
        from = (const uint8_t *)&shm->use[part / 8 % shm->slots] +
               at % sizeof(*shm->use);
        break;
    default:
        from = (const uint8_t *)&shm->cell[at & shm->mask];
    }
    return (size_t)(from - base);
}

/* The word at an offset, which begins where a word may. */
static _Atomic uint32_t *some_word(script *x)
{
    size_t at = some_offset(x) & ~(size_t)3;

    if (at > x->client.shm.size - 4)
        at = x->client.shm.size - 4;
    return (_Atomic uint32_t *)((uint8_t *)x->client.shm.head + at);
}

/* What the daemon may take for the next request or message, beside any number.
 */
static uint32_t some_value(script *x)
{
    uint32_t what = fuzz_byte(&x->in);

    switch (what % 4) {
    case 0:
        return x->client.ring_offset + what / 64;
    case 1:
        return x->client.messages_offset + what / 64;
    case 2:
        return fuzz_byte(&x->in) % (FUZZ_SLOTS + 1);
    }
    return fuzz_number(&x->in);
}

static void write_word(script *x)
{
    _Atomic uint32_t *word = some_word(x);

    atomic_store(word, some_value(x));
}

/* A word that changes again and again while the daemon reads. */
static void toggle_word(script *x)
{
    _Atomic uint32_t *word = some_word(x);
    uint32_t one = atomic_load(word), other = some_value(x);
    unsigned turns = fuzz_byte(&x->in) % TURNS_MAX;

    raw_client_notify(&x->client);
    for (unsigned i = 0; i < turns; i++)
        atomic_store(word, i % 2 == 0 ? other : one);
}

static void write_bytes(script *x)
{
    size_t at = some_offset(x), size = fuzz_byte(&x->in);
    volatile uint8_t *memory = (volatile uint8_t *)x->client.shm.head;
    uint8_t value = (uint8_t)fuzz_byte(&x->in);

    for (size_t i = at; i < at + size && i < x->client.shm.size; i++)
        memory[i] = value += 37;
}

static void right_request(script *x)
{
    uint32_t slot = fuzz_byte(&x->in) % x->client.shm.slots;
    uint32_t key = fuzz_byte(&x->in) % KEYS;

    raw_client_fill(&x->client, slot, ++x->generation, key, 1);
    x->client.shm.slot[slot].request.notifier = fuzz_byte(&x->in) % 3;
    raw_client_submit(&x->client, slot);
    if (fuzz_byte(&x->in) < 128)
        FUZZ_LET(atomic_load(&x->client.shm.slot[slot].answered) ==
                 x->generation);
}

static void right_use(script *x)
{
    uint32_t slot = fuzz_byte(&x->in) % x->client.shm.slots;
    uint32_t key = fuzz_byte(&x->in) % VAULT_KEYS;

    raw_client_fill(&x->client, slot, ++x->generation, KEYS + key, 1);
    x->client.shm.slot[slot].request.bytes = 0;
    x->client.shm.use[slot].header = (warprsa_key_use){
        .operation = (uint8_t)(1 + fuzz_byte(&x->in) % 2),
        .padding = WARPRSA_PADDING_NONE,
        .input_bytes = key == FAKE_VAULT_LARGE ? FAKE_VAULT_LARGE_BYTES : 128};
    raw_client_submit(&x->client, slot);
    if (fuzz_byte(&x->in) < 128)
        FUZZ_LET(atomic_load(&x->client.shm.slot[slot].answered) ==
                 x->generation);
}

static void right_message(script *x)
{
    uint32_t number = fuzz_byte(&x->in) % (KEYS + VAULT_KEYS);
    warprsa_shm_message message = {
        .type = 1 + fuzz_byte(&x->in) % 4, .number = number, .generation = 1};

    if (message.type == WARPRSA_SHM_KEY)
        message.key = fake_key(WARPRSA_CLASS_1024, number);
    else if (message.type == WARPRSA_SHM_KEY_USE)
        fake_vault_spki(number, message.spki_sha256);
    (void)warprsa_shm_send(&x->client.shm, &x->client.messages_offset,
                           &message);
    raw_client_notify(&x->client);
}

/* The daemon and this side agree again about where the rings are. */
static void catch_up(script *x)
{
    raw_client_notify(&x->client);
    FUZZ_LET(atomic_load(&x->client.shm.head->notify_flags) == 0);
}

static void name_key(script *x, uint32_t number)
{
    warprsa_shm_message message = {
        .type = WARPRSA_SHM_KEY_USE, .number = KEYS + number, .generation = 1};

    fake_vault_spki(number, message.spki_sha256);
    raw_client_send(&x->client, &message);
}

static void step(script *x)
{
    switch (fuzz_byte(&x->in) % 9) {
    case 0:
    case 1:
        right_request(x);
        break;
    case 2:
        right_message(x);
        break;
    case 3:
        write_word(x);
        break;
    case 4:
        toggle_word(x);
        break;
    case 5:
        write_bytes(x);
        break;
    case 6:
        fuzz_honest_operation();
        break;
    case 7:
        right_use(x);
        break;
    default:
        catch_up(x);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    script x = {.in = {data, data + size}};

    WAIT_UNTIL(raw_client_connect(&x.client, fuzz_daemon()->path, FUZZ_SLOTS));
    raw_client_attach(&x.client);
    for (uint32_t i = 0; i < KEYS; i++)
        raw_client_key(&x.client, i, 1, i);
    for (uint32_t i = 0; i < VAULT_KEYS; i++)
        name_key(&x, i);
    for (int i = 0; i < STEPS && x.in.at < x.in.end; i++)
        step(&x);
    catch_up(&x);
    raw_client_leave(&x.client);
    fuzz_daemon_check();
    return 0;
}
