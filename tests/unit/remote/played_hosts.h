/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * GPU hosts that a test plays, in the place of link.c and trust.c, for the uses
 * of one key that they have; and what a test asks of that key.
 */
#ifndef WARPRSA_TESTS_UNIT_REMOTE_PLAYED_HOSTS_H
#define WARPRSA_TESTS_UNIT_REMOTE_PLAYED_HOSTS_H

#include "tests/unit/support/unit_test.h"

#include <pthread.h>

#include "batching/queue/counters.h"
#include "batching/remote/engine/link.h"
#include "batching/remote/uses/remote_uses.h"
#include "batching/vault/vault_key.h"
#include "tests/unit/support/use_sign_pss.h"

enum {
    HOSTS = 2,
    FURTHER = 8,
    BYTES = 128, /* of the modulus */
    TASKS = 8192,
    SENT_MAX = 2 * TASKS, /* in a first session and those beside it */
};

typedef struct sent_use {
    warprsa_link *link; /* by which the host has got it */
    uint32_t id;
    warprsa_key_use use;
    uint8_t input[BYTES];
} sent_use;

struct played {
    pthread_mutex_t lock; /* of all below */
    struct fake_host {
        bool away;
        uint32_t room, keys_max;
        warprsa_link *link; /* the first session's */
        /* Sessions beside it: how many the host grants, with this room
         * and so many keys each; and the links of those that are there. */
        unsigned further_max, further_room, further_keys_max, further_asked;
        warprsa_link *further[FURTHER];
        unsigned opened, closed, keys, messages, unloaded;
        size_t largest; /* message, in uses */
        uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES];
        sent_use sent[SENT_MAX];
        unsigned count;
    } hosts[HOSTS + 1]; /* from 1 on */
    uint8_t buffer[WARPRSA_REMOTE_PREFIX + WARPRSA_REMOTE_MESSAGE_MAX];
    warprsa_remote_request request;
    bool has_window; /* else hosts get their whole room at once */
    /* By place, once they have a session. */
    struct warprsa_use_host *of_place[WARPRSA_REMOTE_HOSTS_MAX];
    char log[65536];
    bool has_ifma;   /* answers are checked eight at a time */
    unsigned powers; /* of these, how many for a check of the hash */
};
extern struct played fake;

typedef struct asked {
    warprsa_use_task task;
    uint8_t input[BYTES], number[BYTES], answer[BYTES];
    atomic_uint done;
} asked;
extern asked tasks[TASKS];

extern EVP_PKEY *pkey;
extern warprsa_vault *vault;
extern warprsa_vault_key *key; /* that ask() uses */
extern warprsa_counters *counters;
extern const warprsa_key_use sign_pkcs1, decrypt, decrypt_tls, decrypt_raw;

/* Deadlines for TEST_WITH(). */
extern const unsigned short_ms, hang_ms, slow_ms;

/* Adds the key to the vault under a name, in the place of all other names. */
void add_key(const char *name);

/* Writes down a line, in fake.log. */
void log_line(void *arg, int level, const char *line);

/* How often a text is there. */
unsigned said(const char *text);

/* Of the whole program, and of each test. */
int set_up(void **state);
int tear_down(void **state);
int begin(void **state);
int end(void **state);

/* Waits for long, and fails then. */
void wait_until(bool (*holds)(const void *arg), const void *arg);

/* Has the i-th task ask for a use. That of add_use() goes with the next one. */
void ask(unsigned i, uint64_t owner, const warprsa_key_use *use);
void add_use(unsigned i, uint64_t owner, const warprsa_key_use *use);

/* Whether a host gets nothing from anybody for a while, or did. */
bool was_paused(unsigned host);

/* For wait_until(), of a task; whether host 1 has no session; and whether so
 * many uses (an unsigned) have moved. */
bool is_done(const void *arg);
bool is_closed(const void *arg);
bool have_moved(const void *arg);

/* The i-th task ends, once, with the right answer. */
void assert_done(unsigned i);

/* Waits until a host has got so many uses in its session; until it has one. */
void expect_uses(unsigned host, unsigned count);
void expect_session(unsigned host);

/* The link's thread gives a response, and ends if something is wrong with it.
 * */
void respond(unsigned number, const warprsa_remote_response *response);
void respond_by(warprsa_link *link, const warprsa_remote_response *response);

/* The host answers its i-th use with this, or, of OK without an output, with
 * what is right. */
void answer(unsigned number, unsigned i, warprsa_remote_status status,
            const uint8_t *output, uint32_t bytes, warprsa_denial denial);
void answer_right(unsigned number, unsigned i);

/* What is right for the i-th use of a host, one that can be checked. */
void compute_right(unsigned number, unsigned i, uint8_t right[BYTES]);
void answer_status(unsigned number, unsigned i, warprsa_remote_status status);

/* The link of a host is lost, or of a session beside the first; whether the
 * next ones fail. */
void lose(unsigned number);
void lose_further(unsigned number, unsigned i);
void set_away(unsigned number, bool away);

#endif
