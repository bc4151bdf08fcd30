/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who may use a server, and how much; see identities.h.
 */
#include "batching/remote/server/identities.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/base/config_value.h"

enum {
    LINE_MAX_BYTES = 1024,
    CONNECTIONS_MORE = 2, /* for health checks, and while one is replaced */
    NS_PER_S = 1000000000,
    /* How far an identity may be ahead of its rate: a burst after a pause. */
    BURST_NS = NS_PER_S / 10,
};

/* A line of the file. */
typedef struct identity_line {
    char name[WARPRSA_TLS_NAME];
    unsigned sessions, keys, operations, rate;
} identity_line;

/* A limit as the file has it. */
typedef struct limit_row {
    const char *name;
    size_t offset;
    unsigned initial, min, max;
} limit_row;

static const limit_row limits[] = {
    {"sessions=", offsetof(identity_line, sessions), 8, 0,
     WARPRSA_IDENTITY_SESSIONS_MAX},
    {"keys=", offsetof(identity_line, keys), 4096, 1,
     WARPRSA_IDENTITY_KEYS_MAX},
    {"operations=", offsetof(identity_line, operations), 8192, 1,
     WARPRSA_IDENTITY_OPERATIONS_MAX},
    {"rate=", offsetof(identity_line, rate), 0, 0, WARPRSA_IDENTITY_RATE_MAX},
};
enum {
    LIMITS = sizeof(limits) / sizeof(limits[0]),
};

bool warprsa_identities_init(warprsa_identities *table)
{
    LIST_INIT(&table->list);
    table->numbers = WARPRSA_IDENTITY_FIRST;
    return pthread_mutex_init(&table->lock, NULL) == 0;
}

void warprsa_identities_free(warprsa_identities *table)
{
    while (!LIST_EMPTY(&table->list)) {
        warprsa_identity *identity = LIST_FIRST(&table->list);

        LIST_REMOVE(identity, link);
        free(identity);
    }
    pthread_mutex_destroy(&table->lock);
}

/* Cuts off the next word and ends it with a zero; NULL: none. */
static char *next_word(char **at)
{
    char *word = *at + strspn(*at, " \t\r\n");
    char *end = word + strcspn(word, " \t\r\n");

    if (word == end)
        return NULL;
    *at = *end == '\0' ? end : end + 1;
    *end = '\0';
    return word;
}

static bool read_limit(const char *word, identity_line *line)
{
    for (int i = 0; i < LIMITS; i++) {
        const limit_row *row = &limits[i];

        if (strncmp(word, row->name, strlen(row->name)) == 0)
            return warprsa_config_number(
                word + strlen(row->name), row->min, row->max,
                (unsigned *)((char *)line + row->offset));
    }
    return false;
}

/* Reads a line that is not empty. NULL, or what was expected. If the name is
 * wrong, the line's name is empty. */
static const char *read_line(char *text, identity_line *line)
{
    const char *name = next_word(&text), *word;

    memset(line, 0, sizeof(*line));
    for (int i = 0; i < LIMITS; i++)
        *(unsigned *)((char *)line + limits[i].offset) = limits[i].initial;
    if (name == NULL || strlen(name) >= sizeof(line->name) ||
        (strncmp(name, "dns:", 4) != 0 && strncmp(name, "uri:", 4) != 0))
        return "an identity: dns:NAME or uri:NAME";
    strcpy(line->name, name);
    while ((word = next_word(&text)) != NULL)
        if (!read_limit(word, line))
            return "sessions=0..64, keys=1..65536, operations=1..65536, "
                   "rate=0..100000000";
    return NULL;
}

static warprsa_identity *find(const warprsa_identities *table, const char *name)
{
    warprsa_identity *identity;

    LIST_FOREACH (identity, &table->list, link)
        if (strcmp(identity->name, name) == 0)
            return identity;
    return NULL;
}

static void drop_if_unused(warprsa_identity *identity)
{
    if (!atomic_load(&identity->removed) || identity->references != 0)
        return;
    LIST_REMOVE(identity, link);
    free(identity);
}

/* With the lock held: gives an identity its limits. False: no memory. */
static bool set(warprsa_identities *table, const identity_line *line)
{
    warprsa_identity *identity = find(table, line->name);

    if (identity == NULL) {
        identity = calloc(1, sizeof(*identity));
        if (identity == NULL)
            return false;
        strcpy(identity->name, line->name);
        identity->number = table->numbers++;
        LIST_INSERT_HEAD(&table->list, identity, link);
    }
    identity->listed = true;
    atomic_store(&identity->sessions_max, line->sessions);
    atomic_store(&identity->keys_max, line->keys);
    atomic_store(&identity->operations_max, line->operations);
    atomic_store(&identity->rate_max, line->rate);
    atomic_store(&identity->removed, false);
    return true;
}

/* With the lock held: takes a line of the file. NULL, or what was expected. An
 * identity whose limits are wrong keeps its former ones. */
static const char *take_line(warprsa_identities *table, char *text)
{
    identity_line line;
    const char *expected = read_line(text, &line);
    warprsa_identity *former = expected != NULL ? find(table, line.name) : NULL;

    if (former != NULL)
        former->listed = true;
    if (expected == NULL && !set(table, &line))
        expected = "more memory";
    return expected;
}

/* With the lock held: takes all lines. False with the first mistake in why. */
static bool take_lines(FILE *file, warprsa_identities *table, const char *path,
                       char *why, size_t why_size)
{
    char text[LINE_MAX_BYTES];
    unsigned number = 0;
    bool good = true, is_rest = false;

    while (fgets(text, sizeof(text), file) != NULL) {
        const bool is_whole = strchr(text, '\n') != NULL || feof(file);
        const char *expected = NULL;

        if (!is_rest)
            number++;
        if (!is_rest && !is_whole)
            expected = "a line of less than 1024 bytes";
        else if (!is_rest && text[0] != '#' &&
                 text[strspn(text, " \t\r\n")] != '\0')
            expected = take_line(table, text);
        is_rest = !is_whole;
        if (expected != NULL && good)
            snprintf(why, why_size, "%s:%u: expected %s", path, number,
                     expected);
        good = good && expected == NULL;
    }
    return good;
}

/* With the lock held: removes identities that no line has named. */
static void remove_others(warprsa_identities *table)
{
    warprsa_identity *identity = LIST_FIRST(&table->list), *next;

    for (; identity != NULL; identity = next) {
        next = LIST_NEXT(identity, link);
        if (!identity->listed)
            atomic_store(&identity->removed, true);
        drop_if_unused(identity);
    }
}

bool warprsa_identities_read(warprsa_identities *table, const char *path,
                             char *why, size_t why_size)
{
    FILE *file = fopen(path, "re");
    warprsa_identity *identity;
    bool good;

    if (file == NULL) {
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
        return false;
    }
    pthread_mutex_lock(&table->lock);
    LIST_FOREACH (identity, &table->list, link)
        identity->listed = false;
    good = take_lines(file, table, path, why, why_size);
    if (ferror(file)) {
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
        good = false;
    } else {
        remove_others(table);
    }
    pthread_mutex_unlock(&table->lock);
    fclose(file);
    return good;
}

warprsa_identity *warprsa_identities_find(warprsa_identities *table,
                                          const char *name)
{
    warprsa_identity *identity;

    pthread_mutex_lock(&table->lock);
    identity = find(table, name);
    if (identity != NULL && atomic_load(&identity->removed))
        identity = NULL;
    if (identity != NULL)
        identity->references++;
    pthread_mutex_unlock(&table->lock);
    return identity;
}

void warprsa_identities_hold(warprsa_identities *table,
                             warprsa_identity *identity)
{
    pthread_mutex_lock(&table->lock);
    identity->references++;
    pthread_mutex_unlock(&table->lock);
}

void warprsa_identities_release(warprsa_identities *table,
                                warprsa_identity *identity)
{
    pthread_mutex_lock(&table->lock);
    identity->references--;
    drop_if_unused(identity);
    pthread_mutex_unlock(&table->lock);
}

/* Adds one, unless the number is `max`. */
static bool increase(atomic_uint *number, unsigned max)
{
    if (atomic_fetch_add(number, 1) < max)
        return true;
    atomic_fetch_sub(number, 1);
    return false;
}

/* How many further sessions an identity may have. */
static unsigned further_max(warprsa_identity *identity)
{
    return atomic_load(&identity->sessions_max) / 2;
}

bool warprsa_identity_begin_connection(warprsa_identity *identity)
{
    return increase(&identity->connections,
                    atomic_load(&identity->sessions_max) +
                        further_max(identity) + CONNECTIONS_MORE);
}

void warprsa_identity_end_connection(warprsa_identity *identity)
{
    atomic_fetch_sub(&identity->connections, 1);
}

bool warprsa_identity_begin_session(warprsa_identity *identity)
{
    return increase(&identity->sessions, atomic_load(&identity->sessions_max));
}

void warprsa_identity_end_session(warprsa_identity *identity)
{
    atomic_fetch_sub(&identity->sessions, 1);
}

bool warprsa_identity_begin_further(warprsa_identity *identity)
{
    return increase(&identity->further, further_max(identity));
}

void warprsa_identity_end_further(warprsa_identity *identity)
{
    atomic_fetch_sub(&identity->further, 1);
}

/* The generic cell rate algorithm (ITU-T I.371). rate_ns is when the operations
 * so far would be done at the rate; it may be ahead of now by one burst at
 * most. */
static bool is_in_rate(warprsa_identity *identity, uint64_t now_ns)
{
    const unsigned rate = atomic_load(&identity->rate_max);
    uint64_t until = atomic_load(&identity->rate_ns), next;

    if (rate == 0)
        return true;
    do {
        next = (until > now_ns ? until : now_ns) + NS_PER_S / rate;
        if (next > now_ns + BURST_NS + NS_PER_S / rate)
            return false;
    } while (!atomic_compare_exchange_weak(&identity->rate_ns, &until, next));
    return true;
}

bool warprsa_identity_begin_operation(warprsa_identity *identity,
                                      uint64_t now_ns)
{
    if (!increase(&identity->operations,
                  atomic_load(&identity->operations_max)))
        return false;
    if (is_in_rate(identity, now_ns))
        return true;
    atomic_fetch_sub(&identity->operations, 1);
    return false;
}

void warprsa_identity_end_operation(warprsa_identity *identity)
{
    atomic_fetch_sub(&identity->operations, 1);
}
