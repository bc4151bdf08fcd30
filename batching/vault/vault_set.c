/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The vault's set of keys: who may use which; see vault.h and vault_state.h.
 */
#include "batching/vault/vault.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"
#include "batching/vault/vault_state.h"

enum {
    LINE_SIZE = 800,
    WHO_SIZE = 320,
};

void warprsa_vault_say(const warprsa_vault *vault, int level,
                       const char *format, ...)
{
    char line[LINE_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    vault->log(vault->log_arg, level, line);
}

/* False: nothing of it is left. */
static bool means_init(warprsa_vault_means *means)
{
    means->library = warprsa_padding_library_new();
    if (means->library != NULL && warprsa_secret_pool_init(&means->pool))
        return true;
    warprsa_padding_library_free(means->library);
    return false;
}

static void means_free(warprsa_vault_means *means)
{
    warprsa_secret_pool_free(&means->pool);
    warprsa_padding_library_free(means->library);
}

/* False: nothing of it is left. */
static bool locks_init(warprsa_vault *vault)
{
    if (pthread_mutex_init(&vault->lock, NULL) != 0)
        return false;
    if (warprsa_log_budgets_init(&vault->budgets, WARPRSA_LOG_LINES_A_SECOND))
        return true;
    pthread_mutex_destroy(&vault->lock);
    return false;
}

static void locks_free(warprsa_vault *vault)
{
    warprsa_log_budgets_free(&vault->budgets);
    pthread_mutex_destroy(&vault->lock);
}

warprsa_vault *warprsa_vault_new(warprsa_trace_fn log, void *log_arg)
{
    warprsa_vault *vault = calloc(1, sizeof(*vault));

    if (vault == NULL)
        return NULL;
    vault->log = log;
    vault->log_arg = log_arg;
    if (!locks_init(vault)) {
        free(vault);
        return NULL;
    }
    if (means_init(&vault->means))
        return vault;
    locks_free(vault);
    free(vault);
    return NULL;
}

void warprsa_vault_show_accounts(warprsa_vault *vault,
                                 warprsa_key_accounts *accounts)
{
    vault->accounts = accounts;
}

void warprsa_vault_free(warprsa_vault *vault)
{
    if (vault == NULL)
        return;
    for (unsigned i = 0; i < vault->keys.count; i++)
        warprsa_vault_key_release(vault->keys.by_name[i]);
    for (unsigned i = 0; i < vault->ledger_count; i++)
        warprsa_vault_ledger_free(vault->ledgers[i]);
    free(vault->keys.by_name);
    free(vault->keys.by_spki);
    free(vault->ledgers);
    warprsa_key_rules_free(&vault->rules);
    means_free(&vault->means);
    locks_free(vault);
    free(vault);
}

warprsa_vault_means *warprsa_vault_means_of(warprsa_vault *vault)
{
    return &vault->means;
}

int warprsa_vault_compare_names(const void *a, const void *b)
{
    const warprsa_vault_key *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

/* Of one digest, in the order of names. */
int warprsa_vault_compare_spkis(const void *a, const void *b)
{
    const warprsa_vault_key *const *x = a, *const *y = b;
    int order =
        memcmp((*x)->spki_sha256, (*y)->spki_sha256, sizeof((*x)->spki_sha256));

    return order != 0 ? order : warprsa_vault_compare_names(a, b);
}

static int compare_name(const void *name, const void *key)
{
    return strcmp(name, (*(warprsa_vault_key *const *)key)->name);
}

static int compare_spki(const void *spki_sha256, const void *key)
{
    return memcmp(spki_sha256, (*(warprsa_vault_key *const *)key)->spki_sha256,
                  WARPRSA_KEY_SPKI_BYTES);
}

/* The key of this name, or NULL. With the lock held. */
warprsa_vault_key *warprsa_vault_keys_find(const warprsa_vault_keys *keys,
                                           const char *name)
{
    warprsa_vault_key **found =
        keys->count > 0 ? bsearch(name, keys->by_name, keys->count,
                                  sizeof(*keys->by_name), compare_name)
                        : NULL;

    return found != NULL ? *found : NULL;
}

warprsa_vault_key *
warprsa_vault_find(warprsa_vault *vault,
                   const uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES])
{
    warprsa_vault_key **found = NULL;

    pthread_mutex_lock(&vault->lock);
    if (vault->keys.count > 0)
        found = bsearch(spki_sha256, vault->keys.by_spki, vault->keys.count,
                        sizeof(*vault->keys.by_spki), compare_spki);
    if (found != NULL)
        warprsa_vault_key_hold(*found);
    pthread_mutex_unlock(&vault->lock);
    return found != NULL ? *found : NULL;
}

warprsa_vault_key *warprsa_vault_find_name(warprsa_vault *vault,
                                           const char *name)
{
    warprsa_vault_key *found = NULL;

    pthread_mutex_lock(&vault->lock);
    found = warprsa_vault_keys_find(&vault->keys, name);
    if (found != NULL)
        warprsa_vault_key_hold(found);
    pthread_mutex_unlock(&vault->lock);
    return found;
}

bool warprsa_vault_next_name(warprsa_vault *vault,
                             char name[WARPRSA_KEY_NAME_SIZE])
{
    unsigned low = 0, high = 0;
    bool found = false;

    pthread_mutex_lock(&vault->lock);
    high = vault->keys.count;
    while (low < high) { /* names before `low` are not after `name` */
        const unsigned middle = low + (high - low) / 2;

        if (strcmp(vault->keys.by_name[middle]->name, name) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    found = low < vault->keys.count;
    if (found)
        strcpy(name, vault->keys.by_name[low]->name);
    pthread_mutex_unlock(&vault->lock);
    return found;
}

size_t warprsa_vault_key_certificates(warprsa_vault_key *key, size_t offset,
                                      char *pem, size_t size, uint32_t *edition)
{
    size_t bytes = 0;

    pthread_mutex_lock(&key->vault->lock);
    bytes = key->certificate_bytes;
    if (offset < bytes && size > 0)
        memcpy(pem, key->certificates + offset,
               bytes - offset < size ? bytes - offset : size);
    *edition = key->certificate_edition;
    pthread_mutex_unlock(&key->vault->lock);
    return bytes;
}

bool warprsa_vault_is_filled(const warprsa_vault *vault)
{
    return atomic_load(&vault->filled);
}

uint64_t warprsa_vault_generation(const warprsa_vault *vault)
{
    return atomic_load(&vault->generation);
}

/* Names whoever asks, for the log. */
static void name_user(uint32_t uid, const char *identity, char who[WHO_SIZE])
{
    if (identity != NULL)
        snprintf(who, WHO_SIZE, "identity %s", identity);
    else
        snprintf(who, WHO_SIZE, "user %u", (unsigned)uid);
}

/* The owner of a budget of the log; of an identity more than 32 bits. */
static uint64_t owner_of(const warprsa_vault_user *user)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */

    if (user->identity == NULL)
        return user->uid;
    for (const char *c = user->identity; *c != '\0'; c++)
        hash = (hash ^ (uint8_t)*c) * UINT64_C(1099511628211);
    return hash | UINT64_C(1) << 32;
}

static void say_denial(const warprsa_vault_key *key,
                       const warprsa_vault_user *user,
                       const warprsa_key_use *use, warprsa_denial denial,
                       uint64_t now_ns)
{
    warprsa_vault *vault = key->vault;
    char who[WHO_SIZE];

    if (!warprsa_log_budgets_take(&vault->budgets, owner_of(user), now_ns))
        return;
    name_user(user->uid, user->identity, who);
    warprsa_vault_say(
        vault, 0,
        "key %s: denied to %s (process %d): %s, padding %s, digest %s: %s",
        key->name, who, (int)user->pid,
        warprsa_use_operation_name(use->operation),
        warprsa_use_padding_name(use->padding),
        warprsa_use_digest_name(use->digest), warprsa_denial_text(denial));
}

warprsa_denial warprsa_vault_may(warprsa_vault_key *key,
                                 const warprsa_vault_user *user,
                                 const warprsa_key_use *use,
                                 warprsa_vault_paid *paid)
{
    const uint64_t now_ns = warprsa_clock_ns();
    warprsa_denial denial = warprsa_vault_key_is_removed(key)
                                ? WARPRSA_DENIED_NO_KEY
                                : WARPRSA_ALLOWED;

    denial = warprsa_vault_ledger_decide(key->ledger, user, use, denial, now_ns,
                                         paid);
    if (denial != WARPRSA_ALLOWED)
        say_denial(key, user, use, denial, now_ns);
    return denial;
}

void warprsa_vault_give_back(warprsa_vault_key *key,
                             const warprsa_vault_user *user,
                             const warprsa_vault_paid *paid)
{
    warprsa_vault_ledger_give_back(key->ledger, user, paid);
}

bool warprsa_vault_may_know(warprsa_vault_key *key,
                            const warprsa_vault_user *user)
{
    return !warprsa_vault_key_is_removed(key) &&
           warprsa_vault_ledger_knows(key->ledger, user);
}

void warprsa_vault_describe(warprsa_vault_key *key,
                            const warprsa_vault_user *user, char *text,
                            size_t size)
{
    warprsa_vault_ledger_describe(key->ledger, user, text, size);
}

void warprsa_vault_rights(warprsa_vault_key *key,
                          const warprsa_vault_user *user,
                          warprsa_key_rights *rights)
{
    warprsa_vault_ledger_rights(key->ledger, user, rights);
}

static void audit_one(void *arg, const warprsa_vault_account *account)
{
    const warprsa_vault *vault = arg;
    unsigned long long denials = 0;
    char who[WHO_SIZE] = "all other users";

    for (unsigned i = 0; i < WARPRSA_DENIALS; i++)
        denials += account->denials[i];
    if (!account->is_others)
        name_user(account->uid, account->identity, who);
    warprsa_vault_say(vault, 1, "key %s: %s: %llu uses, %llu denials so far",
                      account->key, who, (unsigned long long)account->uses,
                      denials);
}

void warprsa_vault_audit(warprsa_vault *vault)
{
    const uint64_t now_ns = warprsa_clock_ns();
    uint64_t owner = 0, lines = 0;

    while (
        warprsa_log_budgets_left_out(&vault->budgets, now_ns, &owner, &lines))
        warprsa_vault_say(vault, 0, "%llu denials of one user were not logged",
                          (unsigned long long)lines);
    pthread_mutex_lock(&vault->lock);
    for (unsigned i = 0; i < vault->ledger_count; i++)
        warprsa_vault_ledger_each(vault->ledgers[i], true, audit_one, vault);
    pthread_mutex_unlock(&vault->lock);
}
