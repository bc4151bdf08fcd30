/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzer: keys.conf. A file is refused as a whole, with a printable reason that
 * names the place, or each of its rules is of a form that the vault takes from
 * another process, allows what it says to whom it says it and to nobody else,
 * and means the same when it is described and read again.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/vault/key_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void want(bool condition)
{
    if (!condition)
        abort();
}

/* Names of one letter, and no others. */
static bool one_letter(const char *name, uint32_t *id, int *error)
{
    *error = 0;
    *id = (uint32_t)(unsigned char)name[0];
    return name[0] >= 'a' && name[0] <= 'z' && name[1] == '\0';
}

static const warprsa_name_service names = {one_letter, one_letter};

static bool parse(warprsa_key_rules *rules, const char *text, size_t bytes)
{
    char why[400] = "";
    bool ok = warprsa_key_rules_parse(rules, "keys.conf", text, bytes, &names,
                                      why, sizeof(why));

    if (ok)
        return true;
    want(rules->of == NULL && rules->count == 0);
    want(strncmp(why, "keys.conf:", 10) == 0);
    want(strstr(why, "expected ") != NULL);
    for (const char *c = why; *c != '\0'; c++)
        want(*c >= ' ' && *c <= '~');
    return false;
}

/* A use of this kind, with the lowest digest that the rule has. */
static warprsa_key_use use_of(const warprsa_key_rule *rule, unsigned operation,
                              unsigned padding)
{
    const uint8_t digest =
        rule->digests != 0 ? (uint8_t)__builtin_ctz(rule->digests) : 0;

    return (warprsa_key_use){.operation = (uint8_t)operation,
                             .padding = (uint8_t)padding,
                             .digest = digest,
                             .mgf1_digest = digest};
}

/* A rule alone allows its user exactly its operations and paddings, and other
 * users nothing. */
static void check_decisions(const warprsa_key_rule *rule)
{
    const uint32_t group = rule->id;
    warprsa_vault_user user = {.uid = 1u << 30, .gid = 1u << 30};
    warprsa_vault_user other = user;

    if (rule->who == WARPRSA_WHO_USER)
        user.uid = rule->id;
    if (rule->who == WARPRSA_WHO_GROUP) {
        user.groups = &group;
        user.group_count = 1;
    }
    if (rule->who == WARPRSA_WHO_IDENTITY)
        user.identity = rule->identity;
    other.uid = other.gid = rule->id + 1;
    for (unsigned o = 1; o < WARPRSA_USE_OPERATIONS; o++)
        for (unsigned p = 1; p < WARPRSA_USE_PADDINGS; p++) {
            const warprsa_key_use use = use_of(rule, o, p);
            const bool allowed =
                rule->operations & 1u << o && rule->paddings & 1u << p;
            unsigned at = 0;
            warprsa_denial denial =
                warprsa_key_rules_decide(&rule, 1, &user, &use, &at);

            want((denial == WARPRSA_ALLOWED) ==
                 (allowed && denial != WARPRSA_DENIED_DIGEST));
            want(denial != WARPRSA_DENIED_USER && at <= 1);
            at = 0;
            want(warprsa_key_rules_decide(&rule, 1, &other, &use, &at) ==
                 WARPRSA_DENIED_USER);
        }
    want(warprsa_key_rules_know(&rule, 1, &user));
    want(!warprsa_key_rules_know(&rule, 1, &other));
}

/* Whatever a rule allows is within the rights that a program is told of. */
static void check_rights(const warprsa_key_rule *rule)
{
    const uint32_t id = rule->id;
    const bool is_identity = rule->who == WARPRSA_WHO_IDENTITY;
    const warprsa_vault_user user = {
        .uid = id, .gid = id, .identity = is_identity ? rule->identity : NULL};
    warprsa_key_rights rights;

    warprsa_key_rules_rights(&rule, 1, &user, &rights);
    want((rights.operations & ~rule->operations) == 0);
    for (unsigned o = 1; o < WARPRSA_USE_OPERATIONS; o++)
        for (unsigned p = 1; p < WARPRSA_USE_PADDINGS; p++) {
            const uint32_t named = warprsa_use_digests(o, p);
            const warprsa_key_use use = use_of(rule, o, p);
            unsigned at = 0;
            const bool allowed =
                warprsa_key_rules_decide(&rule, 1, &user, &use, &at) ==
                WARPRSA_ALLOWED;

            want((rights.digests[o][p] & ~(named & rule->digests)) == 0);
            want((rights.paddings[o] & ~rule->paddings) == 0);
            if (allowed && (named & 1u << use.digest) != 0)
                want(rights.digests[o][p] & 1u << use.digest &&
                     rights.paddings[o] & 1u << p &&
                     rights.operations & 1u << o);
        }
}

/* What a rule allows, in words, allows the same. */
static void check_words(const warprsa_key_rule *rule)
{
    warprsa_key_rules again = {0};
    char line[1024] = "k user=1 ";
    const size_t head = strlen(line);
    const size_t length =
        warprsa_key_rule_describe(rule, line + head, sizeof(line) - head);

    want(length == strlen(line + head));
    want(parse(&again, line, head + length) && again.count == 1);
    want(again.of[0].operations == rule->operations);
    want(again.of[0].paddings == rule->paddings);
    want(again.of[0].digests == rule->digests);
    want(again.of[0].rate == rule->rate);
    warprsa_key_rules_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    warprsa_key_rules rules = {0}, copies = {0};
    /* A copy that ends where the text ends. */
    char *exact = malloc(size + 1);

    if (exact == NULL)
        return 0;
    memcpy(exact + 1, data, size);
    if (parse(&rules, exact + 1, size))
        for (unsigned i = 0; i < rules.count; i++) {
            want(warprsa_key_rules_add(&copies, &rules.of[i]));
            check_decisions(&rules.of[i]);
            check_rights(&rules.of[i]);
            check_words(&rules.of[i]);
        }
    want(copies.count == rules.count);
    warprsa_key_rules_free(&rules);
    warprsa_key_rules_free(&copies);
    free(exact);
    return 0;
}
