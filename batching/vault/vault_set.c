/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The vault's set of keys, and what a reading changes in it; see vault.h and
 * vault_reading.h.
 *
 * Two locks: the vault's is for the set, a ledger's for the decisions about one
 * name. A decision takes the ledger's alone, so that users of different keys
 * don't wait for each other. Whoever needs both takes the vault's first.
 */
#include "batching/vault/vault.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"
#include "batching/base/log_budget.h"
#include "batching/vault/vault_key.h"
#include "batching/vault/vault_reading.h"

enum {
    LINE_SIZE = 800,
    WHO_SIZE = 320,
};

/* Keys in the order of names, and the same in the order of digests. */
typedef struct key_set {
    warprsa_vault_key **by_name, **by_spki;
    unsigned count;
} key_set;

struct warprsa_vault {
    warprsa_trace_fn log;
    void *log_arg;
    warprsa_key_accounts *accounts; /* NULL: none */
    pthread_mutex_t lock;
    key_set keys;
    /* One for each name that ever had a key, in the order of names. */
    warprsa_vault_ledger **ledgers;
    unsigned ledger_count;
    warprsa_key_rules rules;
    bool has_rules;
    uint32_t readings; /* that changed the set */
    _Atomic uint64_t generation;
    atomic_bool filled;
    warprsa_vault_means means;
    warprsa_log_budgets budgets;
};

__attribute__((format(printf, 3, 4))) static void
say(const warprsa_vault *vault, int level, const char *format, ...)
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

static int compare_names(const void *a, const void *b)
{
    const warprsa_vault_key *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

/* Of one digest, in the order of names. */
static int compare_spkis(const void *a, const void *b)
{
    const warprsa_vault_key *const *x = a, *const *y = b;
    int order =
        memcmp((*x)->spki_sha256, (*y)->spki_sha256, sizeof((*x)->spki_sha256));

    return order != 0 ? order : compare_names(a, b);
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
static warprsa_vault_key *find_name(const key_set *keys, const char *name)
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
    found = find_name(&vault->keys, name);
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
    say(vault, 0,
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
    say(vault, 1, "key %s: %s: %llu uses, %llu denials so far", account->key,
        who, (unsigned long long)account->uses, denials);
}

void warprsa_vault_audit(warprsa_vault *vault)
{
    const uint64_t now_ns = warprsa_clock_ns();
    uint64_t owner = 0, lines = 0;

    while (
        warprsa_log_budgets_left_out(&vault->budgets, now_ns, &owner, &lines))
        say(vault, 0, "%llu denials of one user were not logged",
            (unsigned long long)lines);
    pthread_mutex_lock(&vault->lock);
    for (unsigned i = 0; i < vault->ledger_count; i++)
        warprsa_vault_ledger_each(vault->ledgers[i], true, audit_one, vault);
    pthread_mutex_unlock(&vault->lock);
}

/* What a reading makes of the set, before anything is changed. */
typedef struct change {
    bool is_part; /* more of the reading follows */
    key_set keys;
    warprsa_vault_ledger **ledgers;
    unsigned ledger_count;
} change;

static bool make_change(change *c, const warprsa_vault *vault,
                        const warprsa_vault_reading *reading)
{
    /* The old ones may stay, and all new ones may come. */
    const size_t keys = (size_t)vault->keys.count + reading->key_count + 1;
    const size_t ledgers = (size_t)vault->ledger_count + reading->key_count + 1;

    *c = (change){0};
    c->keys.by_name = calloc(keys, sizeof(*c->keys.by_name));
    c->keys.by_spki = calloc(keys, sizeof(*c->keys.by_spki));
    c->ledgers = calloc(ledgers, sizeof(*c->ledgers));
    if (c->keys.by_name == NULL || c->keys.by_spki == NULL ||
        c->ledgers == NULL)
        return false;
    if (vault->ledger_count > 0)
        memcpy(c->ledgers, vault->ledgers,
               vault->ledger_count * sizeof(*c->ledgers));
    c->ledger_count = vault->ledger_count;
    return true;
}

static int compare_ledgers(const void *a, const void *b)
{
    return strcmp(warprsa_vault_ledger_name(*(warprsa_vault_ledger *const *)a),
                  warprsa_vault_ledger_name(*(warprsa_vault_ledger *const *)b));
}

static int compare_ledger(const void *name, const void *ledger)
{
    return strcmp(name, warprsa_vault_ledger_name(
                            *(warprsa_vault_ledger *const *)ledger));
}

/* A ledger with the vault's rules, if these are the reading's. Otherwise it
 * gets those with all other ledgers. NULL: no memory. */
static warprsa_vault_ledger *new_ledger(const warprsa_vault *vault,
                                        const warprsa_vault_reading *reading,
                                        const char *name)
{
    warprsa_vault_ledger *ledger =
        warprsa_vault_ledger_new(name, vault->accounts);

    if (ledger == NULL || !reading->is_in_use ||
        warprsa_vault_ledger_set_rules(ledger, &vault->rules))
        return ledger;
    warprsa_vault_ledger_free(ledger);
    return NULL;
}

/* Gives each key of the reading the ledger of its name. New ledgers stand after
 * the vault's. False: no memory. */
static bool find_ledgers(change *c, warprsa_vault *vault,
                         warprsa_vault_reading *reading)
{
    for (unsigned i = 0; i < reading->key_count; i++) {
        warprsa_vault_key *key = reading->keys[i];
        warprsa_vault_ledger **found = NULL;

        if (key->ledger != NULL) /* others may use the key already */
            continue;
        found = vault->ledger_count > 0
                    ? bsearch(key->name, vault->ledgers, vault->ledger_count,
                              sizeof(*vault->ledgers), compare_ledger)
                    : NULL;

        key->vault = vault;
        key->ledger = found != NULL ? *found : NULL;
        /* The keys are in the order of names. */
        if (key->ledger == NULL && i > 0 &&
            compare_names(&reading->keys[i - 1], &reading->keys[i]) == 0)
            key->ledger = reading->keys[i - 1]->ledger;
        if (key->ledger != NULL)
            continue;
        key->ledger = new_ledger(vault, reading, key->name);
        if (key->ledger == NULL)
            return false;
        c->ledgers[c->ledger_count++] = key->ledger;
    }
    return true;
}

static void undo_change(change *c, const warprsa_vault *vault)
{
    for (unsigned i = vault->ledger_count; i < c->ledger_count; i++)
        warprsa_vault_ledger_free(c->ledgers[i]);
    free(c->ledgers);
    free(c->keys.by_name);
    free(c->keys.by_spki);
}

static void keep(change *c, warprsa_vault_key *key)
{
    warprsa_vault_key_hold(key);
    c->keys.by_name[c->keys.count++] = key;
}

static void say_key(const warprsa_vault *vault, const warprsa_vault_key *key,
                    const char *what)
{
    const char *where = key->engines == NULL ? ", which no engine takes" : "";

    if (key->is_remote)
        where = ", which GPU hosts have";
    say(vault, 0, "key %s: %s: RSA%s of %u bits%s%s", key->name, what,
        key->padding->restrictions.pss ? "-PSS" : "", key->padding->bits, where,
        key->certificates != NULL ? ", with certificates" : "");
}

static bool has_same_certificates(const warprsa_vault_key *a,
                                  const warprsa_vault_key *b)
{
    return a->certificate_bytes == b->certificate_bytes &&
           (a->certificate_bytes == 0 ||
            memcmp(a->certificates, b->certificates, a->certificate_bytes) ==
                0);
}

/* Gives a key that stays the certificates of the same key as it was read. */
static void renew_certificates(const warprsa_vault *vault,
                               warprsa_vault_key *old, warprsa_vault_key *key)
{
    char *certificates = old->certificates;
    size_t bytes = old->certificate_bytes;

    if (has_same_certificates(old, key))
        return;
    old->certificates = key->certificates;
    old->certificate_bytes = key->certificate_bytes;
    old->certificate_edition = vault->readings;
    key->certificates = certificates;
    key->certificate_bytes = bytes;
}

/* Whether a key's file must not take the place of a key of GPU hosts: while
 * keys.conf can't be read, that one stays. */
static bool is_in_the_way(const warprsa_vault *vault,
                          const warprsa_vault_reading *reading,
                          const warprsa_vault_key *old,
                          const warprsa_vault_key *key)
{
    if (reading->rules_why[0] == '\0' || old == NULL || !old->is_remote ||
        key->is_remote)
        return false;
    say(vault, 0,
        "key %s: refused: its file is not used while keys.conf can't be read, "
        "which said that GPU hosts have it; the key as it was before stays",
        key->name);
    return true;
}

/* The keys that were read: those that are the same as before stay, so that
 * whoever has found them need not look again. */
static void take_keys(change *c, warprsa_vault *vault,
                      warprsa_vault_reading *reading)
{
    for (unsigned i = 0; i < reading->key_count; i++) {
        warprsa_vault_key *key = reading->keys[i];
        warprsa_vault_key *old = find_name(&vault->keys, key->name);

        if (c->keys.count > 0 &&
            strcmp(c->keys.by_name[c->keys.count - 1]->name, key->name) == 0)
            continue;
        if (is_in_the_way(vault, reading, old, key)) {
            keep(c, old);
            continue;
        }
        if (old == NULL || compare_spkis(&old, &key) != 0 ||
            old->is_remote != key->is_remote) {
            key->certificate_edition = vault->readings;
            keep(c, key);
            continue;
        }
        if (!c->is_part) /* else the whole reading would give them back */
            renew_certificates(vault, old, key);
        keep(c, old);
    }
}

/* The keys that the vault has beside those that were read. */
static void take_others(change *c, const warprsa_vault *vault)
{
    const key_set taken = {c->keys.by_name, NULL, c->keys.count};

    for (unsigned i = 0; i < vault->keys.count; i++)
        if (find_name(&taken, vault->keys.by_name[i]->name) == NULL)
            keep(c, vault->keys.by_name[i]);
    qsort(c->keys.by_name, c->keys.count, sizeof(*c->keys.by_name),
          compare_names);
}

static int compare_refusals(const void *a, const void *b)
{
    const warprsa_vault_refusal *x = a, *y = b;
    const int order = strcmp(x->name, y->name);

    return order != 0 ? order : x->is_certificates - y->is_certificates;
}

/* The keys whose files are refused now, in the order of names: they come as the
 * reader's threads have read them. */
static void take_refusals(change *c, warprsa_vault *vault,
                          warprsa_vault_reading *reading)
{
    const unsigned read = c->keys.count;
    const key_set taken = {c->keys.by_name, NULL, read};

    if (reading->refusal_count > 0)
        qsort(reading->refusals, reading->refusal_count,
              sizeof(*reading->refusals), compare_refusals);
    for (unsigned i = 0; i < reading->refusal_count; i++) {
        const warprsa_vault_refusal *refusal = &reading->refusals[i];
        warprsa_vault_key *old = find_name(&vault->keys, refusal->name);
        bool stays = old != NULL && find_name(&taken, refusal->name) == NULL;

        if (refusal->is_certificates) {
            say(vault, 0, "key %s: its certificates are refused: %s",
                refusal->name, refusal->why);
            continue;
        }
        for (unsigned j = read; j < c->keys.count; j++)
            stays = stays && c->keys.by_name[j] != old;
        say(vault, 0, "key %s: refused: %s%s", refusal->name, refusal->why,
            stays ? "; the key as it was before stays" : "");
        if (stays)
            keep(c, old);
    }
    qsort(c->keys.by_name, c->keys.count, sizeof(*c->keys.by_name),
          compare_names);
}

/* The remote keys, if the file that names them can't be read now. */
static void take_remote_keys(change *c, const warprsa_vault *vault,
                             const warprsa_vault_reading *reading)
{
    const unsigned taken = c->keys.count;
    const key_set before = {c->keys.by_name, NULL, taken};

    if (reading->rules_why[0] == '\0')
        return;
    for (unsigned i = 0; i < vault->keys.count; i++) {
        warprsa_vault_key *old = vault->keys.by_name[i];

        if (old->is_remote && find_name(&before, old->name) == NULL)
            keep(c, old);
    }
    qsort(c->keys.by_name, c->keys.count, sizeof(*c->keys.by_name),
          compare_names);
}

/* Refuses a key that another name has, too. */
static void refuse_twins(change *c, const warprsa_vault *vault)
{
    unsigned count = 0;

    memcpy(c->keys.by_spki, c->keys.by_name,
           c->keys.count * sizeof(*c->keys.by_name));
    qsort(c->keys.by_spki, c->keys.count, sizeof(*c->keys.by_spki),
          compare_spkis);
    for (unsigned i = 0; i < c->keys.count; i++) {
        warprsa_vault_key *key = c->keys.by_spki[i];
        const warprsa_vault_key *before =
            count > 0 ? c->keys.by_spki[count - 1] : NULL;

        if (before == NULL || memcmp(before->spki_sha256, key->spki_sha256,
                                     sizeof(key->spki_sha256)) != 0) {
            c->keys.by_spki[count++] = key;
            continue;
        }
        if (!c->is_part)
            say(vault, 0, "key %s: refused: it is the same key as %s",
                key->name, before->name);
        warprsa_vault_key_release(key);
    }
    c->keys.count = count;
    memcpy(c->keys.by_name, c->keys.by_spki, count * sizeof(*c->keys.by_name));
    qsort(c->keys.by_name, count, sizeof(*c->keys.by_name), compare_names);
}

/* Puts the new set in the place of the old one, and lets go of that. */
static void change_keys(warprsa_vault *vault, change *c)
{
    const key_set old = vault->keys;

    qsort(c->ledgers, c->ledger_count, sizeof(*c->ledgers), compare_ledgers);
    free(vault->ledgers);
    vault->ledgers = c->ledgers;
    vault->ledger_count = c->ledger_count;
    vault->keys = c->keys;
    for (unsigned i = 0; i < vault->keys.count; i++) {
        const warprsa_vault_key *key = vault->keys.by_name[i];
        const warprsa_vault_key *before = find_name(&old, key->name);

        if (before != key)
            say_key(vault, key, before != NULL ? "replaced" : "added");
    }
    for (unsigned i = 0; i < old.count; i++) {
        warprsa_vault_key *key = old.by_name[i];
        warprsa_vault_key *now = find_name(&vault->keys, key->name);

        if (now == NULL)
            say(vault, 0, "key %s: removed", key->name);
        if (now != key) {
            atomic_store(&key->removed, true);
            atomic_fetch_add(&vault->generation, 1);
        }
        warprsa_vault_key_release(key);
    }
    free(old.by_name);
    free(old.by_spki);
}

/* Changes the set to what a reading has brought; of a part of it, adds that. */
static bool take_reading(warprsa_vault *vault, warprsa_vault_reading *reading,
                         bool is_part)
{
    change c;

    if (reading->key_count > 0)
        qsort(reading->keys, reading->key_count, sizeof(*reading->keys),
              compare_names);
    if (!make_change(&c, vault, reading) || !find_ledgers(&c, vault, reading)) {
        undo_change(&c, vault);
        return false;
    }
    vault->readings++;
    c.is_part = is_part;
    take_keys(&c, vault, reading);
    if (is_part)
        take_others(&c, vault);
    else
        take_refusals(&c, vault, reading);
    take_remote_keys(&c, vault, reading);
    refuse_twins(&c, vault);
    change_keys(vault, &c);
    return true;
}

static bool replace_keys(warprsa_vault *vault, warprsa_vault_reading *reading)
{
    if (reading->keys_why[0] == '\0')
        return take_reading(vault, reading, false);
    say(vault, 0, "keys not read: %s; all stay as they were",
        reading->keys_why);
    return true;
}

/* Names the lines of rules whose key is not there. */
static void say_missing_keys(const warprsa_vault *vault)
{
    for (unsigned i = 0; i < vault->rules.count; i++) {
        const warprsa_key_rule *rule = &vault->rules.of[i];

        if (strcmp(rule->key, "*") != 0 &&
            (i == 0 || rule->line != vault->rules.of[i - 1].line) &&
            find_name(&vault->keys, rule->key) == NULL)
            say(vault, 0, "keys.conf, line %u: there is no key %s",
                (unsigned)rule->line, rule->key);
    }
}

/* Gives the vault's rules to all ledgers. */
static void spread_rules(const warprsa_vault *vault)
{
    for (unsigned i = 0; i < vault->ledger_count; i++)
        if (!warprsa_vault_ledger_set_rules(vault->ledgers[i], &vault->rules))
            say(vault, 0, "key %s: no memory for its rules: it can't be used",
                warprsa_vault_ledger_name(vault->ledgers[i]));
}

/* Gives the rules, old or new, to all ledgers. */
static void replace_rules(warprsa_vault *vault, warprsa_vault_reading *reading)
{
    warprsa_key_rules old = {0};

    if (reading->is_in_use)
        return;
    if (reading->rules_why[0] != '\0') {
        say(vault, 0, "rules not read: %s; %s", reading->rules_why,
            vault->has_rules ? "they stay as they were" : "no key can be used");
    } else {
        old = vault->rules;
        vault->rules = reading->rules;
        reading->rules = (warprsa_key_rules){0};
        vault->has_rules = true;
    }
    spread_rules(vault);
    warprsa_key_rules_free(&old);
}

bool warprsa_vault_add(warprsa_vault *vault, warprsa_vault_reading *reading)
{
    bool ok = false;

    if (reading->rules_why[0] != '\0' || reading->keys_why[0] != '\0')
        return true; /* no key can be used, or there are none */
    pthread_mutex_lock(&vault->lock);
    replace_rules(vault, reading);
    reading->is_in_use = true;
    ok = take_reading(vault, reading, true);
    pthread_mutex_unlock(&vault->lock);
    return ok;
}

bool warprsa_vault_replace(warprsa_vault *vault, warprsa_vault_reading *reading)
{
    bool ok = false;

    pthread_mutex_lock(&vault->lock);
    ok = replace_keys(vault, reading);
    if (ok) {
        replace_rules(vault, reading);
        say_missing_keys(vault);
        atomic_store(&vault->filled, true);
    } else {
        say(vault, 0, "no memory for the keys: all stay as they were");
    }
    pthread_mutex_unlock(&vault->lock);
    warprsa_vault_reading_free(reading);
    return ok;
}
