/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rules, accounts and rates of one name; see vault_ledger.h.
 */
#include "batching/vault/vault_ledger.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "batching/base/clock.h"

enum {
    BUCKETS = 64,
    ACCOUNTS_MAX = 4096,
    /* Accounts of users who were allowed nothing: they must not keep others
     * from having one. */
    STRANGERS_MAX = 256,
    /* How far a user may be ahead of a rate: a burst after a pause. */
    BURST_NS = 100000000,
};

/* When the uses that a line has allowed so far would be done at its rate. */
typedef struct pace {
    unsigned line;
    uint64_t until_ns, step_ns;
} pace;

typedef struct account {
    LIST_ENTRY(account) link;
    warprsa_vault_account seen;
    warprsa_key_account *shown; /* NULL: nowhere */
    pace *paces;
    unsigned pace_count;
    bool used, changed;
    char identity[]; /* with its final zero */
} account;

LIST_HEAD(bucket, account);

struct warprsa_vault_ledger {
    pthread_mutex_t lock;
    char name[WARPRSA_KEY_NAME_SIZE];
    warprsa_key_accounts *shown;    /* NULL: none */
    const warprsa_key_rule **rules; /* those for the name */
    unsigned rule_count;
    uint64_t rules_set; /* times: lines of other rules are other lines */
    struct bucket buckets[BUCKETS];
    unsigned accounts, strangers;
    account others;
};

warprsa_vault_ledger *warprsa_vault_ledger_new(const char *name,
                                               warprsa_key_accounts *shown)
{
    warprsa_vault_ledger *ledger = calloc(1, sizeof(*ledger));

    if (ledger == NULL)
        return NULL;
    if (pthread_mutex_init(&ledger->lock, NULL) != 0) {
        free(ledger);
        return NULL;
    }
    snprintf(ledger->name, sizeof(ledger->name), "%s", name);
    ledger->shown = shown;
    ledger->others.seen =
        (warprsa_vault_account){.key = ledger->name, .is_others = true};
    return ledger;
}

void warprsa_vault_ledger_free(warprsa_vault_ledger *ledger)
{
    if (ledger == NULL)
        return;
    for (unsigned i = 0; i < BUCKETS; i++)
        while (!LIST_EMPTY(&ledger->buckets[i])) {
            account *a = LIST_FIRST(&ledger->buckets[i]);

            LIST_REMOVE(a, link);
            free(a->paces);
            free(a);
        }
    free(ledger->others.paces);
    free(ledger->rules);
    pthread_mutex_destroy(&ledger->lock);
    free(ledger);
}

const char *warprsa_vault_ledger_name(const warprsa_vault_ledger *ledger)
{
    return ledger->name;
}

static void forget_paces(account *a)
{
    free(a->paces);
    a->paces = NULL;
    a->pace_count = 0;
}

bool warprsa_vault_ledger_set_rules(warprsa_vault_ledger *ledger,
                                    const warprsa_key_rules *rules)
{
    const warprsa_key_rule **of = NULL;
    unsigned count = 0;
    account *a;

    for (unsigned i = 0; i < rules->count; i++)
        count += warprsa_key_rule_is_for(&rules->of[i], ledger->name);
    if (count > 0)
        of = calloc(count, sizeof(*of));
    pthread_mutex_lock(&ledger->lock);
    free(ledger->rules);
    ledger->rules = of;
    ledger->rule_count = 0;
    ledger->rules_set++;
    for (unsigned i = 0; i < rules->count && of != NULL; i++)
        if (warprsa_key_rule_is_for(&rules->of[i], ledger->name))
            of[ledger->rule_count++] = &rules->of[i];
    for (unsigned i = 0; i < BUCKETS; i++)
        LIST_FOREACH (a, &ledger->buckets[i], link)
            forget_paces(a);
    forget_paces(&ledger->others);
    pthread_mutex_unlock(&ledger->lock);
    return count == 0 || of != NULL;
}

static unsigned bucket_of(const warprsa_vault_user *user)
{
    uint32_t hash = user->uid;

    if (user->identity != NULL) {
        hash = 2166136261; /* FNV-1a */
        for (const char *c = user->identity; *c != '\0'; c++)
            hash = (hash ^ (uint8_t)*c) * 16777619;
    }
    return hash % BUCKETS;
}

static bool is_of(const account *a, const warprsa_vault_user *user)
{
    if (user->identity == NULL || a->seen.identity == NULL)
        return user->identity == a->seen.identity && a->seen.uid == user->uid;
    return strcmp(user->identity, a->seen.identity) == 0;
}

/* Finds the row in which others see the account. */
static void show_account(const warprsa_vault_ledger *ledger, account *a,
                         bool is_allowed)
{
    char number[16];
    const char *by = a->seen.identity;

    if (ledger->shown == NULL)
        return;
    snprintf(number, sizeof(number), "%u", (unsigned)a->seen.uid);
    if (a->seen.is_others)
        by = WARPRSA_ACCOUNT_OTHER;
    else if (by == NULL)
        by = number;
    a->shown =
        warprsa_key_accounts_find(ledger->shown, ledger->name, by, is_allowed);
}

/* Makes an account for a user who is allowed something, or not. NULL: no
 * memory. */
static account *add_account(warprsa_vault_ledger *ledger,
                            const warprsa_vault_user *user, bool is_allowed)
{
    const char *identity = user->identity != NULL ? user->identity : "";
    account *a = calloc(1, sizeof(*a) + strlen(identity) + 1);

    if (a == NULL)
        return NULL;
    strcpy(a->identity, identity);
    a->seen.key = ledger->name;
    a->seen.uid = user->identity != NULL ? 0 : user->uid;
    a->seen.identity = user->identity != NULL ? a->identity : NULL;
    show_account(ledger, a, is_allowed);
    LIST_INSERT_HEAD(&ledger->buckets[bucket_of(user)], a, link);
    ledger->accounts++;
    ledger->strangers++;
    return a;
}

/* With the lock held. Never NULL. */
static account *account_of(warprsa_vault_ledger *ledger,
                           const warprsa_vault_user *user, bool is_allowed)
{
    account *a;

    LIST_FOREACH (a, &ledger->buckets[bucket_of(user)], link)
        if (is_of(a, user))
            return a;
    if (ledger->accounts < ACCOUNTS_MAX &&
        (is_allowed || ledger->strangers < STRANGERS_MAX))
        a = add_account(ledger, user, is_allowed);
    if (a != NULL)
        return a;
    if (ledger->others.shown == NULL)
        show_account(ledger, &ledger->others, true);
    return &ledger->others;
}

/* NULL: no memory. */
static pace *pace_of(account *a, unsigned line)
{
    pace *paces = NULL;

    for (unsigned i = 0; i < a->pace_count; i++)
        if (a->paces[i].line == line)
            return &a->paces[i];
    paces = reallocarray(a->paces, a->pace_count + 1, sizeof(*paces));
    if (paces == NULL)
        return NULL;
    a->paces = paces;
    paces[a->pace_count] = (pace){.line = line};
    return &paces[a->pace_count++];
}

/* The generic cell rate algorithm (ITU-T I.371): until_ns may be ahead of now
 * by one burst at most. Sets *line to the one that has paid; 0: none had to.
 */
static bool is_in_rate(account *a, const warprsa_key_rule *rule,
                       uint64_t now_ns, unsigned *line)
{
    pace *p = NULL;
    uint64_t step_ns = 0, next_ns = 0;

    *line = 0;
    if (rule->rate == 0)
        return true;
    p = pace_of(a, rule->line);
    if (p == NULL)
        return false;
    step_ns = WARPRSA_NS_PER_SEC / rule->rate;
    next_ns = (p->until_ns > now_ns ? p->until_ns : now_ns) + step_ns;
    if (next_ns > now_ns + BURST_NS + step_ns)
        return false;
    p->until_ns = next_ns;
    p->step_ns = step_ns;
    *line = rule->line;
    return true;
}

/* Decides by all rules that allow the use: one of them must have its rate left.
 * Sets *a to the user's account, and *line as is_in_rate() does. */
static warprsa_denial decide(warprsa_vault_ledger *ledger,
                             const warprsa_vault_user *user,
                             const warprsa_key_use *use, uint64_t now_ns,
                             account **a, unsigned *line)
{
    unsigned at = 0;
    warprsa_denial denial = warprsa_key_rules_decide(
        ledger->rules, ledger->rule_count, user, use, &at);

    *a = account_of(ledger, user, denial == WARPRSA_ALLOWED);
    if (denial != WARPRSA_ALLOWED)
        return denial;
    do {
        if (is_in_rate(*a, ledger->rules[at], now_ns, line))
            return WARPRSA_ALLOWED;
        at++;
        denial = warprsa_key_rules_decide(ledger->rules, ledger->rule_count,
                                          user, use, &at);
    } while (denial == WARPRSA_ALLOWED);
    return WARPRSA_DENIED_RATE;
}

/* Counts where others see it. */
static void count_shown(warprsa_key_account *shown, warprsa_denial denial)
{
    if (shown == NULL)
        return;
    atomic_fetch_add_explicit(
        denial == WARPRSA_ALLOWED ? &shown->uses : &shown->denials[denial], 1,
        memory_order_relaxed);
}

/* Whoever is ahead of the rate of `line` is one use less so. */
static void give_back(const account *a, unsigned line)
{
    for (unsigned i = 0; i < a->pace_count; i++)
        if (a->paces[i].line == line &&
            a->paces[i].until_ns >= a->paces[i].step_ns)
            a->paces[i].until_ns -= a->paces[i].step_ns;
}

void warprsa_vault_ledger_give_back(warprsa_vault_ledger *ledger,
                                    const warprsa_vault_user *user,
                                    const warprsa_vault_paid *paid)
{
    if (paid->line == 0)
        return;
    pthread_mutex_lock(&ledger->lock);
    if (paid->rules == ledger->rules_set)
        give_back(account_of(ledger, user, false), paid->line);
    pthread_mutex_unlock(&ledger->lock);
}

warprsa_denial warprsa_vault_ledger_decide(warprsa_vault_ledger *ledger,
                                           const warprsa_vault_user *user,
                                           const warprsa_key_use *use,
                                           warprsa_denial denial,
                                           uint64_t now_ns,
                                           warprsa_vault_paid *paid)
{
    account *a = NULL;
    unsigned line = 0;

    pthread_mutex_lock(&ledger->lock);
    if (denial == WARPRSA_ALLOWED)
        denial = decide(ledger, user, use, now_ns, &a, &line);
    else
        a = account_of(ledger, user, false);
    if (denial != WARPRSA_ALLOWED) {
        a->seen.denials[denial]++;
    } else {
        if (a->seen.uses == 0 && a != &ledger->others)
            ledger->strangers--;
        a->seen.uses++;
    }
    if (paid != NULL)
        *paid = (warprsa_vault_paid){.line = line, .rules = ledger->rules_set};
    count_shown(a->shown, denial);
    a->used = a->changed = true;
    pthread_mutex_unlock(&ledger->lock);
    return denial;
}

bool warprsa_vault_ledger_knows(warprsa_vault_ledger *ledger,
                                const warprsa_vault_user *user)
{
    bool knows = false;

    pthread_mutex_lock(&ledger->lock);
    knows = warprsa_key_rules_know(ledger->rules, ledger->rule_count, user);
    pthread_mutex_unlock(&ledger->lock);
    return knows;
}

/* Ends a text that has no room for more with three dots, after whole words: a
 * part of `rate=1000` would be another rate. */
static void mark_cut(char *text, size_t size)
{
    static const char dots[] = "...";
    size_t end = size < sizeof(dots) ? 0 : size - sizeof(dots);

    while (end > 0 && text[end - 1] != ' ')
        end--;
    snprintf(text + end, size - end, "%s", size < sizeof(dots) ? "" : dots);
}

void warprsa_vault_ledger_describe(warprsa_vault_ledger *ledger,
                                   const warprsa_vault_user *user, char *text,
                                   size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    pthread_mutex_lock(&ledger->lock);
    for (unsigned i = 0; i < ledger->rule_count; i++) {
        if (!warprsa_key_rules_know(&ledger->rules[i], 1, user))
            continue;
        if (used > 0)
            used += (size_t)snprintf(text + used, size - used, "; ");
        if (used < size)
            used += warprsa_key_rule_describe(ledger->rules[i], text + used,
                                              size - used);
        if (used >= size) {
            mark_cut(text, size);
            break;
        }
    }
    pthread_mutex_unlock(&ledger->lock);
}

void warprsa_vault_ledger_rights(warprsa_vault_ledger *ledger,
                                 const warprsa_vault_user *user,
                                 warprsa_key_rights *rights)
{
    pthread_mutex_lock(&ledger->lock);
    warprsa_key_rules_rights(ledger->rules, ledger->rule_count, user, rights);
    pthread_mutex_unlock(&ledger->lock);
}

static void visit_one(account *a, bool changed,
                      void (*visit)(void *arg, const warprsa_vault_account *),
                      void *arg)
{
    if (!a->used || (changed && !a->changed))
        return;
    if (changed)
        a->changed = false;
    visit(arg, &a->seen);
}

void warprsa_vault_ledger_each(
    warprsa_vault_ledger *ledger, bool changed,
    void (*visit)(void *arg, const warprsa_vault_account *account), void *arg)
{
    account *a;

    pthread_mutex_lock(&ledger->lock);
    for (unsigned i = 0; i < BUCKETS; i++)
        LIST_FOREACH (a, &ledger->buckets[i], link)
            visit_one(a, changed, visit, arg);
    visit_one(&ledger->others, changed, visit, arg);
    pthread_mutex_unlock(&ledger->lock);
}
