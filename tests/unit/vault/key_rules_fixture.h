/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Users and groups of a machine, and rules from text; for tests of keys.conf.
 */
#ifndef WARPRSA_TESTS_UNIT_VAULT_KEY_RULES_FIXTURE_H
#define WARPRSA_TESTS_UNIT_VAULT_KEY_RULES_FIXTURE_H

#include "tests/unit/support/unit_test.h"

#include <string.h>

#include "batching/vault/key_rules.h"

#define BIT(number) (UINT32_C(1) << (number))
#define ALL_DIGESTS (BIT(WARPRSA_USE_DIGESTS) - 1)
#define COUNT(of)   (sizeof(of) / sizeof((of)[0]))
#define SIGN        WARPRSA_USE_SIGN
#define DECRYPT     WARPRSA_USE_DECRYPT
#define PAD(of)     WARPRSA_PADDING_##of
#define DIG(of)     WARPRSA_DIGEST_##of

enum {
    ALICE = 1001,
    BOB = 1002,
    MALLORY = 1666,
    STAFF = 2001,
};

static inline bool test_user(const char *name, uint32_t *uid, int *error)
{
    *error = 0;
    *uid = strcmp(name, "alice") == 0 ? ALICE : BOB;
    return strcmp(name, "alice") == 0 || strcmp(name, "bob") == 0;
}

static inline bool test_group(const char *name, uint32_t *gid, int *error)
{
    *error = 0;
    *gid = STAFF;
    return strcmp(name, "staff") == 0;
}

static const warprsa_name_service names
    __attribute__((unused)) = {test_user, test_group};

static inline void parse(warprsa_key_rules *rules, const char *text)
{
    char why[600] = "";

    *rules = (warprsa_key_rules){0};
    if (!warprsa_key_rules_parse(rules, "keys.conf", text, strlen(text), &names,
                                 why, sizeof(why)))
        fail_msg("%s", why);
}

#endif
