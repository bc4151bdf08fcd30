/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The parser of keys.conf; see key_rules.h. A line's words
 * are found first, then looked at in an order of their own, since which digests
 * make sense depends on the paddings, and these on the operations.
 */
#include "batching/vault/key_rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/base/config_value.h"
#include "batching/vault/key_rule_sets.h"

enum {
    RATE_DIGITS_MAX = 9,
};

#define SIGN_PADDINGS_TEXT    "pkcs1, pss or none for sign"
#define DECRYPT_PADDINGS_TEXT "pkcs1, tls, oaep or none for decrypt"
#define DIGESTS_TEXT                                                           \
    "any, or some of md5, sha1, md5-sha1, ripemd160, sha224, sha256, sha384, " \
    "sha512, sha512-224, sha512-256, sha3-224, sha3-256, sha3-384, sha3-512, " \
    "blake2s256, blake2b512, sm3, shake128, shake256"

/* A part of the text. */
typedef struct span {
    const char *at; /* NULL: there is none */
    size_t length;
} span;

/* The words with a value. */
enum word {
    WORD_USER,
    WORD_GROUP,
    WORD_IDENTITY,
    WORD_PADDING,
    WORD_DIGEST,
    WORD_RATE,
    WORD_SPKI, /* of a remote key */
    WORDS
};
static const char *const word_names[WORDS] = {
    "user=", "group=", "identity=", "padding=", "digest=", "rate=", "spki="};

typedef struct parser {
    const char *path;
    const warprsa_name_service *names;
    warprsa_key_rules *rules;
    char *why;
    size_t why_size;
    /* The line. */
    unsigned number;
    span text;
    span values[WORDS];
    span operations[WARPRSA_USE_OPERATIONS];
    span remote; /* the word */
    warprsa_key_rule rule;
} parser;

/* Always false: says what is expected instead of a word, or, if the word is
 * empty, at the end of the line. */
static bool expect(const parser *p, span word, const char *expected)
{
    char shown[64];
    size_t length =
        word.length < sizeof(shown) - 1 ? word.length : sizeof(shown) - 1;

    for (size_t i = 0; i < length; i++)
        shown[i] = word.at[i] >= ' ' && word.at[i] <= '~' ? word.at[i] : '?';
    shown[length] = '\0';
    if (word.at == NULL)
        word.at = p->text.at + p->text.length;
    snprintf(p->why, p->why_size, "%s:%u:%u: %s%s%sexpected %s", p->path,
             p->number, (unsigned)(word.at - p->text.at) + 1,
             length > 0 ? "\"" : "", shown, length > 0 ? "\": " : "", expected);
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is(span word, const char *text)
{
    return word.length == strlen(text) &&
           memcmp(word.at, text, word.length) == 0;
}

/* Takes the next word out of a line's rest; empty: none. */
static span next_word(span *rest)
{
    span word = {0};

    while (rest->length > 0 && is_blank(*rest->at)) {
        rest->at++;
        rest->length--;
    }
    word.at = rest->at;
    while (word.length < rest->length && !is_blank(word.at[word.length]))
        word.length++;
    rest->at += word.length;
    rest->length -= word.length;
    return word;
}

/* Takes the next item out of a list with commas. False: there is no more. An
 * item may be empty. */
static bool next_item(span *list, span *item)
{
    const char *comma = NULL;

    if (list->at == NULL)
        return false;
    comma = memchr(list->at, ',', list->length);
    *item = (span){list->at,
                   comma != NULL ? (size_t)(comma - list->at) : list->length};
    *list = comma != NULL ? (span){comma + 1, list->length - item->length - 1}
                          : (span){0};
    return true;
}

/* Puts a word of the line, after the key's name, in its place. */
static bool sort_word(parser *p, span word)
{
    int operation = warprsa_use_operation_named(word.at, word.length);

    if (operation >= 0) {
        if (p->operations[operation].at != NULL)
            return expect(p, word, "it once");
        p->operations[operation] = word;
        p->rule.operations |= WARPRSA_RULE_BIT(operation);
        return true;
    }
    if (is(word, "remote")) {
        if (p->remote.at != NULL)
            return expect(p, word, "it once");
        p->remote = word;
        return true;
    }
    for (int i = 0; i < WORDS; i++) {
        const size_t length = strlen(word_names[i]);

        if (word.length < length || memcmp(word.at, word_names[i], length) != 0)
            continue;
        if (p->values[i].at != NULL)
            return expect(p, word, "this once, with commas between its words");
        p->values[i] = (span){word.at + length, word.length - length};
        return true;
    }
    return expect(p, word,
                  "sign, decrypt, user=, group=, identity=, padding=, digest= "
                  "or rate=; or remote with spki=");
}

static bool take_key(parser *p, span word)
{
    if (!is(word, "*") && !warprsa_key_name_is_valid(word.at, word.length))
        return expect(p, word, "* or " WARPRSA_KEY_NAME_ALLOWED);
    memcpy(p->rule.key, word.at, word.length);
    return true;
}

static const char *allowed_paddings(uint32_t operations)
{
    if (operations == WARPRSA_RULE_SIGN)
        return SIGN_PADDINGS_TEXT;
    return operations == WARPRSA_RULE_DECRYPT ? DECRYPT_PADDINGS_TEXT
                                              : SIGN_PADDINGS_TEXT
               ", " DECRYPT_PADDINGS_TEXT;
}

static bool take_paddings(parser *p)
{
    const uint32_t operations = p->rule.operations;
    const uint32_t allowed =
        (operations & WARPRSA_RULE_SIGN ? WARPRSA_RULE_SIGN_PADDINGS : 0) |
        (operations & WARPRSA_RULE_DECRYPT ? WARPRSA_RULE_DECRYPT_PADDINGS : 0);
    span list = p->values[WORD_PADDING], item;

    if (operations == 0)
        return expect(p, (span){0}, "sign or decrypt");
    if (list.at == NULL)
        return expect(p, (span){0}, "padding=, as nothing else is allowed");
    while (next_item(&list, &item)) {
        int padding = warprsa_use_padding_named(item.at, item.length);

        if (padding < 0 || (allowed & WARPRSA_RULE_BIT(padding)) == 0)
            return expect(p, item, allowed_paddings(operations));
        p->rule.paddings |= WARPRSA_RULE_BIT(padding);
    }
    if (operations & WARPRSA_RULE_SIGN &&
        !(p->rule.paddings & WARPRSA_RULE_SIGN_PADDINGS))
        return expect(p, p->operations[WARPRSA_USE_SIGN],
                      "a padding= with " SIGN_PADDINGS_TEXT);
    if (operations & WARPRSA_RULE_DECRYPT &&
        !(p->rule.paddings & WARPRSA_RULE_DECRYPT_PADDINGS))
        return expect(p, p->operations[WARPRSA_USE_DECRYPT],
                      "a padding= with " DECRYPT_PADDINGS_TEXT);
    if (p->rule.paddings & WARPRSA_RULE_BIT(WARPRSA_PADDING_PKCS1) &&
        operations & WARPRSA_RULE_DECRYPT)
        p->rule.paddings |= WARPRSA_RULE_BIT(WARPRSA_PADDING_TLS);
    return true;
}

static bool take_digests(parser *p)
{
    const uint32_t operations = p->rule.operations;
    const bool needed = (operations & WARPRSA_RULE_SIGN &&
                         p->rule.paddings & WARPRSA_RULE_SIGN_DIGESTS) ||
                        (operations & WARPRSA_RULE_DECRYPT &&
                         p->rule.paddings & WARPRSA_RULE_DECRYPT_DIGESTS);
    span list = p->values[WORD_DIGEST], item;

    if (needed && list.at == NULL)
        return expect(p, (span){0}, "digest=" DIGESTS_TEXT);
    if (!needed && list.at != NULL)
        return expect(p, list,
                      "no digest=, which goes with pkcs1 and pss of "
                      "sign, and with oaep");
    while (next_item(&list, &item)) {
        int digest = warprsa_use_digest_named(item.at, item.length);

        if (is(item, "any"))
            p->rule.digests |= WARPRSA_RULE_BIT(WARPRSA_USE_DIGESTS) - 1;
        else if (digest > WARPRSA_DIGEST_NONE)
            p->rule.digests |= WARPRSA_RULE_BIT(digest);
        else
            return expect(p, item, DIGESTS_TEXT);
    }
    return true;
}

static bool take_rate(parser *p)
{
    const span value = p->values[WORD_RATE];
    char text[RATE_DIGITS_MAX + 1] = "";
    unsigned rate = 0;

    if (value.at == NULL)
        return true;
    if (value.length < sizeof(text))
        memcpy(text, value.at, value.length);
    if (!warprsa_config_number(text, 1, WARPRSA_KEY_RULE_RATE_MAX, &rate))
        return expect(p, value, "uses a second, from 1 to 100000000");
    p->rule.rate = rate;
    return true;
}

/* Digits alone: a number that stands for itself. */
static bool is_number(const char *text, uint32_t *id)
{
    unsigned long long number = 0;

    if (text[strspn(text, "0123456789")] != '\0')
        return false;
    errno = 0;
    number = strtoull(text, NULL, 10);
    *id = (uint32_t)number;
    return errno == 0 && number < UINT32_MAX; /* which is no user */
}

/* Always false. An error of the name service goes away without a change of the
 * file, so it must not read as a mistake there. */
static bool expect_id(const parser *p, span item, bool is_user, int error)
{
    const char *which = is_user ? "user" : "group";
    char expected[200];

    if (error == 0)
        snprintf(expected, sizeof(expected),
                 "a %s of this machine, by name or number", which);
    else
        snprintf(expected, sizeof(expected),
                 "a %s of this machine, by name or number, but the name "
                 "service failed: %s; reload once it answers",
                 which, strerror(error));
    return expect(p, item, expected);
}

static bool take_id(parser *p, span item, enum word word)
{
    const bool is_user = word == WORD_USER;
    char name[WARPRSA_KEY_RULE_IDENTITY_SIZE];
    int error = 0;

    if (item.length > 0 && item.length < sizeof(name)) {
        memcpy(name, item.at, item.length);
        name[item.length] = '\0';
        p->rule.who = is_user ? WARPRSA_WHO_USER : WARPRSA_WHO_GROUP;
        if (is_number(name, &p->rule.id) ||
            (is_user ? p->names->user : p->names->group)(name, &p->rule.id,
                                                         &error))
            return true;
    }
    return expect_id(p, item, is_user, error);
}

/* Whether it is as tls.h writes identities. */
static bool is_identity(const char *name, size_t length)
{
    if (length <= 4 || length >= WARPRSA_KEY_RULE_IDENTITY_SIZE ||
        (memcmp(name, "dns:", 4) != 0 && memcmp(name, "uri:", 4) != 0))
        return false;
    for (size_t i = 0; i < length; i++)
        if (name[i] <= ' ' || name[i] > '~')
            return false;
    return true;
}

static bool take_identity(parser *p, span item)
{
    if (!is_identity(item.at, item.length))
        return expect(p, item, "an identity: dns:NAME or uri:NAME");
    p->rule.who = WARPRSA_WHO_IDENTITY;
    p->rule.id = 0;
    memset(p->rule.identity, 0, sizeof(p->rule.identity));
    memcpy(p->rule.identity, item.at, item.length);
    return true;
}

/* Adds a rule for each whom the line names. */
static bool take_who(parser *p)
{
    unsigned added = 0;

    for (enum word word = WORD_USER; word <= WORD_IDENTITY; word++) {
        span list = p->values[word], item;

        while (next_item(&list, &item)) {
            if (!(word == WORD_IDENTITY ? take_identity(p, item)
                                        : take_id(p, item, word)))
                return false;
            if (!warprsa_key_rules_add(p->rules, &p->rule))
                return expect(p, item, "more memory, or fewer rules");
            added++;
        }
    }
    return added > 0 || expect(p, (span){0}, "user=, group= or identity=");
}

const warprsa_remote_key *
warprsa_key_rules_remote(const warprsa_key_rules *rules, const char *name)
{
    for (unsigned i = 0; i < rules->remote_count; i++)
        if (strcmp(rules->remote[i].name, name) == 0)
            return &rules->remote[i];
    return NULL;
}

/* A new remote key at the end. NULL: no memory, or too many. */
static warprsa_remote_key *add_remote(warprsa_key_rules *rules)
{
    if (rules->remote_count == WARPRSA_REMOTE_KEYS_MAX)
        return NULL;
    if (rules->remote_count == rules->remote_room) {
        const unsigned room =
            rules->remote_room == 0 ? 16 : rules->remote_room * 2;
        warprsa_remote_key *grown =
            reallocarray(rules->remote, room, sizeof(*grown));

        if (grown == NULL)
            return NULL;
        rules->remote = grown;
        rules->remote_room = room;
    }
    rules->remote[rules->remote_count] = (warprsa_remote_key){0};
    return &rules->remote[rules->remote_count++];
}

/* The words of a rule on the line of a remote key would be taken for what is
 * allowed there. */
static bool has_rule_words(const parser *p, span *found)
{
    *found = (span){0};
    for (int i = 0; i < WARPRSA_USE_OPERATIONS && found->at == NULL; i++)
        *found = p->operations[i];
    for (int i = 0; i < WORD_SPKI && found->at == NULL; i++)
        *found = p->values[i];
    return found->at != NULL;
}

static bool take_remote(parser *p, span name)
{
    const span spki = p->values[WORD_SPKI];
    warprsa_remote_key *key = NULL;
    span found;

    if (is(name, "*"))
        return expect(p, name, "the name of one key");
    if (has_rule_words(p, &found))
        return expect(p, found,
                      "spki= alone beside remote; what is allowed with the key "
                      "is said on other lines");
    if (warprsa_key_rules_remote(p->rules, p->rule.key) != NULL)
        return expect(p, name, "each remote key once");
    if (spki.at == NULL)
        return expect(p, spki, WARPRSA_REMOTE_KEY_SPKI_ALLOWED);
    key = add_remote(p->rules);
    if (key == NULL)
        return expect(p, name, "more memory, or at most 4096 remote keys");
    key->line = p->number;
    memcpy(key->name, p->rule.key, sizeof(key->name));
    return warprsa_remote_key_decode(key, spki.at, spki.length) ||
           expect(p, spki, WARPRSA_REMOTE_KEY_SPKI_ALLOWED);
}

static bool take_line(parser *p)
{
    const char *zero = memchr(p->text.at, '\0', p->text.length);
    span rest = p->text, word, name;

    memset(&p->rule, 0, sizeof(p->rule));
    memset(p->values, 0, sizeof(p->values));
    memset(p->operations, 0, sizeof(p->operations));
    p->remote = (span){0};
    p->rule.line = p->number;
    if (p->text.length > WARPRSA_KEY_RULE_LINE_BYTES_MAX)
        return expect(p, (span){p->text.at, 0}, "a line of at most 4095 bytes");
    if (zero != NULL)
        return expect(p, (span){zero, 1}, "a line without zero bytes");
    word = next_word(&rest);
    if (word.length == 0 || word.at[0] == '#')
        return true;
    name = word;
    if (!take_key(p, name))
        return false;
    for (word = next_word(&rest); word.length > 0; word = next_word(&rest))
        if (!sort_word(p, word))
            return false;
    if (p->remote.at != NULL)
        return take_remote(p, name);
    if (p->values[WORD_SPKI].at != NULL)
        return expect(p, p->values[WORD_SPKI], "no spki= without remote");
    return take_paddings(p) && take_digests(p) && take_rate(p) && take_who(p);
}

bool warprsa_key_rules_parse(warprsa_key_rules *rules, const char *path,
                             const char *text, size_t bytes,
                             const warprsa_name_service *names, char *why,
                             size_t why_size)
{
    parser p = {.path = path,
                .names = names,
                .rules = rules,
                .why = why,
                .why_size = why_size};

    for (size_t at = 0; at < bytes; at += p.text.length + 1) {
        const char *end = memchr(text + at, '\n', bytes - at);

        p.text = (span){text + at,
                        end != NULL ? (size_t)(end - text) - at : bytes - at};
        p.number++;
        if (!take_line(&p)) {
            warprsa_key_rules_free(rules);
            return false;
        }
    }
    return true;
}

static bool is_filled(const char *text, size_t size)
{
    return text[0] != '\0' && memchr(text, '\0', size) != NULL;
}

/* Whether a rule is of a form that the parser makes: it may come from another
 * process. */
static bool is_sound(const warprsa_key_rule *rule)
{
    const uint32_t paddings =
        (rule->operations & WARPRSA_RULE_SIGN ? WARPRSA_RULE_SIGN_PADDINGS
                                              : 0) |
        (rule->operations & WARPRSA_RULE_DECRYPT ? WARPRSA_RULE_DECRYPT_PADDINGS
                                                 : 0);

    return is_filled(rule->key, sizeof(rule->key)) &&
           (strcmp(rule->key, "*") == 0 ||
            warprsa_key_name_is_valid(rule->key, strlen(rule->key))) &&
           rule->who >= WARPRSA_WHO_USER && rule->who <= WARPRSA_WHO_IDENTITY &&
           (rule->who != WARPRSA_WHO_IDENTITY ||
            (is_filled(rule->identity, sizeof(rule->identity)) &&
             is_identity(rule->identity, strlen(rule->identity)))) &&
           rule->operations != 0 &&
           (rule->operations & ~(WARPRSA_RULE_SIGN | WARPRSA_RULE_DECRYPT)) ==
               0 &&
           rule->paddings != 0 && (rule->paddings & ~paddings) == 0 &&
           rule->digests < WARPRSA_RULE_BIT(WARPRSA_USE_DIGESTS) &&
           rule->rate <= WARPRSA_KEY_RULE_RATE_MAX;
}

bool warprsa_key_rules_add(warprsa_key_rules *rules,
                           const warprsa_key_rule *rule)
{
    if (!is_sound(rule) || rules->count == WARPRSA_KEY_RULES_MAX)
        return false;
    if (rules->count == rules->room) {
        const unsigned room = rules->room == 0 ? 16 : rules->room * 2;
        warprsa_key_rule *of = reallocarray(rules->of, room, sizeof(*of));

        if (of == NULL)
            return false;
        rules->of = of;
        rules->room = room;
    }
    rules->of[rules->count++] = *rule;
    return true;
}

void warprsa_key_rules_free(warprsa_key_rules *rules)
{
    free(rules->of);
    free(rules->remote);
    *rules = (warprsa_key_rules){0};
}
