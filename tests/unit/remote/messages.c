/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The messages of warprsa.proto: what is written is read back, the bytes are
 * those of Protocol Buffers, and of what an ill-meaning peer sends nothing is
 * read beyond its end.
 */
#include "tests/unit/support/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "batching/remote/wire/messages.h"
#include "batching/remote/wire/protobuf.h"

enum {
    ROOM = WARPRSA_REMOTE_PREFIX + WARPRSA_REMOTE_MESSAGE_MAX,
};

static uint8_t buffer[2 * ROOM];
static warprsa_remote_request request;
static warprsa_remote_response response;

/* Reads a message with its prefix, from memory that ends where it ends. */
static const char *read_written(size_t size, bool is_request)
{
    uint8_t *exact = malloc(size);
    const char *wrong;
    size_t inner;

    assert_non_null(exact);
    memcpy(exact, buffer, size);
    assert_true(warprsa_remote_read_prefix(exact, &inner));
    assert_int_equal(inner, size - WARPRSA_REMOTE_PREFIX);
    wrong = is_request
                ? warprsa_remote_read_request(exact + WARPRSA_REMOTE_PREFIX,
                                              inner, &request)
                : warprsa_remote_read_response(exact + WARPRSA_REMOTE_PREFIX,
                                               inner, &response);
    free(exact);
    return wrong;
}

/* Each shorter room is too little, and not a byte beyond it is written. */
static void assert_needs(size_t size, size_t (*write)(uint8_t *, size_t))
{
    for (size_t room = 0; room < size; room++) {
        memset(buffer, 0xa5, size + 1);
        assert_int_equal(write(buffer, room), 0);
        assert_int_equal(buffer[room], 0xa5);
    }
}

static warprsa_private_key made_up_key(void)
{
    warprsa_private_key key;
    uint8_t *bytes = (uint8_t *)&key;

    for (size_t i = 0; i < sizeof(key); i++)
        bytes[i] = (uint8_t)(i * 7 + 1);
    memset(key.n, 0, sizeof(key.n) - 256);
    key.n[sizeof(key.n) - 256] = 0x80;
    key.modulus_bytes = 256;
    memset(key.dp, 0, sizeof(key.dp));
    return key;
}

static size_t write_key(uint8_t *to, size_t room)
{
    warprsa_private_key key = made_up_key();

    return warprsa_remote_write_load_key(to, room, 300, &key);
}

TEST(test_key)
{
    warprsa_private_key key = made_up_key();
    size_t size = write_key(buffer, sizeof(buffer));

    assert_true(size > 0);
    assert_null(read_written(size, true));
    assert_int_equal(request.kind, WARPRSA_REMOTE_LOAD_KEY);
    assert_int_equal(request.key, 300);
    assert_memory_equal(&request.private_key, &key, sizeof(key));
    assert_needs(size, write_key);

    size = warprsa_remote_write_unload_key(buffer, sizeof(buffer), 0);
    assert_null(read_written(size, true));
    assert_int_equal(request.kind, WARPRSA_REMOTE_UNLOAD_KEY);
    assert_int_equal(request.key, 0);
}

static size_t write_key_by_spki(uint8_t *to, size_t room)
{
    const uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES] = {1, [31] = 2};

    return warprsa_remote_write_load_key_by_spki(to, room, 300, spki_sha256);
}

TEST(test_key_by_spki)
{
    size_t size = write_key_by_spki(buffer, sizeof(buffer));

    assert_null(read_written(size, true));
    assert_int_equal(request.kind, WARPRSA_REMOTE_LOAD_KEY_BY_SPKI);
    assert_int_equal(request.key, 300);
    assert_int_equal(request.spki_sha256[0], 1);
    assert_int_equal(request.spki_sha256[31], 2);
    assert_needs(size, write_key_by_spki);
}

static size_t write_operations(uint8_t *to, size_t room)
{
    static uint8_t input[WARPRSA_MODULUS_BYTES_MAX] = {1, 2, 3};
    warprsa_remote_operation o[3] = {
        {.id = 0, .key = 0, .bytes = 1, .input = input},
        {.id = 1, .key = 2, .bytes = 3, .input = input},
        {.id = UINT32_MAX, .key = UINT32_MAX, .bytes = 1024, .input = input},
    };

    return warprsa_remote_write_operations(to, room, o, 3);
}

TEST(test_operations)
{
    size_t size = write_operations(buffer, sizeof(buffer));

    assert_null(read_written(size, true));
    assert_int_equal(request.kind, WARPRSA_REMOTE_OPERATIONS);
    assert_int_equal(request.count, 3);
    assert_int_equal(request.operation[0].bytes, 1);
    assert_int_equal(request.operation[1].key, 2);
    assert_int_equal(request.operation[2].id, UINT32_MAX);
    assert_int_equal(request.operation[2].bytes, 1024);
    assert_needs(size, write_operations);
}

/* A use whose message has as many bytes as one can have. No real use needs all
 * of it. */
static warprsa_key_use largest_use(void)
{
    warprsa_key_use use;

    memset(&use, 0xff, sizeof(use));
    use.salt_bytes = INT32_MIN;
    use.input_bytes = WARPRSA_VAULT_MODULUS_BYTES_MAX;
    use.label_bytes = WARPRSA_USE_LABEL_BYTES_MAX;
    return use;
}

static const warprsa_key_use pss = {.operation = WARPRSA_USE_SIGN,
                                    .padding = WARPRSA_PADDING_PSS,
                                    .digest = WARPRSA_DIGEST_SHA256,
                                    .mgf1_digest = WARPRSA_DIGEST_SHA1,
                                    .salt_bytes = WARPRSA_SALT_DIGEST,
                                    .input_bytes = 32};
static const warprsa_key_use tls = {.operation = WARPRSA_USE_DECRYPT,
                                    .padding = WARPRSA_PADDING_TLS,
                                    .input_bytes = 256,
                                    .tls_client_version = 0x0303,
                                    .tls_alternative_version = 0x0301};

/* The last one has neither an input nor a field of a use. */
static size_t write_uses(uint8_t *to, size_t room)
{
    static const uint8_t number[WARPRSA_VAULT_MODULUS_BYTES_MAX] = {1, 2, 3};
    static const warprsa_key_use nothing;
    const warprsa_key_use largest = largest_use();
    const warprsa_remote_operation o[] = {
        {.id = 7, .key = 1, .bytes = 32, .input = number, .use = &pss},
        {.id = 8, .key = 2, .bytes = 256, .input = number, .use = &tls},
        {.bytes = sizeof(number), .input = number, .use = &largest},
        {.id = 9, .bytes = 256, .input = number},
        {.id = 10, .use = &nothing},
    };

    return warprsa_remote_write_operations(to, room, o,
                                           sizeof(o) / sizeof(o[0]));
}

TEST(test_uses)
{
    const warprsa_key_use largest = largest_use();
    const warprsa_key_use nothing = {0};
    size_t size = write_uses(buffer, sizeof(buffer));

    assert_null(read_written(size, true));
    assert_int_equal(request.count, 5);
    assert_int_equal(request.operation[0].id, 7);
    assert_memory_equal(request.operation[0].use, &pss, sizeof(pss));
    assert_null(warprsa_key_use_fault(request.operation[0].use, 256));
    assert_memory_equal(request.operation[1].use, &tls, sizeof(tls));
    assert_null(warprsa_key_use_fault(request.operation[1].use, 256));
    assert_memory_equal(request.operation[2].use, &largest, sizeof(largest));
    assert_int_equal(request.operation[2].bytes,
                     WARPRSA_VAULT_MODULUS_BYTES_MAX);
    assert_null(request.operation[3].use);
    assert_memory_equal(request.operation[4].use, &nothing, sizeof(nothing));
    assert_int_equal(request.operation[4].bytes, 0);
    assert_needs(size, write_uses);
}

/* Reads an operation whose use has these bytes. */
static const char *read_use(const char *bytes, size_t size)
{
    const size_t operation = warprsa_protobuf_bytes_size(5, size);
    warprsa_protobuf_writer w = {buffer, buffer + sizeof(buffer), false};

    warprsa_protobuf_put_head(&w, 3, warprsa_protobuf_bytes_size(1, operation));
    warprsa_protobuf_put_head(&w, 1, operation);
    warprsa_protobuf_put_bytes(&w, 5, (const uint8_t *)bytes, size);
    assert_false(w.overrun);
    return warprsa_remote_read_request(buffer, (size_t)(w.at - buffer),
                                       &request);
}

#define READ_USE(bytes) read_use(bytes, sizeof(bytes) - 1)

/* A value that fits into no use makes one that has a fault, and does not become
 * another value. The control fits. */
TEST(test_values_of_no_use)
{
    static const warprsa_key_use nothing;
    char label[3 + WARPRSA_USE_LABEL_BYTES_MAX + 1] = "\x32\x80\x02";

    assert_null(READ_USE("\x08\x02\x28\x07\x38\xff\xff\x03"));
    assert_int_equal(request.use[0].operation, WARPRSA_USE_DECRYPT);
    assert_int_equal(request.use[0].salt_bytes, -4);
    assert_int_equal(request.use[0].tls_client_version, 0xffff);
    assert_null(READ_USE("\x08\x81\x02")); /* 257: not SIGN */
    assert_memory_equal(&request.use[0], &nothing, sizeof(nothing));
    assert_null(READ_USE("\x08\x01\x10\x82\x80\x80\x80\x10"));
    assert_memory_equal(&request.use[0], &nothing, sizeof(nothing));
    assert_null(READ_USE("\x08\x01\x18\x80\x02"));
    assert_memory_equal(&request.use[0], &nothing, sizeof(nothing));
    assert_null(READ_USE("\x08\x01\x20\x80\x02"));
    assert_memory_equal(&request.use[0], &nothing, sizeof(nothing));
    assert_null(READ_USE("\x08\x01\x28\x80\x80\x80\x80\x10"));
    assert_memory_equal(&request.use[0], &nothing, sizeof(nothing));
    assert_null(READ_USE("\x08\x01\x38\x80\x80\x04"));
    assert_memory_equal(&request.use[0], &nothing, sizeof(nothing));
    assert_null(READ_USE("\x08\x01\x40\x80\x80\x04"));
    assert_memory_equal(&request.use[0], &nothing, sizeof(nothing));
    assert_null(read_use(label, 3 + WARPRSA_USE_LABEL_BYTES_MAX));
    assert_int_equal(request.use[0].label_bytes, WARPRSA_USE_LABEL_BYTES_MAX);
    label[1] = '\x81';
    assert_null(read_use(label, sizeof(label)));
    assert_memory_equal(&request.use[0], &nothing, sizeof(nothing));
}

/* Fields of another kind than the proto's; a label that does not end. */
TEST(test_malformed_uses)
{
    static const char *const bad[] = {
        "\x0a\x01\x01", "\x12\x01\x01", "\x1a\x01\x01",         "\x22\x01\x01",
        "\x2a\x01\x01", "\x30\x01",     "\x3a\x01\x01",         "\x42\x01\x01",
        "\x32\x02\x01", "\x08",         "\x0d\x01\x01\x01\x01",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_string_equal(read_use(bad[i], strlen(bad[i])),
                            "a malformed operation");
}

/* The largest messages fit; an RSA-2048 operation takes no more bytes, both
 * ways, than doc/remote.md says. */
TEST(test_sizes)
{
    static warprsa_remote_operation o[WARPRSA_REMOTE_BATCH_MAX];
    static warprsa_remote_result r[WARPRSA_REMOTE_BATCH_MAX];
    static uint8_t number[WARPRSA_VAULT_MODULUS_BYTES_MAX + 128];
    const warprsa_key_use use = largest_use();
    size_t there, back;

    for (size_t i = 0; i < WARPRSA_REMOTE_BATCH_MAX; i++) {
        o[i] =
            (warprsa_remote_operation){.id = UINT32_MAX,
                                       .key = UINT32_MAX,
                                       .bytes = WARPRSA_VAULT_MODULUS_BYTES_MAX,
                                       .input = number,
                                       .use = &use};
        r[i] = (warprsa_remote_result){.id = UINT32_MAX,
                                       .bytes = WARPRSA_VAULT_MODULUS_BYTES_MAX,
                                       .output = number};
    }
    there = warprsa_remote_write_operations(buffer, sizeof(buffer), o,
                                            WARPRSA_REMOTE_BATCH_MAX);
    assert_null(read_written(there, true));
    assert_true(there <= ROOM);
    back = warprsa_remote_write_results(buffer, sizeof(buffer), r,
                                        WARPRSA_REMOTE_BATCH_MAX);
    assert_null(read_written(back, false));
    assert_int_equal(response.count, WARPRSA_REMOTE_BATCH_MAX);
    for (size_t i = 0; i < WARPRSA_REMOTE_BATCH_MAX; i++)
        o[i].bytes = sizeof(number);
    assert_int_equal(warprsa_remote_write_operations(buffer, sizeof(buffer), o,
                                                     WARPRSA_REMOTE_BATCH_MAX),
                     0);
    for (uint32_t i = 0; i < 64; i++) {
        o[i] = (warprsa_remote_operation){
            .id = i, .key = 10, .bytes = 256, .input = number};
        r[i] = (warprsa_remote_result){.id = i, .bytes = 256, .output = number};
    }
    there = warprsa_remote_write_operations(buffer, sizeof(buffer), o, 64);
    back = warprsa_remote_write_results(buffer, sizeof(buffer), r, 64);
    assert_in_range(there + back, 64 * 512, 64 * 535);
}

TEST(test_responses)
{
    static uint8_t output[256] = {9};
    const warprsa_remote_welcome welcome = {1, 2, 256, 0, UINT32_MAX};
    const warprsa_remote_result r[2] = {
        {.id = 7, .bytes = sizeof(output), .output = output},
        {.id = 8, .status = WARPRSA_REMOTE_THROTTLED},
    };
    size_t size =
        warprsa_remote_write_welcome(buffer, sizeof(buffer), &welcome);

    assert_null(read_written(size, false));
    assert_int_equal(response.kind, WARPRSA_REMOTE_WELCOME);
    assert_memory_equal(&response.welcome, &welcome, sizeof(welcome));
    size = warprsa_remote_write_key_loaded(buffer, sizeof(buffer), 5,
                                           WARPRSA_REMOTE_UNSUPPORTED);
    assert_null(read_written(size, false));
    assert_int_equal(response.kind, WARPRSA_REMOTE_KEY_LOADED);
    assert_int_equal(response.key, 5);
    assert_int_equal(response.status, WARPRSA_REMOTE_UNSUPPORTED);
    size = warprsa_remote_write_results(buffer, sizeof(buffer), r, 2);
    assert_null(read_written(size, false));
    assert_int_equal(response.count, 2);
    assert_int_equal(response.result[0].id, 7);
    assert_int_equal(response.result[0].bytes, 256);
    assert_int_equal(response.result[1].status, WARPRSA_REMOTE_THROTTLED);
    size = warprsa_remote_write_draining(buffer, sizeof(buffer));
    assert_null(read_written(size, false));
    assert_int_equal(response.kind, WARPRSA_REMOTE_DRAINING);
}

static size_t write_use_results(uint8_t *to, size_t room)
{
    const warprsa_remote_result r[] = {
        {.id = 1}, /* an empty message was decrypted */
        {.id = 2,
         .status = WARPRSA_REMOTE_DENIED,
         .denial = WARPRSA_DENIED_PADDING},
        {.id = 3,
         .status = WARPRSA_REMOTE_INVALID,
         .errors = {{1, 0x0200007a, UINT32_MAX, 4}}},
        {.id = 4, .status = WARPRSA_REMOTE_INVALID, .errors = {{5}}},
    };

    return warprsa_remote_write_results(to, room, r, sizeof(r) / sizeof(r[0]));
}

TEST(test_results_of_uses)
{
    static const uint32_t errors[][WARPRSA_USE_ERRORS_MAX] = {
        {1, 0x0200007a, UINT32_MAX, 4},
        {5},
    };
    size_t size = write_use_results(buffer, sizeof(buffer));

    assert_null(read_written(size, false));
    assert_int_equal(response.count, 4);
    assert_int_equal(response.result[0].status, WARPRSA_REMOTE_OK);
    assert_int_equal(response.result[0].bytes, 0);
    assert_int_equal(response.result[1].status, WARPRSA_REMOTE_DENIED);
    assert_int_equal(response.result[1].denial, WARPRSA_DENIED_PADDING);
    assert_int_equal(response.result[2].denial, WARPRSA_ALLOWED);
    assert_memory_equal(response.result[2].errors.codes, errors[0],
                        sizeof(errors[0]));
    assert_memory_equal(response.result[3].errors.codes, errors[1],
                        sizeof(errors[1]));
    assert_needs(size, write_use_results);
}

/* Reads a response of one result, which has these bytes. */
static const char *read_result(const char *bytes, size_t size)
{
    warprsa_protobuf_writer w = {buffer, buffer + sizeof(buffer), false};

    warprsa_protobuf_put_head(&w, 3, warprsa_protobuf_bytes_size(1, size));
    warprsa_protobuf_put_bytes(&w, 1, (const uint8_t *)bytes, size);
    assert_false(w.overrun);
    return warprsa_remote_read_response(buffer, (size_t)(w.at - buffer),
                                        &response);
}

#define READ_RESULT(bytes) read_result(bytes, sizeof(bytes) - 1)

/* What a server may send that warprsa's does not: errors in one field; denials
 * and statuses of a newer version; what does not belong to the status. */
TEST(test_results_of_others)
{
    static const uint32_t errors[WARPRSA_USE_ERRORS_MAX] = {5, 300, 7, 8};
    static const uint32_t none[WARPRSA_USE_ERRORS_MAX];
    const warprsa_remote_result *r = &response.result[0];

    assert_null(READ_RESULT("\x10\x01\x2a\x04\x05\xac\x02\x07\x28\x08"));
    assert_memory_equal(r->errors.codes, errors, sizeof(errors));
    assert_null(READ_RESULT("\x2a\x01\x05\x20\x04"));
    assert_memory_equal(r->errors.codes, none, sizeof(none));
    assert_int_equal(r->denial, WARPRSA_ALLOWED);
    assert_null(READ_RESULT("\x10\x07"));
    assert_int_equal(r->denial, WARPRSA_DENIALS);
    assert_null(READ_RESULT("\x10\x07\x20\x63"));
    assert_int_equal(r->denial, WARPRSA_DENIALS);
    assert_null(READ_RESULT("\x10\x08\x1a\x01\x05"));
    assert_int_equal(r->status, WARPRSA_REMOTE_FAILED);
    assert_int_equal(r->bytes, 0);
    assert_null(r->output);
    assert_non_null(READ_RESULT("\x2a\x05\x01\x02\x03\x04\x05"));
    assert_non_null(READ_RESULT("\x2a\x02\x01\x00"));
    assert_non_null(READ_RESULT("\x2a\x02\x01\x80"));
    assert_non_null(READ_RESULT("\x2a\x05\x80\x80\x80\x80\x10"));
    assert_non_null(READ_RESULT("\x22\x01\x01"));
    assert_non_null(READ_RESULT("\x2d\x01\x01\x01\x01"));
}

/* A message of text "\012\003..." and what is to be said of it. */
typedef struct bad_message {
    const char *wrong;
    size_t size;
    const char *bytes;
} bad_message;

#define BAD(wrong, bytes)                                                      \
    {                                                                          \
        wrong, sizeof(bytes) - 1, bytes                                        \
    }

TEST(test_bad_requests)
{
    static const bad_message bad[] = {
        BAD("of one known kind", ""),
        BAD("of one known kind", "\x4a\x00"),
        BAD("of one known kind", "\x12\x00\x12\x00"),
        BAD("a malformed request", "\x12"),
        BAD("a malformed request", "\x12\x01"),
        BAD("a malformed request", "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
        BAD("a malformed request",
            "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
        BAD("a malformed request", "\x02\x00"), /* field 0 */
        BAD("a malformed request", "\x13"),     /* a group */
        BAD("a malformed request", "\x4d\x00\x00\x00"),
        BAD("a malformed request", "\x08\x01"), /* load_key is no number */
        BAD("one source", "\x0a\x00"),
        BAD("one source", "\x0a\x04\x12\x00\x12\x00"),
        BAD("32 bytes", "\x0a\x03\x1a\x01\x00"),
        BAD("a malformed number", "\x12\x06\x08\xff\xff\xff\xff\x1f"),
        BAD("a malformed number of a key", "\x0a\x04\x12\x02\x08\x01"),
        BAD("a malformed key", "\x0a\x04\x12\x02\x0a\x05"),
        BAD("no operation", "\x1a\x00"),
        BAD("without an input", "\x1a\x02\x0a\x00"),
        BAD("a malformed operation", "\x1a\x02\x08\x00"),
        BAD("without an input", "\x1a\x04\x0a\x02\x1a\x00"),
        BAD("a malformed operation", "\x1a\x04\x0a\x02\x28\x00"),
        BAD("a malformed operation", "\x1a\x06\x0a\x04\x2a\x00\x2a\x00"),
        BAD("a malformed operation", "\x1a\x04\x0a\x02\x1a\x01"),
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *wrong = warprsa_remote_read_request(
            (const uint8_t *)bad[i].bytes, bad[i].size, &request);

        if (wrong == NULL || strstr(wrong, bad[i].wrong) == NULL)
            fail_msg("message %zu: %s, not %s", i, wrong, bad[i].wrong);
    }
}

/* Reads an operation with an input of so many bytes, and maybe a use. */
static const char *read_input(size_t bytes, bool use)
{
    static const uint8_t number[WARPRSA_VAULT_MODULUS_BYTES_MAX + 1] = {1};
    const size_t size = warprsa_protobuf_bytes_size(3, bytes) + (use ? 2 : 0);
    warprsa_protobuf_writer w = {buffer, buffer + sizeof(buffer), false};

    warprsa_protobuf_put_head(&w, 3, warprsa_protobuf_bytes_size(1, size));
    warprsa_protobuf_put_head(&w, 1, size);
    warprsa_protobuf_put_bytes(&w, 3, number, bytes);
    if (use)
        warprsa_protobuf_put_head(&w, 5, 0);
    assert_false(w.overrun);
    return warprsa_remote_read_request(buffer, (size_t)(w.at - buffer),
                                       &request);
}

/* One operation more than fit into the array; an input one byte longer than
 * any modulus; a key with a number too long for the engines. */
TEST(test_limits)
{
    static uint8_t number[WARPRSA_PRIME_BYTES_MAX + 1] = {1};
    warprsa_protobuf_writer w = {buffer, buffer + sizeof(buffer), false};
    size_t size;

    warprsa_protobuf_put_head(&w, 3, 5 * (WARPRSA_REMOTE_BATCH_MAX + 1));
    for (int i = 0; i <= WARPRSA_REMOTE_BATCH_MAX; i++) {
        warprsa_protobuf_put_head(&w, 1, 3);
        warprsa_protobuf_put_bytes(&w, 3, number, 1);
    }
    assert_false(w.overrun);
    assert_string_equal(
        warprsa_remote_read_request(buffer, (size_t)(w.at - buffer), &request),
        "more than 256 operations in a message");
    assert_null(read_input(WARPRSA_MODULUS_BYTES_MAX, false));
    assert_string_equal(read_input(WARPRSA_MODULUS_BYTES_MAX + 1, false),
                        "a malformed operation");
    assert_null(read_input(WARPRSA_VAULT_MODULUS_BYTES_MAX, true));
    assert_string_equal(read_input(WARPRSA_VAULT_MODULUS_BYTES_MAX + 1, true),
                        "a malformed operation");
    w.at = buffer;
    size = warprsa_protobuf_bytes_size(3, WARPRSA_PRIME_BYTES_MAX + 1);
    warprsa_protobuf_put_head(&w, 1, warprsa_protobuf_bytes_size(2, size));
    warprsa_protobuf_put_head(&w, 2, size);
    warprsa_protobuf_put_bytes(&w, 3, number, WARPRSA_PRIME_BYTES_MAX + 1);
    assert_null(
        warprsa_remote_read_request(buffer, (size_t)(w.at - buffer), &request));
    assert_int_equal(warprsa_key_class(&request.private_key), -1);
}

/* Fields that this version doesn't know are left out, as proto3 has it. */
TEST(test_unknown_fields)
{
    static const char known[] = "\x12\x0b"
                                "\x08\x05"                 /* key = 5 */
                                "\x7d\x01\x02\x03\x04"     /* 15: 32 bits */
                                "\x82\x01\x01\x00"         /* 16: a string */
                                "\x79\x01\x02\x03\x04\x05" /* 15: 64 bits */
                                "\x06\x07\x08";

    assert_null(warprsa_remote_read_request((const uint8_t *)known,
                                            sizeof(known) - 1, &request));
    assert_int_equal(request.kind, WARPRSA_REMOTE_UNLOAD_KEY);
    assert_int_equal(request.key, 5);
    assert_null(warprsa_remote_read_response((const uint8_t *)"\x4a\x00", 2,
                                             &response));
    assert_int_equal(response.kind, WARPRSA_REMOTE_UNKNOWN);
}

/* No beginning of a message is read beyond its end, as AddressSanitizer and
 * valgrind see; it is refused, or one of fewer fields. */
TEST(test_cut)
{
    size_t size = write_uses(buffer, sizeof(buffer));

    for (size_t cut = 0; cut < size - WARPRSA_REMOTE_PREFIX; cut++) {
        uint8_t *exact = malloc(cut + 1);

        assert_non_null(exact);
        memcpy(exact + 1, buffer + WARPRSA_REMOTE_PREFIX, cut);
        assert_non_null(warprsa_remote_read_request(exact + 1, cut, &request));
        free(exact);
    }
}

TEST(test_prefix)
{
    const uint8_t compressed[WARPRSA_REMOTE_PREFIX] = {1, 0, 0, 0, 1};
    const uint8_t huge[WARPRSA_REMOTE_PREFIX] = {0, 0xff, 0xff, 0xff, 0xff};
    uint8_t most[WARPRSA_REMOTE_PREFIX] = {
        0, 0, (uint8_t)(WARPRSA_REMOTE_MESSAGE_MAX >> 16),
        (uint8_t)(WARPRSA_REMOTE_MESSAGE_MAX >> 8),
        (uint8_t)WARPRSA_REMOTE_MESSAGE_MAX};
    size_t size;

    assert_false(warprsa_remote_read_prefix(compressed, &size));
    assert_false(warprsa_remote_read_prefix(huge, &size));
    assert_true(warprsa_remote_read_prefix(most, &size));
    assert_int_equal(size, WARPRSA_REMOTE_MESSAGE_MAX);
    most[4]++;
    assert_false(warprsa_remote_read_prefix(most, &size));
}

RUN_TESTS(NULL, NULL)
