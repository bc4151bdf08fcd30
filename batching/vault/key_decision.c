/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What rules of keys.conf allow: the decision about a use, rights, and a rule
 * in its words; see key_rules.h.
 */
#include <stdio.h>
#include <string.h>

#include "batching/vault/key_rule_sets.h"
#include "batching/vault/key_rules.h"

static const uint32_t operation_paddings[WARPRSA_USE_OPERATIONS] = {
    [WARPRSA_USE_SIGN] = WARPRSA_RULE_SIGN_PADDINGS,
    [WARPRSA_USE_DECRYPT] = WARPRSA_RULE_DECRYPT_PADDINGS,
};

bool warprsa_key_rule_is_for(const warprsa_key_rule *rule, const char *key)
{
    return strcmp(rule->key, "*") == 0 || strcmp(rule->key, key) == 0;
}

static bool is_in_group(const warprsa_vault_user *user, uint32_t gid)
{
    bool is_in = user->gid == gid;

    for (unsigned i = 0; i < user->group_count && !is_in; i++)
        is_in = user->groups[i] == gid;
    return is_in;
}

static bool is_for_user(const warprsa_key_rule *rule,
                        const warprsa_vault_user *user)
{
    if (user->identity != NULL)
        return rule->who == WARPRSA_WHO_IDENTITY &&
               strcmp(rule->identity, user->identity) == 0;
    return (rule->who == WARPRSA_WHO_USER && rule->id == user->uid) ||
           (rule->who == WARPRSA_WHO_GROUP && is_in_group(user, rule->id));
}

/* The digests that a use needs, a bit each. */
static uint32_t digests_of(const warprsa_key_use *use)
{
    switch ((warprsa_use_padding)use->padding) {
    case WARPRSA_PADDING_PKCS1:
        return use->operation == WARPRSA_USE_SIGN
                   ? WARPRSA_RULE_BIT(use->digest)
                   : 0;
    case WARPRSA_PADDING_PSS:
    case WARPRSA_PADDING_OAEP:
        return WARPRSA_RULE_BIT(use->digest) |
               WARPRSA_RULE_BIT(use->mgf1_digest);
    case WARPRSA_PADDING_NONE:
    case WARPRSA_PADDING_TLS:
    case WARPRSA_USE_PADDINGS:
        break;
    }
    return 0;
}

static warprsa_denial decide_one(const warprsa_key_rule *rule,
                                 const warprsa_vault_user *user,
                                 const warprsa_key_use *use)
{
    if (!is_for_user(rule, user))
        return WARPRSA_DENIED_USER;
    if ((rule->operations & WARPRSA_RULE_BIT(use->operation)) == 0)
        return WARPRSA_DENIED_OPERATION;
    if ((rule->paddings & WARPRSA_RULE_BIT(use->padding)) == 0)
        return WARPRSA_DENIED_PADDING;
    if ((digests_of(use) & ~rule->digests) != 0)
        return WARPRSA_DENIED_DIGEST;
    return WARPRSA_ALLOWED;
}

warprsa_denial warprsa_key_rules_decide(const warprsa_key_rule *const *rules,
                                        unsigned count,
                                        const warprsa_vault_user *user,
                                        const warprsa_key_use *use,
                                        unsigned *at)
{
    warprsa_denial nearest = WARPRSA_DENIED_USER;

    for (; *at < count; (*at)++) {
        warprsa_denial denial = decide_one(rules[*at], user, use);

        if (denial == WARPRSA_ALLOWED)
            return denial;
        if (denial > nearest)
            nearest = denial;
    }
    return nearest;
}

bool warprsa_key_rules_know(const warprsa_key_rule *const *rules,
                            unsigned count, const warprsa_vault_user *user)
{
    for (unsigned i = 0; i < count; i++)
        if (is_for_user(rules[i], user))
            return true;
    return false;
}

/* Adds what a rule allows of one operation. */
static void add_rights(const warprsa_key_rule *rule, unsigned operation,
                       warprsa_key_rights *rights)
{
    for (unsigned padding = WARPRSA_PADDING_NONE;
         padding < WARPRSA_USE_PADDINGS; padding++) {
        const uint32_t named = warprsa_use_digests(operation, padding);
        const uint32_t digests = named & rule->digests;

        if ((rule->paddings & WARPRSA_RULE_BIT(padding)) == 0 ||
            (operation_paddings[operation] & WARPRSA_RULE_BIT(padding)) == 0 ||
            (named != 0 && digests == 0))
            continue;
        rights->operations |= WARPRSA_RULE_BIT(operation);
        rights->paddings[operation] |= WARPRSA_RULE_BIT(padding);
        rights->digests[operation][padding] |= digests;
    }
}

void warprsa_key_rules_rights(const warprsa_key_rule *const *rules,
                              unsigned count, const warprsa_vault_user *user,
                              warprsa_key_rights *rights)
{
    *rights = (warprsa_key_rights){0};
    for (unsigned i = 0; i < count; i++) {
        if (!is_for_user(rules[i], user))
            continue;
        for (unsigned operation = WARPRSA_USE_SIGN;
             operation < WARPRSA_USE_OPERATIONS; operation++)
            if (rules[i]->operations & WARPRSA_RULE_BIT(operation))
                add_rights(rules[i], operation, rights);
    }
}

/* Appends text where there is room, and counts it where not. */
static void append(char *text, size_t size, size_t *used, const char *more)
{
    if (*used < size)
        snprintf(text + *used, size - *used, "%s", more);
    *used += strlen(more);
}

/* Appends the names of the bits that are set, with commas between them. */
static void append_names(char *text, size_t size, size_t *used, uint32_t bits,
                         const char *(*name)(unsigned number))
{
    bool is_first = true;

    for (unsigned i = 0; i < 32; i++) {
        if ((bits & WARPRSA_RULE_BIT(i)) == 0)
            continue;
        append(text, size, used, is_first ? "" : ",");
        append(text, size, used, name(i));
        is_first = false;
    }
}

size_t warprsa_key_rule_describe(const warprsa_key_rule *rule, char *text,
                                 size_t size)
{
    const uint32_t any = WARPRSA_RULE_BIT(WARPRSA_USE_DIGESTS) - 1;
    char rate[32] = "";
    size_t used = 0;

    if (rule->operations & WARPRSA_RULE_SIGN)
        append(text, size, &used, "sign ");
    if (rule->operations & WARPRSA_RULE_DECRYPT)
        append(text, size, &used, "decrypt ");
    append(text, size, &used, "padding=");
    append_names(text, size, &used, rule->paddings, warprsa_use_padding_name);
    if (rule->digests != 0)
        append(text, size, &used, " digest=");
    if (rule->digests == any)
        append(text, size, &used, "any");
    else
        append_names(text, size, &used, rule->digests, warprsa_use_digest_name);
    if (rule->rate != 0)
        snprintf(rate, sizeof(rate), " rate=%u", (unsigned)rule->rate);
    append(text, size, &used, rate);
    return used;
}
