/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * keys.conf: who may use which key of the vault for what.
 *
 *     # KEY  WHO                             WHAT
 *     www    user=www-data,haproxy group=tls sign padding=pss digest=sha256
 *     ca     user=ca            sign padding=pkcs1 digest=sha256 rate=100
 *     *      identity=dns:gw1.example.org    sign padding=none
 *     mail   remote spki=MIIBIjANBgkqhkiG9w0B...
 *
 * A line with the word `remote` says that GPU hosts have the key of that name
 * (remote_key.h), and is no rule. Any other line is one for the key of that
 * name, or for every key (*). A use is allowed if
 * one line allows all of it, and nothing is allowed that no line says:
 *
 *   WHO      user=, group=: names or numbers, of the process at the other end
 *            of the daemon's socket. identity=: dns:NAME or uri:NAME, of the
 *            certificate of another host. Any of the three, any of its words.
 *   WHAT     sign, decrypt, or both
 *   padding= of sign: pkcs1, pss, none; of decrypt: pkcs1, tls, oaep, none.
 *            `none` is any number: with it everything can be signed and
 *            decrypted that the key can. `pkcs1` of decrypt allows `tls`.
 *   digest=  for pkcs1 and pss of sign, and for oaep: names, or any. Of pss and
 *            oaep it is that of MGF1, too.
 *   rate=    uses a second of each user; without it there is no limit
 *
 * Users and groups are looked up when the file is parsed: the serving process,
 * which decides, need not ask the name service. Its answers may come from files
 * that the process can't open (daemon/process/sandbox.h).
 */
#ifndef WARPRSA_BATCHING_VAULT_KEY_RULES_H
#define WARPRSA_BATCHING_VAULT_KEY_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batching/vault/remote_key.h"
#include "batching/vault/wire/denial.h"
#include "batching/vault/wire/key_name.h"
#include "batching/vault/wire/key_rights.h"
#include "batching/vault/wire/key_use.h"

enum {
    WARPRSA_KEY_RULES_MAX = 65536, /* of a file */
    WARPRSA_KEY_RULE_IDENTITY_SIZE = 256,
    WARPRSA_KEY_RULE_RATE_MAX = 100000000,
    WARPRSA_KEY_RULE_LINE_BYTES_MAX = 4095,
};

typedef enum warprsa_key_rule_who {
    WARPRSA_WHO_USER = 1,
    WARPRSA_WHO_GROUP,
    WARPRSA_WHO_IDENTITY,
} warprsa_key_rule_who;

/* A rule allows one user, group or identity something: a line has a rule for
 * each. Plain data. */
typedef struct warprsa_key_rule {
    uint32_t line;                   /* of the file, from 1 */
    char key[WARPRSA_KEY_NAME_SIZE]; /* or "*" */
    uint32_t who;                    /* warprsa_key_rule_who */
    uint32_t id;                     /* of a user or a group */
    char identity[WARPRSA_KEY_RULE_IDENTITY_SIZE];
    /* A bit each of warprsa_use_operation, .._padding and .._digest. */
    uint32_t operations, paddings, digests;
    uint32_t rate; /* 0: no limit */
} warprsa_key_rule;

typedef struct warprsa_key_rules {
    warprsa_key_rule *of; /* in the order of the file */
    unsigned count, room;
    warprsa_remote_key *remote; /* the same */
    unsigned remote_count, remote_room;
} warprsa_key_rules;

/* Who asks: a process of this machine, or another host. */
typedef struct warprsa_vault_user {
    uint32_t uid;
    uint32_t gid;
    const uint32_t *groups; /* further ones */
    unsigned group_count;
    int32_t pid;
    const char *identity; /* as "dns:web1.example.org"; NULL: a local process.
                             With one, no user and no group counts. */
} warprsa_vault_user;

/* Looks up the number of a user or a group. False: there is none, or, if *error
 * is an errno and not 0, nobody can tell. */
typedef struct warprsa_name_service {
    bool (*user)(const char *name, uint32_t *uid, int *error);
    bool (*group)(const char *name, uint32_t *gid, int *error);
} warprsa_name_service;

/* The machine's. */
extern const warprsa_name_service warprsa_key_rules_names;

/* Reads the text of a file into empty *rules. False: *rules is empty, and `why`
 * says in which line and column the first mistake is, which word, and what is
 * allowed there. `path` is for `why` alone. */
bool warprsa_key_rules_parse(warprsa_key_rules *rules, const char *path,
                             const char *text, size_t bytes,
                             const warprsa_name_service *names, char *why,
                             size_t why_size);

/* Adds a copy of a rule, of a form that the parser makes; any other is refused.
 * False: refused, or no memory. */
bool warprsa_key_rules_add(warprsa_key_rules *rules,
                           const warprsa_key_rule *rule);

/* Leaves *rules empty. */
void warprsa_key_rules_free(warprsa_key_rules *rules);

/* The remote key of this name; NULL: there is none. */
const warprsa_remote_key *
warprsa_key_rules_remote(const warprsa_key_rules *rules, const char *name);

/* Whether a rule is for this key. */
bool warprsa_key_rule_is_for(const warprsa_key_rule *rule, const char *key);

/*
 * Decides about a use of a key by the rules that are for this key, from number
 * *at on. WARPRSA_ALLOWED: rule *at allows it. Otherwise the denial is that of
 * the rule that came nearest to allow it, in the order user, operation,
 * padding, digest. Depends on its arguments alone; rates are left to the
 * caller. The use has passed warprsa_key_use_fault().
 */
warprsa_denial warprsa_key_rules_decide(const warprsa_key_rule *const *rules,
                                        unsigned count,
                                        const warprsa_vault_user *user,
                                        const warprsa_key_use *use,
                                        unsigned *at);

/* Whether one of these rules is for this user. */
bool warprsa_key_rules_know(const warprsa_key_rule *const *rules,
                            unsigned count, const warprsa_vault_user *user);

/* What these rules allow this user, all of them taken together: the bound that
 * key_rights.h describes. It names each padding and each digest by which
 * warprsa_key_rules_decide() allows a use that has no fault, and no others. */
void warprsa_key_rules_rights(const warprsa_key_rule *const *rules,
                              unsigned count, const warprsa_vault_user *user,
                              warprsa_key_rights *rights);

/* Writes what a rule allows, in its words, cut to `size` bytes. Returns how
 * many bytes all of it has, as snprintf() does. */
size_t warprsa_key_rule_describe(const warprsa_key_rule *rule, char *text,
                                 size_t size);

#endif
