/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * References: what is written is read back, each has one encoding, and nothing
 * is read beyond the end.
 */
#include "tests/unit/support/unit_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/vault/wire/reference.h"

static warprsa_reference reference, again;
static uint8_t der[WARPRSA_REFERENCE_DER_MAX];
static char pem[WARPRSA_REFERENCE_PEM_MAX];

/* A reference whose SubjectPublicKeyInfo is a SEQUENCE of so many bytes, at
 * least 256, with its head. */
static void make(const char *name, const char *socket, size_t spki_bytes)
{
    memset(&reference, 0, sizeof(reference));
    strcpy(reference.name, name);
    strcpy(reference.socket, socket);
    reference.spki_bytes = spki_bytes;
    for (size_t i = 0; i < spki_bytes; i++)
        reference.spki[i] = (uint8_t)(i * 7 + 1);
    reference.spki[0] = 0x30;
    reference.spki[1] = 0x82;
    reference.spki[2] = (uint8_t)((spki_bytes - 4) >> 8);
    reference.spki[3] = (uint8_t)(spki_bytes - 4);
}

/* Reads DER from memory that ends where it ends. */
static const char *read_der(const uint8_t *from, size_t size)
{
    uint8_t *exact = malloc(size + 1);
    const char *wrong = NULL;

    assert_non_null(exact);
    memcpy(exact + 1, from, size);
    wrong = warprsa_reference_read(&again, exact + 1, size);
    free(exact);
    return wrong;
}

static void assert_wrong(const uint8_t *from, size_t size, const char *what)
{
    const char *wrong = read_der(from, size);

    assert_non_null(wrong);
    assert_string_equal(wrong, what);
}

/* Each shorter room is too little, and nothing is written beyond it. */
static void assert_needs(size_t size, size_t length)
{
    for (size_t room = 0; room < size; room++) {
        memset(der, 0xa5, sizeof(der));
        assert_int_equal(warprsa_reference_write(&reference, der, room), 0);
        assert_int_equal(der[room], 0xa5);
    }
    for (size_t room = 0; room <= length; room++) {
        memset(pem, 'x', sizeof(pem));
        assert_int_equal(warprsa_reference_write_pem(&reference, pem, room), 0);
        assert_int_equal(pem[room], 'x');
    }
    assert_int_equal(warprsa_reference_write(&reference, der, size), size);
    assert_int_equal(warprsa_reference_write_pem(&reference, pem, length + 1),
                     length);
}

static void assert_round_trip(void)
{
    const size_t size = warprsa_reference_write(&reference, der, sizeof(der));
    const size_t length =
        warprsa_reference_write_pem(&reference, pem, sizeof(pem));

    assert_true(size > 0 && length > 0);
    assert_null(read_der(der, size));
    assert_memory_equal(&again, &reference, sizeof(again));
    assert_null(warprsa_reference_read_pem(&again, pem, length));
    assert_memory_equal(&again, &reference, sizeof(again));
    assert_needs(size, length);
}

TEST(written_and_read)
{
    char name[WARPRSA_KEY_NAME_SIZE] = {0};
    char socket[WARPRSA_REFERENCE_SOCKET_SIZE] = {0};

    make("www", "", 294);
    assert_round_trip();
    make("w", "/run/warprsa/warprsad.sock", 295); /* other padding of base64 */
    assert_round_trip();
    make("www.example-1_a", "/s", 296);
    assert_round_trip();
    memset(name, 'n', sizeof(name) - 1);
    memset(socket, '/', sizeof(socket) - 1);
    make(name, socket, WARPRSA_REFERENCE_SPKI_MAX);
    assert_round_trip();
}

static bool name_is_valid(const char *name)
{
    return warprsa_key_name_is_valid(name, strlen(name));
}

TEST(names)
{
    char name[WARPRSA_KEY_NAME_SIZE + 1] = {0};

    assert_true(name_is_valid("a"));
    assert_true(name_is_valid("_"));
    assert_true(name_is_valid("9.b-c_D.pem"));
    assert_false(name_is_valid(""));
    assert_false(name_is_valid(".hidden"));
    assert_false(name_is_valid("-option"));
    assert_false(name_is_valid("a/b"));
    assert_false(name_is_valid("a b"));
    assert_false(name_is_valid("*"));
    assert_false(name_is_valid("na\xc3\xafve"));
    memset(name, 'n', WARPRSA_KEY_NAME_SIZE - 1);
    assert_true(name_is_valid(name));
    name[WARPRSA_KEY_NAME_SIZE - 1] = 'n';
    assert_false(name_is_valid(name));
}

static void assert_not_written(void)
{
    assert_int_equal(warprsa_reference_write(&reference, der, sizeof(der)), 0);
    assert_int_equal(warprsa_reference_write_pem(&reference, pem, sizeof(pem)),
                     0);
}

TEST(what_cannot_be_read_is_not_written)
{
    make("a/b", "", 294);
    assert_not_written();
    make("www", "relative", 294);
    assert_not_written();
    make("www", "/line\nbreak", 294);
    assert_not_written();
    make("www", "", 294);
    memset(reference.name, 'n', sizeof(reference.name));
    assert_not_written();
    make("www", "", 294);
    memset(reference.socket, '/', sizeof(reference.socket));
    assert_not_written();
    make("www", "", 294);
    reference.spki[3]++;
    assert_not_written();
    make("www", "", 294);
    reference.spki_bytes = 0;
    assert_not_written();
    make("www", "", 294);
    reference.spki_bytes = sizeof(reference.spki) + 1;
    assert_not_written();
}

/* Removes `count` bytes at `at` and inserts `more` in their place. */
static size_t change(size_t size, size_t at, size_t count, const char *more)
{
    const size_t added = strlen(more);

    memmove(der + at + added, der + at + count, size - at - count);
    memcpy(der + at, more, added);
    return size - count + added;
}

/* The bytes of a small one, whose lengths are one byte each. */
static const uint8_t small[] = {0x30, 15,  2,   1,   1,    0x30, 1,   5,  0x0c,
                                3,    'w', 'w', 'w', 0x80, 2,    '/', 's'};

static size_t small_der(void)
{
    memcpy(der, small, sizeof(small));
    return sizeof(small);
}

TEST(bytes_as_documented)
{
    memset(&reference, 0, sizeof(reference));
    strcpy(reference.name, "www");
    strcpy(reference.socket, "/s");
    reference.spki_bytes = 3;
    memcpy(reference.spki, small + 5, 3);
    assert_int_equal(warprsa_reference_write(&reference, der, sizeof(der)),
                     sizeof(small));
    assert_memory_equal(der, small, sizeof(small));
    assert_true(warprsa_reference_write_pem(&reference, pem, sizeof(pem)) > 0);
    assert_string_equal(pem, "-----BEGIN WARPRSA KEY REFERENCE-----\n"
                             "MA8CAQEwAQUMA3d3d4ACL3M=\n"
                             "-----END WARPRSA KEY REFERENCE-----\n");
}

TEST(cut_anywhere)
{
    make("www", "/s", 294);
    for (size_t size = warprsa_reference_write(&reference, der, sizeof(der));
         size-- > 0;)
        assert_wrong(der, size, "not one DER sequence");
    for (size_t size = sizeof(small); size-- > 2;) {
        small_der();
        der[1] = (uint8_t)(size - 2);
        /* Without the socket it is a whole one. */
        assert_true((read_der(der, size) == NULL) == (size == 13));
    }
}

TEST(other_encodings)
{
    assert_wrong(der, change(small_der(), 17, 0, "x"), "not one DER sequence");
    assert_wrong(der, change(small_der(), 1, 1, "\x81\x0f"),
                 "not one DER sequence");
    assert_wrong(der, change(small_der(), 0, 1, "\x31"),
                 "not one DER sequence");
    der[change(small_der(), 1, 1, "\x84xxx\x0f")] = 0;
    memset(der + 2, 0, 3);
    assert_wrong(der, sizeof(small) + 4, "not one DER sequence");
    assert_wrong(der, change(small_der(), 1, 1, "\x80"),
                 "not one DER sequence");
    assert_wrong(der, change(small_der(), 4, 1, "\x02"), "an unknown version");
    assert_wrong(der, change(small_der(), 2, 1, "\x0a"), "no version");
    assert_wrong(der, change(small_der(), 5, 1, "\x31"), "no public key");
    assert_wrong(der, change(small_der(), 8, 1, "\x13"),
                 "no name, or one that no key can have");
    assert_wrong(der, change(small_der(), 11, 1, "/"),
                 "no name, or one that no key can have");
    assert_wrong(der, change(small_der(), 13, 1, "\x0c"),
                 "not the path of a socket");
    assert_wrong(der, change(small_der(), 15, 1, "x"),
                 "not the path of a socket");
    assert_int_equal(change(small_der(), 14, 1, "\x01"), sizeof(small));
    assert_wrong(der, sizeof(small), "something after the socket");
    small_der();
    der[11] = '\0';
    assert_wrong(der, sizeof(small), "no name, or one that no key can have");
}

TEST(too_long)
{
    static uint8_t long_one[WARPRSA_REFERENCE_SPKI_MAX + 64];
    const size_t key = WARPRSA_REFERENCE_SPKI_MAX + 1;
    const size_t inner = 3 + key + 5;
    const uint8_t head[] = {
        0x30, 0x82, (uint8_t)(inner >> 8),     (uint8_t)inner,    2, 1, 1,
        0x30, 0x82, (uint8_t)((key - 4) >> 8), (uint8_t)(key - 4)};
    const uint8_t tail[] = {0x0c, 3, 'w', 'w', 'w'};

    memcpy(long_one, head, sizeof(head));
    memcpy(long_one + 7 + key, tail, sizeof(tail));
    assert_wrong(long_one, 4 + inner, "too long a public key");
}

static const char *read_pem(const char *text)
{
    return warprsa_reference_read_pem(&again, text, strlen(text));
}

#define BEGIN_LINE "-----BEGIN WARPRSA KEY REFERENCE-----\n"
#define END_LINE   "-----END WARPRSA KEY REFERENCE-----\n"

TEST(forms_of_pem)
{
    assert_null(read_pem(BEGIN_LINE "MA8CAQEwAQUMA3d3d4ACL3M=\n" END_LINE));
    assert_null(read_pem("-----BEGIN WARPRSA KEY REFERENCE-----\r\n"
                         "MA8CAQEwAQ\r\nUMA3d3d4ACL3M= \t\r\n"
                         "-----END WARPRSA KEY REFERENCE-----"));
    assert_string_equal(read_pem(""), "no line with BEGIN");
    assert_string_equal(read_pem("\n" BEGIN_LINE), "no line with BEGIN");
    assert_string_equal(read_pem("-----BEGIN PUBLIC KEY-----\n"),
                        "no line with BEGIN");
    assert_string_equal(read_pem(BEGIN_LINE "MA8C\n"), "no line with END");
    assert_string_equal(read_pem(BEGIN_LINE END_LINE), "not one DER sequence");
    assert_string_equal(
        read_pem(BEGIN_LINE "MA8CAQEwAQUMA3d3d4ACL3M=\n" END_LINE "\n"),
        "something after the line with END");
}

TEST(wrong_base64)
{
    static const char *const bodies[] = {
        "MA8CAQEwAQUMA3d3d4ACL3M",      /* no padding */
        "MA8CAQEwAQUMA3d3d4ACL3N=",     /* bits that stand for nothing */
        "MA8CAQEwAQUMA3d3d4ACL3M=MA8C", /* goes on */
        "MA8CAQEwAQUMA3d3d4ACL3M=====",
        "=A8CAQEwAQUMA3d3d4ACL3M=",
        "M===",
        "MA =8CAQEwAQUMA3d3d4ACL3M=",
        "MA8C-QEwAQUMA3d3d4ACL3M=",
        "Proc-Type: 4,ENCRYPTED",
    };
    char text[256];

    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        snprintf(text, sizeof(text), BEGIN_LINE "%s\n" END_LINE, bodies[i]);
        assert_non_null(read_pem(text));
    }
    memset(pem, 'M', sizeof(pem));
    memcpy(pem, BEGIN_LINE, sizeof(BEGIN_LINE) - 1);
    assert_string_equal(warprsa_reference_read_pem(&again, pem, sizeof(pem)),
                        "not base64, or too long");
}

RUN_TESTS(NULL, NULL)
