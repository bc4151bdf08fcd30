/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A vault for the tests of the daemon; see fake_vault.h.
 */
#include "tests/unit/support/fake_vault.h"

#include <stdio.h>
#include <string.h>

#include "fake_engine.h"
#include "tests/unit/support/wait_until.h"

enum {
    SMALL_BYTES = 128,
    SPKI_DER = 300,
};

struct warprsa_vault_key {
    unsigned number;
    char name[WARPRSA_KEY_NAME_SIZE];
    uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES];
    uint8_t spki[SPKI_DER];
    warprsa_private_key numbers;
    atomic_uint references; /* but the vault's */
    atomic_bool removed;
};

struct warprsa_vault {
    struct warprsa_vault_key keys[FAKE_VAULT_KEYS];
    unsigned count;
    _Atomic uint64_t generation;
};

fake_vault_state fake_vault = {.lock = PTHREAD_MUTEX_INITIALIZER};

static warprsa_vault vault;

/* What is shown for a key in the place of rubbish; spki is NULL: nothing. */
static struct published {
    const uint8_t *spki;
    size_t spki_bytes;
    const char *pem;
} published[FAKE_VAULT_KEYS];

void fake_vault_spki(unsigned i, uint8_t spki[WARPRSA_KEY_SPKI_BYTES])
{
    memset(spki, 0x5a, WARPRSA_KEY_SPKI_BYTES);
    memcpy(spki, &i, sizeof(i));
}

warprsa_vault *fake_vault_reset(unsigned count)
{
    /* A SEQUENCE of the bytes that follow, which is all that a reference wants
     * of a public key. */
    static const uint8_t head[] = {0x30, 0x82, 0x01, SPKI_DER - 4 - 256};

    assert_int_equal(fake_vault_references(), 0);
    fake_vault.denial = fake_vault.unknown_before = 0;
    fake_vault.compute_full = fake_vault.slow = fake_vault.bad = false;
    fake_vault.empty = fake_vault.remote = false;
    fake_vault.all_rights = false;
    fake_vault.certificates = fake_vault.edition = 0;
    memset(published, 0, sizeof(published));
    fake_vault.editions_left = 0;
    fake_vault.partial = false;
    fake_vault.hold_encode = fake_vault.hold_finish = false;
    fake_vault.hold_compute = false;
    fake_vault.questions = fake_vault.known = 0;
    fake_vault.uses = fake_vault.denials = fake_vault.late = 0;
    fake_vault.given_back = 0;
    fake_vault.paid = fake_vault.given_back_lines = 0;
    fake_vault.computed = fake_vault.finished = 0;
    memset(&vault, 0, sizeof(vault));
    vault.count = count;
    vault.generation = 1;
    for (unsigned i = 0; i < count; i++) {
        struct warprsa_vault_key *key = &vault.keys[i];

        key->number = i;
        snprintf(key->name, sizeof(key->name), "key%02u", i);
        fake_vault_spki(i, key->spki_sha256);
        memset(key->spki, (int)i, sizeof(key->spki));
        memcpy(key->spki, head, sizeof(head));
        key->numbers = fake_key(WARPRSA_CLASS_1024, 1000 + i);
    }
    return &vault;
}

void fake_vault_publish(unsigned i, const uint8_t *spki, size_t spki_bytes,
                        const char *pem)
{
    published[i] = (struct published){spki, spki_bytes, pem};
}

void fake_vault_remove(unsigned i)
{
    atomic_store(&vault.keys[i].removed, true);
    atomic_fetch_add(&vault.generation, 1);
}

void fake_vault_rename(unsigned i)
{
    struct warprsa_vault_key *to = &vault.keys[vault.count - 1];

    assert_int_equal(to->references, 0);
    to->number = vault.keys[i].number;
    memcpy(to->spki_sha256, vault.keys[i].spki_sha256, sizeof(to->spki_sha256));
    to->numbers = vault.keys[i].numbers;
    fake_vault_remove(i);
}

static unsigned references(bool all)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < vault.count; i++)
        if (all || vault.keys[i].removed)
            sum += vault.keys[i].references;
    return sum;
}

unsigned fake_vault_removed_references(void)
{
    return references(false);
}

unsigned fake_vault_references(void)
{
    return references(true);
}

warprsa_vault_key *
warprsa_vault_find(warprsa_vault *v,
                   const uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES])
{
    for (unsigned i = 0; i < v->count && !fake_vault.empty; i++)
        if (!v->keys[i].removed && memcmp(v->keys[i].spki_sha256, spki_sha256,
                                          WARPRSA_KEY_SPKI_BYTES) == 0) {
            warprsa_vault_key_hold(&v->keys[i]);
            return &v->keys[i];
        }
    return NULL;
}

warprsa_vault_key *warprsa_vault_find_name(warprsa_vault *v, const char *name)
{
    for (unsigned i = 0; i < v->count && !fake_vault.empty; i++)
        if (!v->keys[i].removed && strcmp(v->keys[i].name, name) == 0) {
            warprsa_vault_key_hold(&v->keys[i]);
            return &v->keys[i];
        }
    return NULL;
}

bool warprsa_vault_next_name(warprsa_vault *v, char name[WARPRSA_KEY_NAME_SIZE])
{
    for (unsigned i = 0; i < v->count; i++)
        if (!v->keys[i].removed && strcmp(v->keys[i].name, name) > 0) {
            strcpy(name, v->keys[i].name);
            return true;
        }
    return false;
}

void warprsa_vault_key_hold(warprsa_vault_key *key)
{
    atomic_fetch_add(&key->references, 1);
}

void warprsa_vault_key_release(warprsa_vault_key *key)
{
    if (key != NULL)
        assert_true(atomic_fetch_sub(&key->references, 1) > 0);
}

static void note_user(const warprsa_vault_user *user)
{
    pthread_mutex_lock(&fake_vault.lock);
    fake_vault.user = *user;
    fake_vault.user.groups = NULL;
    snprintf(fake_vault.identity, sizeof(fake_vault.identity), "%s",
             user->identity != NULL ? user->identity : "");
    pthread_mutex_unlock(&fake_vault.lock);
}

static void note_order(const warprsa_vault_user *user)
{
    const unsigned at = atomic_fetch_add(&fake_vault.questions, 1);

    if (at < FAKE_VAULT_ORDER)
        fake_vault.order[at] = user->uid;
}

warprsa_denial warprsa_vault_may(warprsa_vault_key *key,
                                 const warprsa_vault_user *user,
                                 const warprsa_key_use *use,
                                 warprsa_vault_paid *paid)
{
    const warprsa_denial denial = key->removed
                                      ? WARPRSA_DENIED_NO_KEY
                                      : (warprsa_denial)fake_vault.denial;
    const unsigned line = atomic_fetch_add(&fake_vault.paid, 1) + 1;

    *paid = (warprsa_vault_paid){.line = line};

    assert_null(
        warprsa_key_use_fault(use, warprsa_vault_key_modulus_bytes(key)));
    note_user(user);
    note_order(user);
    atomic_fetch_add(
        denial == WARPRSA_ALLOWED ? &fake_vault.uses : &fake_vault.denials, 1);
    return denial;
}

void warprsa_vault_give_back(warprsa_vault_key *key,
                             const warprsa_vault_user *user,
                             const warprsa_vault_paid *paid)
{
    note_user(user);
    atomic_fetch_add(&fake_vault.given_back, 1);
    atomic_fetch_add(&fake_vault.given_back_lines, paid->line);
}

bool warprsa_vault_may_know(warprsa_vault_key *key,
                            const warprsa_vault_user *user)
{
    note_user(user);
    atomic_fetch_add(&fake_vault.known, 1);
    return key->number >= fake_vault.unknown_before;
}

void warprsa_vault_describe(warprsa_vault_key *key,
                            const warprsa_vault_user *user, char *text,
                            size_t size)
{
    snprintf(text, size, "anything with %s", key->name);
}

void warprsa_vault_rights(warprsa_vault_key *key,
                          const warprsa_vault_user *user,
                          warprsa_key_rights *rights)
{
    memset(rights, fake_vault.all_rights ? 0xff : 0, sizeof(*rights));
    if (fake_vault.all_rights)
        return;
    rights->operations = 1u << WARPRSA_USE_SIGN;
    rights->paddings[WARPRSA_USE_SIGN] = 1u << WARPRSA_PADDING_PSS;
    rights->digests[WARPRSA_USE_SIGN][WARPRSA_PADDING_PSS] = key->number;
}

char fake_vault_certificate(unsigned i, unsigned edition, size_t at)
{
    return (char)('!' + (at / 89 + at + i + edition) % 89);
}

size_t warprsa_vault_key_certificates(warprsa_vault_key *key, size_t offset,
                                      char *pem, size_t size, uint32_t *edition)
{
    const char *shown = published[key->number].pem;
    const size_t bytes =
        shown != NULL ? strlen(shown) : fake_vault.certificates;

    if (fake_vault.editions_left > 0) {
        fake_vault.editions_left--;
        fake_vault.edition++;
    }
    *edition = fake_vault.edition;
    for (size_t at = offset; at < bytes && at - offset < size; at++)
        pem[at - offset] =
            shown != NULL ? shown[at]
                          : fake_vault_certificate(key->number, *edition, at);
    return bytes;
}

bool warprsa_vault_is_filled(const warprsa_vault *v)
{
    return !fake_vault.empty && !fake_vault.partial;
}

uint64_t warprsa_vault_generation(const warprsa_vault *v)
{
    return v->generation;
}

bool warprsa_vault_key_is_removed(const warprsa_vault_key *key)
{
    return key->removed;
}

const uint8_t *warprsa_vault_key_spki_sha256(const warprsa_vault_key *key)
{
    return key->spki_sha256;
}

const char *warprsa_vault_key_name(const warprsa_vault_key *key)
{
    return key->name;
}

unsigned warprsa_vault_key_modulus_bytes(const warprsa_vault_key *key)
{
    return key->number == FAKE_VAULT_LARGE ? FAKE_VAULT_LARGE_BYTES
                                           : SMALL_BYTES;
}

const uint8_t *warprsa_vault_key_spki(const warprsa_vault_key *key,
                                      size_t *bytes)
{
    if (published[key->number].spki != NULL) {
        *bytes = published[key->number].spki_bytes;
        return published[key->number].spki;
    }
    *bytes = sizeof(key->spki);
    return key->spki;
}

bool warprsa_vault_key_is_remote(const warprsa_vault_key *key)
{
    (void)key;
    return atomic_load(&fake_vault.remote);
}

const warprsa_private_key *
warprsa_vault_key_for_engines(const warprsa_vault_key *key)
{
    return key->number == FAKE_VAULT_LARGE ? NULL : &key->numbers;
}

/* ---- Operations ---- */

/* Does not return while it is held. */
static void hold(const atomic_bool *held)
{
    const struct timespec tick = {0, 1000000};

    if (!*held)
        return;
    atomic_fetch_add(&fake_vault.held, 1);
    while (*held)
        nanosleep(&tick, NULL);
    atomic_fetch_sub(&fake_vault.held, 1);
}

static bool encode(const warprsa_vault_key *key, const warprsa_key_use *use,
                   const uint8_t *input, uint8_t *number,
                   warprsa_use_errors *errors)
{
    const unsigned size = warprsa_vault_key_modulus_bytes(key);

    hold(&fake_vault.hold_encode);
    errors->codes[0] = 17;
    if (number == NULL)
        return !fake_vault.bad;
    memset(number, 0, size);
    memcpy(number + size - use->input_bytes, input, use->input_bytes);
    return !fake_vault.bad;
}

/* A message is half of what was decrypted. */
static bool finish(const warprsa_vault_key *key, const warprsa_key_use *use,
                   const uint8_t *number, const uint8_t *power, uint8_t *answer,
                   unsigned *length, warprsa_use_errors *errors)
{
    const unsigned size = warprsa_vault_key_modulus_bytes(key);

    hold(&fake_vault.hold_finish);
    errors->codes[0] = 18;
    *length = use->operation == WARPRSA_USE_SIGN ? size : size / 2;
    memcpy(answer, power, *length);
    atomic_fetch_add(&fake_vault.finished, 1);
    return !fake_vault.bad;
}

static void compute_power(const warprsa_vault_key *key, const uint8_t *number,
                          uint8_t *power)
{
    const unsigned size = warprsa_vault_key_modulus_bytes(key);

    if (key->number != FAKE_VAULT_LARGE) {
        fake_result(&key->numbers, number, power);
        return;
    }
    for (unsigned i = 0; i < size; i++)
        power[i] = (uint8_t)~number[i];
}

static void *compute_task(void *arg)
{
    warprsa_use_task *task = arg;
    uint8_t power[FAKE_VAULT_LARGE_BYTES];

    hold(&fake_vault.hold_compute);
    if (task->power == NULL)
        compute_power(task->key, task->input, power);
    atomic_fetch_add(&fake_vault.computed, 1);
    if (fake_vault.late > 0) {
        atomic_fetch_sub(&fake_vault.late, 1);
        task->is_late = true;
        task->done(task);
        return NULL;
    }
    task->has_answer = finish(task->key, task->use, task->input,
                              task->power != NULL ? task->power : power,
                              task->answer, &task->length, &task->errors);
    task->done(task);
    return NULL;
}

static bool compute(void *arg, warprsa_use_task *task)
{
    pthread_t thread;

    assert_ptr_equal(arg, &fake_vault);
    if (fake_vault.compute_full)
        return false;
    assert_int_equal(pthread_create(&thread, NULL, compute_task, task), 0);
    assert_int_equal(pthread_detach(thread), 0);
    return true;
}

static bool is_quick(const warprsa_key_use *use)
{
    return !fake_vault.slow;
}

const warprsa_use_operations fake_vault_uses = {
    .encode = encode,
    .finish = finish,
    .is_quick = is_quick,
    .compute = compute,
    .arg = &fake_vault,
};

unsigned fake_vault_answer(unsigned i, const warprsa_key_use *use,
                           const uint8_t *input, uint8_t *answer)
{
    const warprsa_vault_key *key = &vault.keys[i];
    uint8_t number[FAKE_VAULT_LARGE_BYTES], power[FAKE_VAULT_LARGE_BYTES];
    warprsa_use_errors errors;
    unsigned length;

    if (use->operation == WARPRSA_USE_SIGN)
        (void)encode(key, use, input, number, &errors);
    else
        memcpy(number, input, use->input_bytes);
    compute_power(key, number, power);
    (void)finish(key, use, number, power, answer, &length, &errors);
    return length;
}
