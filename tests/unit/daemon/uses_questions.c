/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Questions which keys the daemon's vault has, and their certificates.
 */
#include "tests/unit/daemon/uses_fixture.h"

TEST_IN(keys_are_listed, begin, end)
{
    warprsa_key_lookup lookup;
    warprsa_key_message key;
    char why[300], name[WARPRSA_KEY_NAME_SIZE] = "", wanted[16];
    unsigned count = 0;

    assert_true(
        warprsa_key_lookup_open(&lookup, s.path, LONG_MS, why, sizeof(why)));
    fake_vault.unknown_before = 90; /* more than are looked at at once */
    while (warprsa_key_lookup_next(&lookup, name, &key, why, sizeof(why)) ==
           WARPRSA_KEY_FOUND) {
        snprintf(wanted, sizeof(wanted), "key%02u", 90 + count++);
        assert_string_equal(key.name, wanted);
        assert_int_equal(key.spki_bytes, 300);
        assert_int_equal(key.spki[299], 89 + count);
        strcpy(name, key.name);
    }
    assert_int_equal(key.type, WARPRSA_MESSAGE_NO_KEY);
    assert_int_equal(count, FAKE_VAULT_KEYS - 90);
    assert_int_equal(fake_vault.user.uid, getuid());
    assert_int_equal(fake_vault.user.pid, getpid());
    warprsa_key_lookup_close(&lookup);
}

TEST_IN(keys_are_found_by_name, begin, end)
{
    warprsa_key_lookup lookup;
    warprsa_key_message key;
    char why[300];

    assert_true(
        warprsa_key_lookup_open(&lookup, s.path, LONG_MS, why, sizeof(why)));
    assert_int_equal(
        warprsa_key_lookup_name(&lookup, "key07", &key, why, sizeof(why)),
        WARPRSA_KEY_FOUND);
    assert_string_equal(key.name, "key07");
    assert_string_equal(key.allowed, "anything with key07");
    assert_int_equal(key.rights.operations, 1 << WARPRSA_USE_SIGN);
    assert_int_equal(key.rights.paddings[WARPRSA_USE_SIGN],
                     1 << WARPRSA_PADDING_PSS);
    assert_int_equal(key.rights.digests[WARPRSA_USE_SIGN][WARPRSA_PADDING_PSS],
                     7);
    assert_int_equal(key.rights.paddings[WARPRSA_USE_DECRYPT], 0);
    assert_int_equal(
        warprsa_key_lookup_name(&lookup, "key7", &key, why, sizeof(why)),
        WARPRSA_KEY_NOT_FOUND);
    fake_vault.unknown_before = 8;
    assert_int_equal(
        warprsa_key_lookup_name(&lookup, "key07", &key, why, sizeof(why)),
        WARPRSA_KEY_NOT_FOUND);
    assert_int_equal(fake_vault_references(), 0);
    /* What is no name ends the connection. */
    assert_int_equal(
        warprsa_key_lookup_name(&lookup, "../key07", &key, why, sizeof(why)),
        WARPRSA_KEY_UNKNOWN);
    assert_non_null(strstr(why, s.path));
    assert_int_equal(test_server_broken(&s), 1);
    warprsa_key_lookup_close(&lookup);
}

/* The certificates of key number KEY come whole, however many there are. */
static void get_certificates(warprsa_key_lookup *lookup, unsigned wanted)
{
    char why[300] = "", *pem = NULL;
    size_t bytes = SIZE_MAX;

    assert_int_equal(warprsa_key_lookup_certificates(lookup, "key01", &pem,
                                                     &bytes, why, sizeof(why)),
                     WARPRSA_KEY_FOUND);
    assert_int_equal(bytes, wanted);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(pem[i],
                         fake_vault_certificate(KEY, fake_vault.edition, i));
    assert_int_equal(pem[bytes], '\0');
    free(pem);
}

TEST_IN(certificates_come_in_pieces, begin, end)
{
    static const unsigned sizes[] = {
        0,
        1,
        WARPRSA_KEY_CERTIFICATES_PIECE - 1,
        WARPRSA_KEY_CERTIFICATES_PIECE,
        WARPRSA_KEY_CERTIFICATES_PIECE + 1,
        3 * WARPRSA_KEY_CERTIFICATES_PIECE + 17,
        WARPRSA_KEY_CERTIFICATES_MAX,
    };
    warprsa_key_lookup lookup;
    char why[300] = "", *pem = NULL;
    size_t bytes = 0;

    assert_true(
        warprsa_key_lookup_open(&lookup, s.path, LONG_MS, why, sizeof(why)));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        fake_vault.certificates = sizes[i];
        get_certificates(&lookup, sizes[i]);
    }
    /* Two that are of different editions are never put together. */
    fake_vault.editions_left = 7;
    get_certificates(&lookup, WARPRSA_KEY_CERTIFICATES_MAX);
    assert_int_equal(fake_vault.editions_left, 0);
    assert_int_equal(fake_vault.edition, 7);
    fake_vault.editions_left = 1000;
    assert_int_equal(warprsa_key_lookup_certificates(&lookup, "key01", &pem,
                                                     &bytes, why, sizeof(why)),
                     WARPRSA_KEY_UNKNOWN);
    assert_null(pem);
    assert_non_null(strstr(why, "key01 again and again"));
    warprsa_key_lookup_close(&lookup);
    assert_int_equal(fake_vault_references(), 0);
    assert_int_equal(test_server_broken(&s), 0);
}

/* Whoever may not know of a key gets no certificates of it, as if there were no
 * such key. */
TEST_IN(certificates_of_unknown_keys, begin, end)
{
    static const char *const names[] = {"key7", "key00"};
    warprsa_key_lookup lookup;
    char why[300] = "", *pem = NULL;
    size_t bytes = 0;

    fake_vault.certificates = 100;
    fake_vault.unknown_before = KEY;
    assert_true(
        warprsa_key_lookup_open(&lookup, s.path, LONG_MS, why, sizeof(why)));
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(warprsa_key_lookup_certificates(
                             &lookup, names[i], &pem, &bytes, why, sizeof(why)),
                         WARPRSA_KEY_NOT_FOUND);
        assert_null(pem);
    }
    get_certificates(&lookup, 100);
    assert_int_equal(test_server_broken(&s), 0);
    assert_int_equal(warprsa_key_lookup_certificates(&lookup, "", &pem, &bytes,
                                                     why, sizeof(why)),
                     WARPRSA_KEY_UNKNOWN);
    assert_non_null(strstr(why, s.path));
    assert_int_equal(test_server_broken(&s), 1);
    warprsa_key_lookup_close(&lookup);
}

/* Asks for certificates from a byte on. Whether there was a reply. */
static bool ask_from(const warprsa_control_connection *control, uint32_t offset,
                     warprsa_certificates_message *reply)
{
    warprsa_message message = {.type = WARPRSA_MESSAGE_GET_CERTIFICATES,
                               .name = "key07",
                               .number = offset};
    warprsa_received received;

    assert_true(warprsa_message_send(control->socket.fd, &message, NULL, 0));
    do
        received =
            warprsa_certificates_message_receive(control->socket.fd, reply);
    while (received == WARPRSA_NOTHING_YET);
    return received == WARPRSA_RECEIVED;
}

/* From a byte on that is not there any more there is nothing; one that no key
 * can have ends the connection. */
TEST_IN(certificates_from_any_byte_on, begin, end)
{
    static const uint32_t absurd[] = {WARPRSA_KEY_CERTIFICATES_MAX + 1,
                                      INT32_MAX, UINT32_MAX};
    static warprsa_certificates_message reply;
    warprsa_control_connection control;
    char why[300];

    fake_vault.certificates = 100;
    assert_true(
        warprsa_control_connection_open(&control, s.path, why, sizeof(why)));
    for (uint32_t offset = 99; offset <= WARPRSA_KEY_CERTIFICATES_MAX;
         offset += offset < 101 ? 1 : 65435) {
        assert_true(ask_from(&control, offset, &reply));
        assert_int_equal(reply.type, WARPRSA_MESSAGE_CERTIFICATES);
        assert_int_equal(reply.total, 100);
        assert_int_equal(reply.offset, offset);
        assert_int_equal(reply.bytes, offset == 99);
    }
    assert_int_equal(test_server_broken(&s), 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_false(ask_from(&control, absurd[i], &reply));
        assert_int_equal(test_server_broken(&s), i + 1);
        assert_true(test_server_logged(&s, "from a byte on that no key"));
        warprsa_control_connection_close(&control);
        assert_true(warprsa_control_connection_open(&control, s.path, why,
                                                    sizeof(why)));
    }
    warprsa_control_connection_close(&control);
}

/* A client that asks without reading can't fill the kernel's memory. */
TEST_IN(questions_without_reading, begin, end)
{
    static const uint32_t types[] = {WARPRSA_MESSAGE_LIST,
                                     WARPRSA_MESSAGE_GET_CERTIFICATES};
    warprsa_control_connection control;
    char why[300];

    for (unsigned type = 0; type < 2; type++) {
        warprsa_message message = {.type = types[type], .name = "key07"};

        assert_true(warprsa_control_connection_open(&control, s.path, why,
                                                    sizeof(why)));
        for (unsigned i = 0; i < 2; i++)
            (void)warprsa_message_send(control.socket.fd, &message, NULL, 0);
        WAIT_UNTIL(test_server_broken(&s) == type + 1);
        warprsa_control_connection_close(&control);
    }
}

RUN_TESTS(NULL, NULL)
