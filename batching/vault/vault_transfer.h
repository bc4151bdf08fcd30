/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys and rules on their way from the process that reads the files to the one
 * that computes with them: records over a socket that carries them in this
 * direction alone. The serving process can ask for nothing, and has no other
 * way to the files.
 *
 * A reading is a BEGIN, records in any order, and an END, which makes the vault
 * take it. A sender that dies before its END has changed nothing, and the next
 * BEGIN starts over. A vault that has taken no reading yet takes keys before
 * that, since programs wait for them: at a SO_FAR, those that stand before it,
 * by the rules that do. The receiver believes no length and no number.
 */
#ifndef WARPRSA_BATCHING_VAULT_VAULT_TRANSFER_H
#define WARPRSA_BATCHING_VAULT_VAULT_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "batching/vault/key_numbers.h"
#include "batching/vault/key_rules.h"
#include "batching/vault/vault_reading.h"

enum {
    WARPRSA_VAULT_PIECE_BYTES = 8192,
    WARPRSA_VAULT_CERTIFICATE_BYTES_MAX = 65536,
};

typedef enum warprsa_vault_record_kind {
    WARPRSA_RECORD_BEGIN = 1,
    WARPRSA_RECORD_KEY, /* name and numbers */
    WARPRSA_RECORD_REMOTE_KEY,
    /* A piece of the certificates of the key before; all of them have `total`
     * bytes, and the pieces come in order. */
    WARPRSA_RECORD_CERTIFICATES,
    WARPRSA_RECORD_REFUSED_KEY, /* name and why */
    WARPRSA_RECORD_REFUSED_CERTIFICATES,
    WARPRSA_RECORD_RULE,
    WARPRSA_RECORD_NO_KEYS,  /* why: the vault keeps its keys */
    WARPRSA_RECORD_NO_RULES, /* why: the vault keeps its rules */
    WARPRSA_RECORD_END,
    WARPRSA_RECORD_SO_FAR, /* the key before is whole */
} warprsa_vault_record_kind;

typedef struct warprsa_vault_piece {
    uint32_t total, bytes;
    char pem[WARPRSA_VAULT_PIECE_BYTES];
} warprsa_vault_piece;

/* SECRET. Only the part that the kind needs is sent. */
typedef struct warprsa_vault_record {
    uint32_t kind;                           /* warprsa_vault_record_kind */
    char name[WARPRSA_VAULT_FILE_NAME_SIZE]; /* of a key, or one refused */
    union {
        warprsa_key_numbers numbers;
        warprsa_remote_key remote;
        warprsa_vault_piece piece;
        warprsa_key_rule rule;
        char why[WARPRSA_VAULT_WHY_SIZE];
    };
} warprsa_vault_record;

/* Makes the two ends: what is sent at ends[1] is received at ends[0]. False:
 * see errno. */
bool warprsa_vault_transfer_open(int ends[2]);

/* Sends a record, and waits until there is room for it. False: nobody receives
 * any more. Any thread, one at a time for a socket. */
bool warprsa_vault_transfer_send(int socket,
                                 const warprsa_vault_record *record);

typedef enum warprsa_vault_received {
    WARPRSA_VAULT_NOTHING_YET,
    WARPRSA_VAULT_REPLACED, /* the vault has taken a reading */
    WARPRSA_VAULT_CLOSED,   /* nobody sends any more */
    /* A record of no such form. The reading that it was in is dropped; others
     * may follow. */
    WARPRSA_VAULT_MALFORMED,
} warprsa_vault_received;

typedef struct warprsa_vault_receiver {
    int socket; /* stays the caller's */
    warprsa_vault *vault;
    warprsa_vault_record *record;
    bool begun;
    bool is_whole; /* the last record was a SO_FAR */
    warprsa_vault_reading reading;
    char *certificates; /* so far */
    uint32_t certificate_bytes;
} warprsa_vault_receiver;

/* False: no memory. */
bool warprsa_vault_receiver_init(warprsa_vault_receiver *receiver, int socket,
                                 warprsa_vault *vault);
void warprsa_vault_receiver_free(warprsa_vault_receiver *receiver);

/* Takes what the socket has, up to one reading, without waiting: to be called
 * whenever it is readable, until there is nothing yet. One thread. */
warprsa_vault_received warprsa_vault_receive(warprsa_vault_receiver *receiver);

#endif
