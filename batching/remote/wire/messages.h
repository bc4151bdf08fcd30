/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The messages of warprsa.proto, as both sides of the network use them. A
 * message is read in place: numbers and addresses in it point into its bytes.
 * This file checks a message by itself. The reader checks whether a key is
 * there and an input is below its modulus.
 */
#ifndef WARPRSA_BATCHING_REMOTE_WIRE_MESSAGES_H
#define WARPRSA_BATCHING_REMOTE_WIRE_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batching/vault/wire/denial.h"
#include "batching/vault/wire/key_name.h"
#include "batching/vault/wire/key_use.h"
#include "gpu/engine.h"

enum {
    WARPRSA_REMOTE_BATCH_MAX = 256, /* operations or results in one message */
    /* What a result has beside its output: two heads of at most 4 bytes, a
     * number, a status, a denial and four errors of at most 6 each. An
     * operation without a use has less beside its input. */
    WARPRSA_REMOTE_RESULT_REST_MAX = 64,
    /* An operation without a use, or its result. */
    WARPRSA_REMOTE_OPERATION_MAX =
        WARPRSA_MODULUS_BYTES_MAX + WARPRSA_REMOTE_RESULT_REST_MAX,
    /* An operation with a use: a number, a label, three heads of at most 4
     * bytes, and nine numbers of at most 6 each. Its result has less. */
    WARPRSA_REMOTE_USE_MAX =
        WARPRSA_VAULT_MODULUS_BYTES_MAX + WARPRSA_USE_LABEL_BYTES_MAX + 80,
    /* gRPC's flag and length, which precede each message. */
    WARPRSA_REMOTE_PREFIX = 5,
    /* No longer message is written or read: 256 operations with uses. */
    WARPRSA_REMOTE_MESSAGE_MAX =
        WARPRSA_REMOTE_BATCH_MAX * WARPRSA_REMOTE_USE_MAX + 64,
};

/* The calls of warprsa.proto. */
#define WARPRSA_REMOTE_OPERATE_PATH "/warprsa.v1.PrivateOperations/Operate"
#define WARPRSA_REMOTE_OPERATE_FURTHER_PATH                                    \
    "/warprsa.v1.PrivateOperations/OperateFurther"

/* As in warprsa.proto. */
typedef enum warprsa_remote_status {
    WARPRSA_REMOTE_OK,
    WARPRSA_REMOTE_INVALID,
    WARPRSA_REMOTE_UNSUPPORTED,
    WARPRSA_REMOTE_THROTTLED,
    WARPRSA_REMOTE_DEADLINE,
    WARPRSA_REMOTE_UNAVAILABLE,
    WARPRSA_REMOTE_FAILED,
    WARPRSA_REMOTE_DENIED,
    WARPRSA_REMOTE_STATUSES,
} warprsa_remote_status;

typedef struct warprsa_remote_operation {
    uint32_t id, key;
    /* Of the input. Without a use 1..WARPRSA_MODULUS_BYTES_MAX; with one
     * 0..WARPRSA_VAULT_MODULUS_BYTES_MAX. */
    uint32_t bytes;
    const uint8_t *input;
    /* NULL: the key is one that the client has brought. A reader finds `bytes`
     * in its input_bytes; nothing else of it has been checked. A writer's label
     * is within its bound. */
    const warprsa_key_use *use;
} warprsa_remote_operation;

/* SECRET: an output may be a decrypted text. */
typedef struct warprsa_remote_result {
    uint32_t id;
    warprsa_remote_status status;
    /* Of the output: 0..WARPRSA_VAULT_MODULUS_BYTES_MAX, and 0 unless the
     * status is OK. Whoever knows the operation checks the length. */
    uint32_t bytes;
    const uint8_t *output;
    /* 0 unless the status is DENIED. WARPRSA_DENIALS: for a reason that this
     * version does not know. */
    warprsa_denial denial;
    warprsa_use_errors errors; /* zeros unless the status is INVALID */
} warprsa_remote_result;

typedef struct warprsa_remote_welcome {
    uint32_t keys_max, operations_max, batch_max, rate_max, deadline_ms;
} warprsa_remote_welcome;

/* SECRET where it brings a key: its reader wipes it. The operations point into
 * the array of uses, so it is not copied; it is too large for a stack. */
typedef struct warprsa_remote_request {
    enum warprsa_remote_request_kind {
        WARPRSA_REMOTE_LOAD_KEY,
        WARPRSA_REMOTE_LOAD_KEY_BY_SPKI,
        WARPRSA_REMOTE_UNLOAD_KEY,
        WARPRSA_REMOTE_OPERATIONS,
    } kind;
    uint32_t key;                    /* of the first three kinds */
    warprsa_private_key private_key; /* LOAD_KEY; anything, maybe zeros */
    uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES]; /* LOAD_KEY_BY_SPKI */
    size_t count;                                /* OPERATIONS: 1..BATCH_MAX */
    warprsa_remote_operation operation[WARPRSA_REMOTE_BATCH_MAX];
    warprsa_key_use use[WARPRSA_REMOTE_BATCH_MAX];
} warprsa_remote_request;

typedef struct warprsa_remote_response {
    enum warprsa_remote_response_kind {
        WARPRSA_REMOTE_WELCOME,
        WARPRSA_REMOTE_KEY_LOADED,
        WARPRSA_REMOTE_RESULTS,
        WARPRSA_REMOTE_DRAINING,
        WARPRSA_REMOTE_UNKNOWN, /* of a newer server: to be left alone */
    } kind;
    warprsa_remote_welcome welcome;
    uint32_t key; /* KEY_LOADED, and its status */
    warprsa_remote_status status;
    size_t count; /* RESULTS: 1..BATCH_MAX */
    warprsa_remote_result result[WARPRSA_REMOTE_BATCH_MAX];
} warprsa_remote_response;

/* Reads a message of `size` bytes, without its prefix. NULL, or what is wrong
 * with it, in a few words. Any thread. */
const char *warprsa_remote_read_request(const uint8_t *bytes, size_t size,
                                        warprsa_remote_request *request);
const char *warprsa_remote_read_response(const uint8_t *bytes, size_t size,
                                         warprsa_remote_response *response);

/* The length in a prefix. False: the message is compressed, which was not
 * agreed on, or longer than any message. */
bool warprsa_remote_read_prefix(const uint8_t prefix[WARPRSA_REMOTE_PREFIX],
                                size_t *size);

/*
 * Write a message with its prefix into `to`, which has `room` bytes. They
 * return how many were written, or 0 if there is not enough room or the message
 * is longer than MESSAGE_MAX; one whose parts keep to their limits always fits
 * into PREFIX + MESSAGE_MAX bytes. `count` is 1..BATCH_MAX. Any thread.
 */
size_t warprsa_remote_write_load_key(uint8_t *to, size_t room, uint32_t key,
                                     const warprsa_private_key *private_key);
size_t warprsa_remote_write_load_key_by_spki(
    uint8_t *to, size_t room, uint32_t key,
    const uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES]);
size_t warprsa_remote_write_unload_key(uint8_t *to, size_t room, uint32_t key);
size_t
warprsa_remote_write_operations(uint8_t *to, size_t room,
                                const warprsa_remote_operation *operations,
                                size_t count);
size_t warprsa_remote_write_welcome(uint8_t *to, size_t room,
                                    const warprsa_remote_welcome *welcome);
size_t warprsa_remote_write_key_loaded(uint8_t *to, size_t room, uint32_t key,
                                       warprsa_remote_status status);
size_t warprsa_remote_write_results(uint8_t *to, size_t room,
                                    const warprsa_remote_result *results,
                                    size_t count);
size_t warprsa_remote_write_draining(uint8_t *to, size_t room);

#endif
