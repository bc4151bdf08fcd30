/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The messages of warprsa.proto; see messages.h. The numbers of fields are
 * those of that file.
 */
#include "batching/remote/wire/messages.h"

#include <string.h>

#include "batching/remote/wire/protobuf.h"
#include "batching/remote/wire/use_message.h"

typedef warprsa_protobuf_field field;
typedef warprsa_protobuf_reader reader;
typedef warprsa_protobuf_writer writer;

static reader reader_of(const field *message)
{
    return (reader){message->bytes, message->bytes + message->size};
}

/* A number that the text of warprsa.proto calls uint32 or an enum. */
static bool get_u32(const field *f, uint32_t *value)
{
    *value = (uint32_t)f->value;
    return f->is_number && f->value <= UINT32_MAX;
}

/* Copies a number without leading zeros to the end of an array of `size` bytes.
 * False: it is longer. */
static bool get_number(const field *f, uint8_t *to, size_t size)
{
    const uint8_t *from = f->bytes;
    size_t bytes = f->size;

    for (; bytes > 0 && *from == 0; bytes--)
        from++;
    if (bytes > size)
        return false;
    memset(to, 0, size - bytes);
    memcpy(to + size - bytes, from, bytes);
    return true;
}

static bool get_key_field(const field *f, warprsa_private_key *key)
{
    switch (f->number) {
    case 1:
        return get_number(f, key->n, sizeof(key->n));
    case 2:
        return get_number(f, key->e, sizeof(key->e));
    case 3:
        return get_number(f, key->p, sizeof(key->p));
    case 4:
        return get_number(f, key->q, sizeof(key->q));
    case 5:
        return get_number(f, key->dp, sizeof(key->dp));
    case 6:
        return get_number(f, key->dq, sizeof(key->dq));
    case 7:
        return get_number(f, key->qinv, sizeof(key->qinv));
    }
    return true;
}

/* A key with a number too long for any engine becomes a key of zeros, which no
 * engine takes either. */
static const char *read_private_key(reader in, warprsa_private_key *key)
{
    warprsa_protobuf_found found;
    bool fits = true;
    size_t zeros = 0;
    field f;

    memset(key, 0, sizeof(*key));
    while ((found = warprsa_protobuf_next(&in, &f)) == WARPRSA_PROTOBUF_FIELD) {
        if (f.number <= 7 && !f.is_bytes)
            return "a malformed number of a key";
        fits = get_key_field(&f, key) && fits;
    }
    if (found == WARPRSA_PROTOBUF_MALFORMED)
        return "a malformed key";
    if (!fits)
        explicit_bzero(key, sizeof(*key));
    while (zeros < sizeof(key->n) && key->n[zeros] == 0)
        zeros++;
    key->modulus_bytes = (uint32_t)(sizeof(key->n) - zeros);
    return NULL;
}

static const char *read_load_key(reader in, warprsa_remote_request *request)
{
    warprsa_protobuf_found found;
    unsigned sources = 0;
    const char *wrong;
    field f;

    request->key = 0;
    while ((found = warprsa_protobuf_next(&in, &f)) == WARPRSA_PROTOBUF_FIELD) {
        if (f.number == 1 && !get_u32(&f, &request->key))
            return "a malformed number of a key";
        if (f.number == 2) {
            sources++;
            wrong = f.is_bytes
                        ? read_private_key(reader_of(&f), &request->private_key)
                        : "a malformed key";
            if (wrong != NULL)
                return wrong;
        }
        if (f.number == 3) {
            sources++;
            request->kind = WARPRSA_REMOTE_LOAD_KEY_BY_SPKI;
            if (!f.is_bytes || f.size != sizeof(request->spki_sha256))
                return "spki_sha256 must have 32 bytes";
            memcpy(request->spki_sha256, f.bytes, f.size);
        }
    }
    if (found == WARPRSA_PROTOBUF_MALFORMED)
        return "a malformed load_key";
    return sources == 1 ? NULL : "load_key needs one source of the key";
}

/* Reads messages that have only a number and, for KEY_LOADED, a status. */
static const char *read_numbers(reader in, uint32_t *first, uint32_t *second)
{
    warprsa_protobuf_found found;
    field f;

    *first = *second = 0;
    while ((found = warprsa_protobuf_next(&in, &f)) == WARPRSA_PROTOBUF_FIELD)
        if ((f.number == 1 && !get_u32(&f, first)) ||
            (f.number == 2 && !get_u32(&f, second)))
            return "a malformed number";
    return found == WARPRSA_PROTOBUF_END ? NULL : "a malformed message";
}

/* Reads a field of an operation; `use` is for its use. False: malformed. */
static bool get_operation_field(const field *f, warprsa_remote_operation *o,
                                warprsa_key_use *use)
{
    switch (f->number) {
    case 1:
        return get_u32(f, &o->id);
    case 2:
        return get_u32(f, &o->key);
    case 3:
        o->input = f->bytes;
        o->bytes = (uint32_t)f->size;
        return f->is_bytes && f->size <= WARPRSA_VAULT_MODULUS_BYTES_MAX;
    case 5:
        if (o->use != NULL)
            return false;
        o->use = use;
        return f->is_bytes && warprsa_remote_read_use(reader_of(f), use);
    }
    return true;
}

static const char *read_operation(reader in, warprsa_remote_operation *o,
                                  warprsa_key_use *use)
{
    warprsa_protobuf_found found;
    field f;

    memset(o, 0, sizeof(*o));
    while ((found = warprsa_protobuf_next(&in, &f)) == WARPRSA_PROTOBUF_FIELD)
        if (!get_operation_field(&f, o, use))
            return "a malformed operation";
    if (found == WARPRSA_PROTOBUF_MALFORMED ||
        (o->use == NULL && o->bytes > WARPRSA_MODULUS_BYTES_MAX))
        return "a malformed operation";
    if (o->use != NULL)
        use->input_bytes = (uint16_t)o->bytes;
    return o->use != NULL || o->bytes > 0 ? NULL
                                          : "an operation without an input";
}

static const char *read_operations(reader in, warprsa_remote_request *request)
{
    warprsa_protobuf_found found;
    field f;

    request->count = 0;
    while ((found = warprsa_protobuf_next(&in, &f)) == WARPRSA_PROTOBUF_FIELD) {
        const size_t i = request->count;
        const char *wrong;

        if (f.number != 1)
            continue;
        if (i == WARPRSA_REMOTE_BATCH_MAX)
            return "more than 256 operations in a message";
        wrong = f.is_bytes
                    ? read_operation(reader_of(&f), &request->operation[i],
                                     &request->use[i])
                    : "a malformed operation";
        if (wrong != NULL)
            return wrong;
        request->count++;
    }
    if (found == WARPRSA_PROTOBUF_MALFORMED)
        return "malformed operations";
    return request->count > 0 ? NULL : "no operation in a message";
}

static const char *read_request_kind(const field *f,
                                     warprsa_remote_request *request)
{
    uint32_t unused;

    if (!f->is_bytes)
        return "a malformed request";
    switch (f->number) {
    case 1:
        request->kind = WARPRSA_REMOTE_LOAD_KEY;
        return read_load_key(reader_of(f), request);
    case 2:
        request->kind = WARPRSA_REMOTE_UNLOAD_KEY;
        return read_numbers(reader_of(f), &request->key, &unused);
    default:
        request->kind = WARPRSA_REMOTE_OPERATIONS;
        return read_operations(reader_of(f), request);
    }
}

const char *warprsa_remote_read_request(const uint8_t *bytes, size_t size,
                                        warprsa_remote_request *request)
{
    reader in = {bytes, bytes + size};
    warprsa_protobuf_found found;
    unsigned kinds = 0;
    field f;

    while ((found = warprsa_protobuf_next(&in, &f)) == WARPRSA_PROTOBUF_FIELD) {
        const char *wrong = NULL;

        if (f.number > 3)
            continue;
        if (++kinds == 1)
            wrong = read_request_kind(&f, request);
        if (wrong != NULL)
            return wrong;
    }
    if (found == WARPRSA_PROTOBUF_MALFORMED)
        return "a malformed request";
    return kinds == 1 ? NULL : "a request must be of one known kind";
}

static const char *read_welcome(reader in, warprsa_remote_welcome *w)
{
    uint32_t *const numbers[] = {&w->keys_max, &w->operations_max,
                                 &w->batch_max, &w->rate_max, &w->deadline_ms};
    warprsa_protobuf_found found;
    field f;

    memset(w, 0, sizeof(*w));
    while ((found = warprsa_protobuf_next(&in, &f)) == WARPRSA_PROTOBUF_FIELD)
        if (f.number <= 5 && !get_u32(&f, numbers[f.number - 1]))
            return "a malformed welcome";
    return found == WARPRSA_PROTOBUF_END ? NULL : "a malformed welcome";
}

/* An unknown status of a newer server counts as a failure. */
static warprsa_remote_status status_of(uint32_t number)
{
    return number < WARPRSA_REMOTE_STATUSES ? (warprsa_remote_status)number
                                            : WARPRSA_REMOTE_FAILED;
}

/* The numbers of a result that are not as they are in the end. */
typedef struct result_numbers {
    uint32_t status, denial;
    unsigned errors;
} result_numbers;

static bool add_error(uint64_t code, warprsa_remote_result *r,
                      result_numbers *numbers)
{
    if (code == 0 || code > UINT32_MAX ||
        numbers->errors == WARPRSA_USE_ERRORS_MAX)
        return false;
    r->errors.codes[numbers->errors++] = (uint32_t)code;
    return true;
}

/* Reads error codes, packed or one that is a field of its own: proto3 has both.
 * False: malformed, or too many. */
static bool get_errors(const field *f, warprsa_remote_result *r,
                       result_numbers *numbers)
{
    reader packed;
    uint64_t code;

    if (!f->is_bytes)
        return f->is_number && add_error(f->value, r, numbers);
    packed = reader_of(f);
    while (packed.at < packed.end)
        if (!warprsa_protobuf_next_number(&packed, &code) ||
            !add_error(code, r, numbers))
            return false;
    return true;
}

static bool get_result_field(const field *f, warprsa_remote_result *r,
                             result_numbers *numbers)
{
    switch (f->number) {
    case 1:
        return get_u32(f, &r->id);
    case 2:
        return get_u32(f, &numbers->status);
    case 3:
        r->output = f->bytes;
        r->bytes = (uint32_t)f->size;
        return f->is_bytes && f->size <= WARPRSA_VAULT_MODULUS_BYTES_MAX;
    case 4:
        return get_u32(f, &numbers->denial);
    case 5:
        return get_errors(f, r, numbers);
    }
    return true;
}

/* Leaves out what does not belong to the status. */
static void settle_result(warprsa_remote_result *r, const result_numbers *n)
{
    r->status = status_of(n->status);
    if (r->status != WARPRSA_REMOTE_OK) {
        r->bytes = 0;
        r->output = NULL;
    }
    if (r->status == WARPRSA_REMOTE_DENIED)
        r->denial = n->denial > WARPRSA_ALLOWED && n->denial < WARPRSA_DENIALS
                        ? (warprsa_denial)n->denial
                        : WARPRSA_DENIALS;
    if (r->status != WARPRSA_REMOTE_INVALID)
        memset(&r->errors, 0, sizeof(r->errors));
}

static const char *read_result(reader in, warprsa_remote_result *r)
{
    result_numbers numbers = {0};
    warprsa_protobuf_found found;
    field f;

    memset(r, 0, sizeof(*r));
    while ((found = warprsa_protobuf_next(&in, &f)) == WARPRSA_PROTOBUF_FIELD)
        if (!get_result_field(&f, r, &numbers))
            return "a malformed result";
    settle_result(r, &numbers);
    return found == WARPRSA_PROTOBUF_END ? NULL : "a malformed result";
}

static const char *read_results(reader in, warprsa_remote_response *response)
{
    warprsa_protobuf_found found;
    field f;

    response->count = 0;
    while ((found = warprsa_protobuf_next(&in, &f)) == WARPRSA_PROTOBUF_FIELD) {
        const char *wrong;

        if (f.number != 1)
            continue;
        if (response->count == WARPRSA_REMOTE_BATCH_MAX)
            return "more than 256 results in a message";
        wrong = f.is_bytes ? read_result(reader_of(&f),
                                         &response->result[response->count])
                           : "a malformed result";
        if (wrong != NULL)
            return wrong;
        response->count++;
    }
    if (found == WARPRSA_PROTOBUF_MALFORMED)
        return "malformed results";
    return response->count > 0 ? NULL : "no result in a message";
}

static const char *read_response_kind(const field *f,
                                      warprsa_remote_response *response)
{
    const char *wrong;
    uint32_t status;

    if (!f->is_bytes)
        return "a malformed response";
    switch (f->number) {
    case 1:
        response->kind = WARPRSA_REMOTE_WELCOME;
        return read_welcome(reader_of(f), &response->welcome);
    case 2:
        response->kind = WARPRSA_REMOTE_KEY_LOADED;
        wrong = read_numbers(reader_of(f), &response->key, &status);
        response->status = status_of(status);
        return wrong;
    case 3:
        response->kind = WARPRSA_REMOTE_RESULTS;
        return read_results(reader_of(f), response);
    default:
        response->kind = WARPRSA_REMOTE_DRAINING;
        return NULL;
    }
}

const char *warprsa_remote_read_response(const uint8_t *bytes, size_t size,
                                         warprsa_remote_response *response)
{
    reader in = {bytes, bytes + size};
    warprsa_protobuf_found found;
    unsigned kinds = 0;
    field f;

    response->kind = WARPRSA_REMOTE_UNKNOWN;
    while ((found = warprsa_protobuf_next(&in, &f)) == WARPRSA_PROTOBUF_FIELD) {
        const char *wrong = NULL;

        if (f.number > 4)
            continue;
        if (++kinds == 1)
            wrong = read_response_kind(&f, response);
        if (wrong != NULL)
            return wrong;
    }
    if (found == WARPRSA_PROTOBUF_MALFORMED)
        return "a malformed response";
    return kinds <= 1 ? NULL : "a response of several kinds";
}

bool warprsa_remote_read_prefix(const uint8_t prefix[WARPRSA_REMOTE_PREFIX],
                                size_t *size)
{
    *size = (size_t)prefix[1] << 24 | (size_t)prefix[2] << 16 |
            (size_t)prefix[3] << 8 | prefix[4];
    return prefix[0] == 0 && *size <= WARPRSA_REMOTE_MESSAGE_MAX;
}

/* Begins a message of `size` bytes. */
static writer begin(uint8_t *to, size_t room, size_t size)
{
    writer w = {to, to + room,
                size > WARPRSA_REMOTE_MESSAGE_MAX ||
                    room < WARPRSA_REMOTE_PREFIX + size};

    if (w.overrun)
        return w;
    *w.at++ = 0;
    for (int shift = 24; shift >= 0; shift -= 8)
        *w.at++ = (uint8_t)(size >> shift);
    return w;
}

/* How much was written from `to` on; 0: there was not enough room. */
static size_t end(const writer *w, const uint8_t *to)
{
    return w->overrun ? 0 : (size_t)(w->at - to);
}

/* A message with one field, itself a message of `size` bytes that follow. */
static writer begin_kind(uint8_t *to, size_t room, uint32_t kind, size_t size)
{
    writer w = begin(to, room, warprsa_protobuf_bytes_size(kind, size));

    warprsa_protobuf_put_head(&w, kind, size);
    return w;
}

/* A number of a key without the zeros in front. */
typedef struct key_number {
    const uint8_t *bytes;
    size_t size;
} key_number;

static key_number trimmed(const uint8_t *bytes, size_t size)
{
    for (; size > 0 && *bytes == 0; size--)
        bytes++;
    return (key_number){bytes, size};
}

size_t warprsa_remote_write_load_key(uint8_t *to, size_t room, uint32_t key,
                                     const warprsa_private_key *k)
{
    const key_number numbers[] = {
        trimmed(k->n, sizeof(k->n)),       trimmed(k->e, sizeof(k->e)),
        trimmed(k->p, sizeof(k->p)),       trimmed(k->q, sizeof(k->q)),
        trimmed(k->dp, sizeof(k->dp)),     trimmed(k->dq, sizeof(k->dq)),
        trimmed(k->qinv, sizeof(k->qinv)),
    };
    const uint32_t count = sizeof(numbers) / sizeof(numbers[0]);
    size_t size = 0;
    writer w;

    for (uint32_t i = 0; i < count; i++)
        size += warprsa_protobuf_bytes_size(i + 1, numbers[i].size);
    w = begin_kind(to, room, 1,
                   warprsa_protobuf_number_size(1, key) +
                       warprsa_protobuf_bytes_size(2, size));
    warprsa_protobuf_put_number(&w, 1, key);
    warprsa_protobuf_put_head(&w, 2, size);
    for (uint32_t i = 0; i < count; i++)
        warprsa_protobuf_put_bytes(&w, i + 1, numbers[i].bytes,
                                   numbers[i].size);
    return end(&w, to);
}

size_t warprsa_remote_write_load_key_by_spki(
    uint8_t *to, size_t room, uint32_t key,
    const uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES])
{
    writer w =
        begin_kind(to, room, 1,
                   warprsa_protobuf_number_size(1, key) +
                       warprsa_protobuf_bytes_size(3, WARPRSA_KEY_SPKI_BYTES));

    warprsa_protobuf_put_number(&w, 1, key);
    warprsa_protobuf_put_bytes(&w, 3, spki_sha256, WARPRSA_KEY_SPKI_BYTES);
    return end(&w, to);
}

size_t warprsa_remote_write_unload_key(uint8_t *to, size_t room, uint32_t key)
{
    writer w = begin_kind(to, room, 2, warprsa_protobuf_number_size(1, key));

    warprsa_protobuf_put_number(&w, 1, key);
    return end(&w, to);
}

static size_t operation_size(const warprsa_remote_operation *o)
{
    return warprsa_protobuf_number_size(1, o->id) +
           warprsa_protobuf_number_size(2, o->key) +
           warprsa_protobuf_bytes_size(3, o->bytes) +
           (o->use != NULL ? warprsa_protobuf_bytes_size(
                                 5, warprsa_remote_use_size(o->use))
                           : 0);
}

size_t warprsa_remote_write_operations(uint8_t *to, size_t room,
                                       const warprsa_remote_operation *o,
                                       size_t count)
{
    size_t size = 0;
    writer w;

    for (size_t i = 0; i < count; i++)
        size += warprsa_protobuf_bytes_size(1, operation_size(&o[i]));
    w = begin_kind(to, room, 3, size);
    for (size_t i = 0; i < count; i++) {
        warprsa_protobuf_put_head(&w, 1, operation_size(&o[i]));
        warprsa_protobuf_put_number(&w, 1, o[i].id);
        warprsa_protobuf_put_number(&w, 2, o[i].key);
        warprsa_protobuf_put_bytes(&w, 3, o[i].input, o[i].bytes);
        if (o[i].use == NULL)
            continue;
        warprsa_protobuf_put_head(&w, 5, warprsa_remote_use_size(o[i].use));
        warprsa_remote_put_use(&w, o[i].use);
    }
    return end(&w, to);
}

size_t warprsa_remote_write_welcome(uint8_t *to, size_t room,
                                    const warprsa_remote_welcome *welcome)
{
    const uint32_t numbers[] = {welcome->keys_max, welcome->operations_max,
                                welcome->batch_max, welcome->rate_max,
                                welcome->deadline_ms};
    size_t size = 0;
    writer w;

    for (uint32_t i = 0; i < 5; i++)
        size += warprsa_protobuf_number_size(i + 1, numbers[i]);
    w = begin_kind(to, room, 1, size);
    for (uint32_t i = 0; i < 5; i++)
        warprsa_protobuf_put_number(&w, i + 1, numbers[i]);
    return end(&w, to);
}

size_t warprsa_remote_write_key_loaded(uint8_t *to, size_t room, uint32_t key,
                                       warprsa_remote_status status)
{
    writer w = begin_kind(to, room, 2,
                          warprsa_protobuf_number_size(1, key) +
                              warprsa_protobuf_number_size(2, status));

    warprsa_protobuf_put_number(&w, 1, key);
    warprsa_protobuf_put_number(&w, 2, status);
    return end(&w, to);
}

static size_t result_size(const warprsa_remote_result *r)
{
    size_t size = warprsa_protobuf_number_size(1, r->id) +
                  warprsa_protobuf_number_size(2, r->status) +
                  warprsa_protobuf_number_size(4, r->denial);

    if (r->bytes > 0)
        size += warprsa_protobuf_bytes_size(3, r->bytes);
    for (unsigned i = 0; i < WARPRSA_USE_ERRORS_MAX; i++)
        size += warprsa_protobuf_number_size(5, r->errors.codes[i]);
    return size;
}

static void put_result(writer *w, const warprsa_remote_result *r)
{
    warprsa_protobuf_put_head(w, 1, result_size(r));
    warprsa_protobuf_put_number(w, 1, r->id);
    warprsa_protobuf_put_number(w, 2, r->status);
    if (r->bytes > 0)
        warprsa_protobuf_put_bytes(w, 3, r->output, r->bytes);
    warprsa_protobuf_put_number(w, 4, r->denial);
    for (unsigned i = 0; i < WARPRSA_USE_ERRORS_MAX; i++)
        warprsa_protobuf_put_number(w, 5, r->errors.codes[i]);
}

size_t warprsa_remote_write_results(uint8_t *to, size_t room,
                                    const warprsa_remote_result *r,
                                    size_t count)
{
    size_t size = 0;
    writer w;

    for (size_t i = 0; i < count; i++)
        size += warprsa_protobuf_bytes_size(1, result_size(&r[i]));
    w = begin_kind(to, room, 3, size);
    for (size_t i = 0; i < count; i++)
        put_result(&w, &r[i]);
    return end(&w, to);
}

size_t warprsa_remote_write_draining(uint8_t *to, size_t room)
{
    writer w = begin_kind(to, room, 4, 0);

    return end(&w, to);
}
