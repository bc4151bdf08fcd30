/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzer: the messages of the network, of a client and of a server. What is
 * read from the bytes must lie within them; written and read again it must be
 * the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "batching/remote/wire/messages.h"

enum {
    ROOM = WARPRSA_REMOTE_PREFIX + WARPRSA_REMOTE_MESSAGE_MAX,
};

static uint8_t written[ROOM];
static warprsa_remote_request request, request_again;
static warprsa_remote_response response, response_again;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void want(bool condition)
{
    if (!condition)
        abort();
}

/* Each byte of it is looked at, so that a sanitizer sees where it lies. */
static void same_bytes(const uint8_t *a, const uint8_t *b, size_t size)
{
    want(size == 0 || memcmp(a, b, size) == 0);
}

static void compare_requests(void)
{
    const warprsa_remote_request *a = &request, *b = &request_again;

    want(a->kind == b->kind);
    if (a->kind == WARPRSA_REMOTE_OPERATIONS)
        want(a->count == b->count);
    else
        want(a->key == b->key);
    if (a->kind == WARPRSA_REMOTE_LOAD_KEY)
        same_bytes((const uint8_t *)&a->private_key,
                   (const uint8_t *)&b->private_key, sizeof(a->private_key));
    if (a->kind == WARPRSA_REMOTE_LOAD_KEY_BY_SPKI)
        same_bytes(a->spki_sha256, b->spki_sha256, sizeof(a->spki_sha256));
    for (size_t i = 0; a->kind == WARPRSA_REMOTE_OPERATIONS && i < a->count;
         i++) {
        const warprsa_remote_operation *x = &a->operation[i];
        const warprsa_remote_operation *y = &b->operation[i];

        want(x->use != NULL
                 ? x->bytes <= WARPRSA_VAULT_MODULUS_BYTES_MAX &&
                       x->bytes == x->use->input_bytes
                 : x->bytes >= 1 && x->bytes <= WARPRSA_MODULUS_BYTES_MAX);
        want(x->id == y->id && x->key == y->key && x->bytes == y->bytes &&
             (x->use == NULL) == (y->use == NULL));
        same_bytes(x->input, y->input, x->bytes);
        if (x->use == NULL)
            continue;
        same_bytes((const uint8_t *)x->use, (const uint8_t *)y->use,
                   sizeof(*x->use));
        want(x->use->label_bytes <= sizeof(x->use->label));
        (void)warprsa_key_use_fault(x->use, 256);
    }
}

static size_t write_request(void)
{
    switch (request.kind) {
    case WARPRSA_REMOTE_LOAD_KEY:
        return warprsa_remote_write_load_key(written, ROOM, request.key,
                                             &request.private_key);
    case WARPRSA_REMOTE_UNLOAD_KEY:
        return warprsa_remote_write_unload_key(written, ROOM, request.key);
    case WARPRSA_REMOTE_OPERATIONS:
        want(request.count >= 1 && request.count <= WARPRSA_REMOTE_BATCH_MAX);
        return warprsa_remote_write_operations(written, ROOM, request.operation,
                                               request.count);
    case WARPRSA_REMOTE_LOAD_KEY_BY_SPKI:
        return warprsa_remote_write_load_key_by_spki(written, ROOM, request.key,
                                                     request.spki_sha256);
    }
    return 0;
}

static void try_request(const uint8_t *data, size_t size)
{
    size_t again;

    if (warprsa_remote_read_request(data, size, &request) != NULL)
        return;
    want(write_request() > WARPRSA_REMOTE_PREFIX);
    want(warprsa_remote_read_prefix(written, &again));
    want(warprsa_remote_read_request(written + WARPRSA_REMOTE_PREFIX, again,
                                     &request_again) == NULL);
    compare_requests();
}

static size_t write_response(void)
{
    switch (response.kind) {
    case WARPRSA_REMOTE_WELCOME:
        return warprsa_remote_write_welcome(written, ROOM, &response.welcome);
    case WARPRSA_REMOTE_KEY_LOADED:
        return warprsa_remote_write_key_loaded(written, ROOM, response.key,
                                               response.status);
    case WARPRSA_REMOTE_RESULTS:
        want(response.count >= 1 && response.count <= WARPRSA_REMOTE_BATCH_MAX);
        return warprsa_remote_write_results(written, ROOM, response.result,
                                            response.count);
    case WARPRSA_REMOTE_DRAINING:
        return warprsa_remote_write_draining(written, ROOM);
    case WARPRSA_REMOTE_UNKNOWN:
        break;
    }
    return 0;
}

static void try_response(const uint8_t *data, size_t size)
{
    size_t again;

    if (warprsa_remote_read_response(data, size, &response) != NULL ||
        response.kind == WARPRSA_REMOTE_UNKNOWN)
        return;
    want(write_response() > WARPRSA_REMOTE_PREFIX);
    want(warprsa_remote_read_prefix(written, &again));
    want(warprsa_remote_read_response(written + WARPRSA_REMOTE_PREFIX, again,
                                      &response_again) == NULL);
    want(response.kind == response_again.kind);
    if (response.kind != WARPRSA_REMOTE_RESULTS)
        return;
    want(response.count == response_again.count);
    for (size_t i = 0; i < response.count; i++) {
        const warprsa_remote_result *a = &response.result[i];
        const warprsa_remote_result *b = &response_again.result[i];

        want(a->status == b->status && a->id == b->id && a->bytes == b->bytes &&
             a->denial == b->denial);
        want(a->bytes <= WARPRSA_VAULT_MODULUS_BYTES_MAX);
        want((a->denial != WARPRSA_ALLOWED) ==
             (a->status == WARPRSA_REMOTE_DENIED));
        same_bytes(a->output, b->output, a->bytes);
        same_bytes((const uint8_t *)&a->errors, (const uint8_t *)&b->errors,
                   sizeof(a->errors));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy that ends where the message ends. */
    uint8_t *exact = malloc(size + 1);

    if (exact == NULL)
        return 0;
    memcpy(exact + 1, data, size);
    try_request(exact + 1, size);
    try_response(exact + 1, size);
    free(exact);
    return 0;
}
