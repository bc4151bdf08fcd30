/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a reading changes in the vault's set of keys; see vault_reading.h and
 * vault_state.h.
 */
#include <stdlib.h>
#include <string.h>

#include "batching/vault/vault_state.h"

/* What a reading makes of the set, before anything is changed. */
typedef struct change {
    bool is_part; /* more of the reading follows */
    warprsa_vault_keys keys;
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
            warprsa_vault_compare_names(&reading->keys[i - 1],
                                        &reading->keys[i]) == 0)
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
    warprsa_vault_say(vault, 0, "key %s: %s: RSA%s of %u bits%s%s", key->name,
                      what, key->padding->restrictions.pss ? "-PSS" : "",
                      key->padding->bits, where,
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
    warprsa_vault_say(
        vault, 0,
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
        warprsa_vault_key *old =
            warprsa_vault_keys_find(&vault->keys, key->name);

        if (c->keys.count > 0 &&
            strcmp(c->keys.by_name[c->keys.count - 1]->name, key->name) == 0)
            continue;
        if (is_in_the_way(vault, reading, old, key)) {
            keep(c, old);
            continue;
        }
        if (old == NULL || warprsa_vault_compare_spkis(&old, &key) != 0 ||
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
    const warprsa_vault_keys taken = {c->keys.by_name, NULL, c->keys.count};

    for (unsigned i = 0; i < vault->keys.count; i++)
        if (warprsa_vault_keys_find(&taken, vault->keys.by_name[i]->name) ==
            NULL)
            keep(c, vault->keys.by_name[i]);
    qsort(c->keys.by_name, c->keys.count, sizeof(*c->keys.by_name),
          warprsa_vault_compare_names);
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
    const warprsa_vault_keys taken = {c->keys.by_name, NULL, read};

    if (reading->refusal_count > 0)
        qsort(reading->refusals, reading->refusal_count,
              sizeof(*reading->refusals), compare_refusals);
    for (unsigned i = 0; i < reading->refusal_count; i++) {
        const warprsa_vault_refusal *refusal = &reading->refusals[i];
        warprsa_vault_key *old =
            warprsa_vault_keys_find(&vault->keys, refusal->name);
        bool stays = old != NULL &&
                     warprsa_vault_keys_find(&taken, refusal->name) == NULL;

        if (refusal->is_certificates) {
            warprsa_vault_say(vault, 0,
                              "key %s: its certificates are refused: %s",
                              refusal->name, refusal->why);
            continue;
        }
        for (unsigned j = read; j < c->keys.count; j++)
            stays = stays && c->keys.by_name[j] != old;
        warprsa_vault_say(vault, 0, "key %s: refused: %s%s", refusal->name,
                          refusal->why,
                          stays ? "; the key as it was before stays" : "");
        if (stays)
            keep(c, old);
    }
    qsort(c->keys.by_name, c->keys.count, sizeof(*c->keys.by_name),
          warprsa_vault_compare_names);
}

/* The remote keys, if the file that names them can't be read now. */
static void take_remote_keys(change *c, const warprsa_vault *vault,
                             const warprsa_vault_reading *reading)
{
    const unsigned taken = c->keys.count;
    const warprsa_vault_keys before = {c->keys.by_name, NULL, taken};

    if (reading->rules_why[0] == '\0')
        return;
    for (unsigned i = 0; i < vault->keys.count; i++) {
        warprsa_vault_key *old = vault->keys.by_name[i];

        if (old->is_remote &&
            warprsa_vault_keys_find(&before, old->name) == NULL)
            keep(c, old);
    }
    qsort(c->keys.by_name, c->keys.count, sizeof(*c->keys.by_name),
          warprsa_vault_compare_names);
}

/* Refuses a key that another name has, too. */
static void refuse_twins(change *c, const warprsa_vault *vault)
{
    unsigned count = 0;

    memcpy(c->keys.by_spki, c->keys.by_name,
           c->keys.count * sizeof(*c->keys.by_name));
    qsort(c->keys.by_spki, c->keys.count, sizeof(*c->keys.by_spki),
          warprsa_vault_compare_spkis);
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
            warprsa_vault_say(vault, 0,
                              "key %s: refused: it is the same key as %s",
                              key->name, before->name);
        warprsa_vault_key_release(key);
    }
    c->keys.count = count;
    memcpy(c->keys.by_name, c->keys.by_spki, count * sizeof(*c->keys.by_name));
    qsort(c->keys.by_name, count, sizeof(*c->keys.by_name),
          warprsa_vault_compare_names);
}

/* Puts the new set in the place of the old one, and lets go of that. */
static void change_keys(warprsa_vault *vault, change *c)
{
    const warprsa_vault_keys old = vault->keys;

    qsort(c->ledgers, c->ledger_count, sizeof(*c->ledgers), compare_ledgers);
    free(vault->ledgers);
    vault->ledgers = c->ledgers;
    vault->ledger_count = c->ledger_count;
    vault->keys = c->keys;
    for (unsigned i = 0; i < vault->keys.count; i++) {
        const warprsa_vault_key *key = vault->keys.by_name[i];
        const warprsa_vault_key *before =
            warprsa_vault_keys_find(&old, key->name);

        if (before != key)
            say_key(vault, key, before != NULL ? "replaced" : "added");
    }
    for (unsigned i = 0; i < old.count; i++) {
        warprsa_vault_key *key = old.by_name[i];
        warprsa_vault_key *now =
            warprsa_vault_keys_find(&vault->keys, key->name);

        if (now == NULL)
            warprsa_vault_say(vault, 0, "key %s: removed", key->name);
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
              warprsa_vault_compare_names);
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
    warprsa_vault_say(vault, 0, "keys not read: %s; all stay as they were",
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
            warprsa_vault_keys_find(&vault->keys, rule->key) == NULL)
            warprsa_vault_say(vault, 0,
                              "keys.conf, line %u: there is no key %s",
                              (unsigned)rule->line, rule->key);
    }
}

/* Gives the vault's rules to all ledgers. */
static void spread_rules(const warprsa_vault *vault)
{
    for (unsigned i = 0; i < vault->ledger_count; i++)
        if (!warprsa_vault_ledger_set_rules(vault->ledgers[i], &vault->rules))
            warprsa_vault_say(
                vault, 0, "key %s: no memory for its rules: it can't be used",
                warprsa_vault_ledger_name(vault->ledgers[i]));
}

/* Gives the rules, old or new, to all ledgers. */
static void replace_rules(warprsa_vault *vault, warprsa_vault_reading *reading)
{
    warprsa_key_rules old = {0};

    if (reading->is_in_use)
        return;
    if (reading->rules_why[0] != '\0') {
        warprsa_vault_say(
            vault, 0, "rules not read: %s; %s", reading->rules_why,
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
        warprsa_vault_say(vault, 0,
                          "no memory for the keys: all stay as they were");
    }
    pthread_mutex_unlock(&vault->lock);
    warprsa_vault_reading_free(reading);
    return ok;
}
