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

static uint8_t buffer[ROOM];
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

/* The largest messages fit; an RSA-2048 operation takes no more bytes, both
 * ways, than doc/remote.md says. */
TEST(test_sizes)
{
    static warprsa_remote_operation o[WARPRSA_REMOTE_BATCH_MAX];
    static warprsa_remote_result r[WARPRSA_REMOTE_BATCH_MAX];
    static uint8_t number[WARPRSA_MODULUS_BYTES_MAX];
    size_t there, back;

    for (size_t i = 0; i < WARPRSA_REMOTE_BATCH_MAX; i++) {
        o[i] = (warprsa_remote_operation){UINT32_MAX, UINT32_MAX, UINT32_MAX,
                                          sizeof(number), number};
        r[i] = (warprsa_remote_result){UINT32_MAX, WARPRSA_REMOTE_OK,
                                       sizeof(number), number};
    }
    there = warprsa_remote_write_operations(buffer, sizeof(buffer), o,
                                            WARPRSA_REMOTE_BATCH_MAX);
    assert_null(read_written(there, true));
    back = warprsa_remote_write_results(buffer, sizeof(buffer), r,
                                        WARPRSA_REMOTE_BATCH_MAX);
    assert_null(read_written(back, false));
    assert_int_equal(response.count, WARPRSA_REMOTE_BATCH_MAX);
    for (uint32_t i = 0; i < 64; i++) {
        o[i] = (warprsa_remote_operation){i, 10, 0, 256, number};
        r[i] = (warprsa_remote_result){i, WARPRSA_REMOTE_OK, 256, number};
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
        {7, WARPRSA_REMOTE_OK, sizeof(output), output},
        {8, WARPRSA_REMOTE_THROTTLED, 0, NULL},
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
        BAD("a malformed operation", "\x1a\x04\x0a\x02\x1a\x00"),
        BAD("a malformed operation", "\x1a\x04\x0a\x02\x1a\x01"),
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *wrong = warprsa_remote_read_request(
            (const uint8_t *)bad[i].bytes, bad[i].size, &request);

        if (wrong == NULL || strstr(wrong, bad[i].wrong) == NULL)
            fail_msg("message %zu: %s, not %s", i, wrong, bad[i].wrong);
    }
}

/* One operation more than fit into the array; an input one byte longer than
 * any modulus; a key with a number too long for the engines. */
TEST(test_limits)
{
    static uint8_t number[WARPRSA_MODULUS_BYTES_MAX + 1] = {1};
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
    w.at = buffer;
    size = warprsa_protobuf_bytes_size(3, sizeof(number));
    warprsa_protobuf_put_head(&w, 3, warprsa_protobuf_bytes_size(1, size));
    warprsa_protobuf_put_head(&w, 1, size);
    warprsa_protobuf_put_bytes(&w, 3, number, sizeof(number));
    assert_string_equal(
        warprsa_remote_read_request(buffer, (size_t)(w.at - buffer), &request),
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
    size_t size = write_operations(buffer, sizeof(buffer));

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
    size_t size;

    assert_false(warprsa_remote_read_prefix(compressed, &size));
    assert_false(warprsa_remote_read_prefix(huge, &size));
}

RUN_TESTS(NULL, NULL)
