/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Records on their way to the vault: in their order, of a reader that dies, and
 * with anything in any field.
 */
#include "tests/unit/vault/transfer_fixture.h"

/* What the receiving process sends reaches nobody. */
TEST_IN(test_one_way, begin, end)
{
    assert_int_equal(send(ends[0], "x", 1, MSG_NOSIGNAL), -1);
    assert_int_equal(warprsa_vault_receive(&receiver),
                     WARPRSA_VAULT_NOTHING_YET);
    close(ends[1]);
    assert_int_equal(warprsa_vault_receive(&receiver), WARPRSA_VAULT_CLOSED);
    close(ends[0]);
    assert_true(warprsa_vault_transfer_open(ends));
}

/* A reader that dies, and the next. */
TEST_IN(test_starts_over, begin, end)
{
    send_kind(WARPRSA_RECORD_BEGIN);
    send_key("www", pkeys[0]);
    assert_received(WARPRSA_VAULT_NOTHING_YET);
    assert_false(has_key("www"));
    send_kind(WARPRSA_RECORD_BEGIN);
    send_key("ca", pkeys[1]);
    send_kind(WARPRSA_RECORD_END);
    assert_received(WARPRSA_VAULT_REPLACED);
    assert_received(WARPRSA_VAULT_NOTHING_YET);
    assert_false(has_key("www"));
    assert_true(has_key("ca"));
}

/* All of a key's certificates, as far as a receiver looks at them. */
static void send_certificate(const char *name)
{
    memset(&record, 0, sizeof(record));
    snprintf(record.name, sizeof(record.name), "%s", name);
    record.piece.total = record.piece.bytes = 1;
    send_kind(WARPRSA_RECORD_CERTIFICATES);
}

/* A key that is none is refused alone, with its certificates. */
TEST_IN(test_unsound_key, begin, end)
{
    send_kind(WARPRSA_RECORD_BEGIN);
    vault_keys_numbers(&record.numbers, pkeys[0]);
    record.numbers.lengths[4] = 1000000;
    strcpy(record.name, "www");
    send_kind(WARPRSA_RECORD_KEY);
    send_certificate("www");
    send_kind(WARPRSA_RECORD_SO_FAR);
    send_key("ca", pkeys[1]);
    send_certificate("ca");
    send_kind(WARPRSA_RECORD_END);
    assert_received(WARPRSA_VAULT_REPLACED);
    assert_logged("key www: refused: its numbers are none of a key, or there "
                  "is no memory\nkey ca: added: RSA of 1024 bits, with "
                  "certificates\n");
}

/* Sends bytes as they are in the middle of a reading, which has to fail, and
 * shows that the next reading is taken. */
static void assert_malformed(const void *bytes, size_t size)
{
    warprsa_vault_record begin_record = {.kind = WARPRSA_RECORD_BEGIN};

    assert_true(warprsa_vault_transfer_send(ends[1], &begin_record));
    assert_int_equal(send(ends[1], bytes, size, 0), size);
    assert_received(WARPRSA_VAULT_MALFORMED);
    begin_record.kind = WARPRSA_RECORD_END;
    assert_true(warprsa_vault_transfer_send(ends[1], &begin_record));
    assert_received(WARPRSA_VAULT_MALFORMED);
}

TEST_IN(test_malformed, begin, end)
{
    static char bytes[2 * sizeof(warprsa_vault_record)];
    const size_t head = offsetof(warprsa_vault_record, numbers);
    const size_t why = head + WARPRSA_VAULT_WHY_SIZE;

    memset(&record, 0, sizeof(record));
    assert_malformed(bytes, 1);
    assert_malformed(bytes, sizeof(bytes));
    for (uint32_t kind = 0; kind < 20; kind++) {
        record.kind = kind;
        assert_malformed(&record, head - 1);
        assert_malformed(&record, head + 1);
        assert_malformed(&record, sizeof(record));
    }
    /* Texts without an end. */
    memset(record.why, 'w', sizeof(record.why));
    record.kind = WARPRSA_RECORD_REFUSED_KEY;
    assert_malformed(&record, why);
    record.kind = WARPRSA_RECORD_NO_RULES;
    assert_malformed(&record, why);
    record.kind = WARPRSA_RECORD_NO_KEYS;
    assert_malformed(&record, why);
    /* A reason that is none. */
    memset(&record, 0, sizeof(record));
    record.kind = WARPRSA_RECORD_NO_RULES;
    assert_malformed(&record, why);
    record.kind = WARPRSA_RECORD_NO_KEYS;
    assert_malformed(&record, why);
    memset(record.name, 'n', sizeof(record.name));
    record.kind = WARPRSA_RECORD_REFUSED_KEY;
    assert_malformed(&record, why);
    /* A rule that no parser makes. */
    memset(&record, 0, sizeof(record));
    record.kind = WARPRSA_RECORD_RULE;
    assert_malformed(&record, head + sizeof(record.rule));
    assert_logged("");
    /* An END without a BEGIN. */
    send_kind(WARPRSA_RECORD_END);
    assert_received(WARPRSA_VAULT_MALFORMED);
}

TEST_IN(test_malformed_pieces, begin, end)
{
    static const struct {
        uint32_t total, bytes;
    } pieces[] = {
        {0, 0},
        {0, 1},
        {1, 0},
        {1, 2},
        {UINT32_MAX, 1},
        {WARPRSA_VAULT_CERTIFICATE_BYTES_MAX + 1, 1},
        {WARPRSA_VAULT_CERTIFICATE_BYTES_MAX, WARPRSA_VAULT_PIECE_BYTES + 1},
        {1, 1}, /* of no key */
    };
    const size_t size =
        offsetof(warprsa_vault_record, piece) + sizeof(warprsa_vault_piece);

    memset(&record, 0, sizeof(record));
    strcpy(record.name, "www");
    record.kind = WARPRSA_RECORD_CERTIFICATES;
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        record.piece.total = pieces[i].total;
        record.piece.bytes = pieces[i].bytes;
        assert_malformed(&record, size);
    }
    /* Pieces that disagree about the whole. */
    send_kind(WARPRSA_RECORD_BEGIN);
    send_key("www", pkeys[0]);
    memset(&record, 0, sizeof(record));
    strcpy(record.name, "www");
    record.piece.total = 3;
    record.piece.bytes = 2;
    send_kind(WARPRSA_RECORD_CERTIFICATES);
    record.piece.total = 1;
    send_kind(WARPRSA_RECORD_CERTIFICATES);
    assert_received(WARPRSA_VAULT_MALFORMED);
    /* An END amid pieces. */
    send_kind(WARPRSA_RECORD_BEGIN);
    send_key("www", pkeys[0]);
    send_half_of_certificates("www");
    send_kind(WARPRSA_RECORD_END);
    assert_received(WARPRSA_VAULT_MALFORMED);
    assert_false(has_key("www"));
}

/* What the sender says reaches the log as one line. */
TEST_IN(test_reasons_are_printable, begin, end)
{
    send_kind(WARPRSA_RECORD_BEGIN);
    memset(&record, 0, sizeof(record));
    strcpy(record.why, "a\nb");
    send_kind(WARPRSA_RECORD_NO_KEYS);
    strcpy(record.why, "c\033d");
    send_kind(WARPRSA_RECORD_NO_RULES);
    send_kind(WARPRSA_RECORD_END);
    assert_received(WARPRSA_VAULT_REPLACED);
    assert_logged("keys not read: a?b; all stay as they were\n"
                  "rules not read: c?d; no key can be used\n");
}

RUN_TESTS(set_up, tear_down)
