/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The map of identities: what a line may be, what a reload changes, and the
 * limits.
 */
#include "tests/unit/support/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/remote/server/identities.h"

static char path[] = "/tmp/warprsa-identities-XXXXXX";
static char why[256];

static int make_file(void **state)
{
    int fd = mkstemp(path);

    return fd < 0 || close(fd) != 0;
}

static int remove_file(void **state)
{
    return unlink(path);
}

static bool read_text(warprsa_identities *table, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return warprsa_identities_read(table, path, why, sizeof(why));
}

TEST(lines)
{
    static const char *const bad[] = {
        "dns:a session=4\n",    "dns:a sessions=\n",
        "dns:a sessions=65\n",  "dns:a sessions=-1\n",
        "dns:a rate=1e3\n",     "dns:a keys=999999999999999999999\n",
        "dns:a sessions=4 x\n",
    };
    warprsa_identities table;
    warprsa_identity *one;

    assert_true(warprsa_identities_init(&table));
    assert_true(read_text(&table, "# a comment\n\n"
                                  "dns:a sessions=2 keys=3 operations=4 "
                                  "rate=5\n"
                                  "uri:spiffe://b/c rate=7\n"
                                  "uri:spiffe://b/c rate=6\n"));
    one = warprsa_identities_find(&table, "dns:a");
    assert_non_null(one);
    assert_int_equal(one->sessions_max, 2);
    assert_int_equal(one->keys_max, 3);
    assert_int_equal(one->operations_max, 4);
    assert_int_equal(one->rate_max, 5);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        why[0] = '\0';
        if (read_text(&table, bad[i]))
            fail_msg("taken: %s", bad[i]);
        assert_true(why[0] != '\0');
        /* Who is named there has what it had. */
        assert_int_equal(one->sessions_max, 2);
        assert_false(one->removed);
    }
    assert_null(warprsa_identities_find(&table, "uri:spiffe://b/c"));
    warprsa_identities_release(&table, one);
    assert_true(read_text(&table, "uri:spiffe://b/c rate=6\n"));
    one = warprsa_identities_find(&table, "uri:spiffe://b/c");
    assert_non_null(one);
    assert_int_equal(one->rate_max, 6);
    warprsa_identities_release(&table, one);
    assert_null(warprsa_identities_find(&table, "dns:b"));
    warprsa_identities_free(&table);
}

TEST(a_reload)
{
    warprsa_identities table;
    warprsa_identity *a, *b;

    assert_true(warprsa_identities_init(&table));
    assert_true(read_text(&table, "dns:a\ndns:b\n"));
    a = warprsa_identities_find(&table, "dns:a");
    b = warprsa_identities_find(&table, "dns:b");
    assert_true(a != NULL && b != NULL && a->number != b->number);
    assert_true(read_text(&table, "dns:a operations=1\ndns:c\n"));
    assert_false(a->removed);
    assert_int_equal(a->operations_max, 1);
    assert_true(b->removed);
    assert_null(warprsa_identities_find(&table, "dns:b"));
    /* Back again, while the old one is still in use. */
    assert_true(read_text(&table, "dns:b\n"));
    assert_true(a->removed);
    warprsa_identities_release(&table, a);
    warprsa_identities_release(&table, b);
    b = warprsa_identities_find(&table, "dns:b");
    assert_non_null(b);
    assert_false(b->removed);
    warprsa_identities_release(&table, b);
    warprsa_identities_free(&table);
}

static bool is_there(warprsa_identities *table, const char *name)
{
    warprsa_identity *one = warprsa_identities_find(table, name);

    if (one != NULL)
        warprsa_identities_release(table, one);
    return one != NULL;
}

/* Who was taken out stays out, whatever is wrong with other lines; and nobody
 * comes in by a line that is wrong. */
TEST(mistakes)
{
    static const char *const bad[] = {
        "dns:a rate=x\n", "subject:CN=a\n",   "a\n",
        "\"dns:a\n",      "dns:new keys=0\n", "dns:a sessions=65\n",
    };
    char line[1100], text[1300];
    warprsa_identities table;
    warprsa_identity *gone;

    memset(line, 'x', sizeof(line));
    strcpy(line + sizeof(line) - 2, "\n");
    for (size_t i = 0; i <= sizeof(bad) / sizeof(bad[0]); i++) {
        const bool is_long = i == sizeof(bad) / sizeof(bad[0]);

        assert_true(warprsa_identities_init(&table));
        assert_true(read_text(&table, "dns:a\ndns:gone\n"));
        gone = warprsa_identities_find(&table, "dns:gone");
        snprintf(text, sizeof(text), "dns:b\n%sdns:c rate=3\n",
                 is_long ? line : bad[i]);
        assert_false(read_text(&table, text));
        assert_non_null(strstr(why, ":2: expected "));
        assert_true(gone->removed);
        assert_null(warprsa_identities_find(&table, "dns:gone"));
        assert_null(warprsa_identities_find(&table, "dns:new"));
        assert_true(is_there(&table, "dns:b") && is_there(&table, "dns:c"));
        warprsa_identities_release(&table, gone);
        warprsa_identities_free(&table);
    }
}

/* A file that is not there removes nobody. */
TEST(no_file)
{
    warprsa_identities table;

    assert_true(warprsa_identities_init(&table));
    assert_true(read_text(&table, "dns:a\n"));
    assert_false(
        warprsa_identities_read(&table, "/none/such", why, sizeof(why)));
    assert_string_equal(why, "/none/such: No such file or directory");
    assert_true(is_there(&table, "dns:a"));
    warprsa_identities_free(&table);
}

/* Further sessions are half as many as sessions, take none of their places, and
 * share the limits of operations with them. */
TEST(further)
{
    const uint64_t now = 1000 * WARPRSA_NS_PER_SEC;
    warprsa_identities table;
    warprsa_identity *one;

    assert_true(warprsa_identities_init(&table));
    assert_true(read_text(&table, "dns:a sessions=1\n"
                                  "dns:b sessions=4 operations=3 rate=10\n"));
    one = warprsa_identities_find(&table, "dns:a");
    assert_false(warprsa_identity_begin_further(one));
    warprsa_identities_release(&table, one);
    one = warprsa_identities_find(&table, "dns:b");
    assert_true(warprsa_identity_begin_further(one));
    assert_true(warprsa_identity_begin_further(one));
    assert_false(warprsa_identity_begin_further(one));
    for (unsigned i = 0; i < 4; i++)
        assert_true(warprsa_identity_begin_session(one));
    assert_false(warprsa_identity_begin_session(one));
    for (unsigned i = 0; i < 4 + 2 + 2; i++)
        assert_true(warprsa_identity_begin_connection(one));
    assert_false(warprsa_identity_begin_connection(one));
    warprsa_identity_end_further(one);
    assert_false(warprsa_identity_begin_session(one));
    assert_true(warprsa_identity_begin_further(one));
    /* The rate allows two at once, the number three. */
    assert_true(warprsa_identity_begin_operation(one, now));
    assert_true(warprsa_identity_begin_operation(one, now));
    assert_false(warprsa_identity_begin_operation(one, now));
    assert_true(
        warprsa_identity_begin_operation(one, now + WARPRSA_NS_PER_SEC));
    assert_false(
        warprsa_identity_begin_operation(one, now + WARPRSA_NS_PER_SEC));
    warprsa_identities_release(&table, one);
    warprsa_identities_free(&table);
}

TEST(limits)
{
    const uint64_t now = 1000 * WARPRSA_NS_PER_SEC;
    warprsa_identities table;
    warprsa_identity *one;
    unsigned taken = 0;

    assert_true(warprsa_identities_init(&table));
    assert_true(read_text(&table, "dns:a sessions=1 operations=2\n"
                                  "dns:b rate=1000\n"));
    one = warprsa_identities_find(&table, "dns:a");
    assert_true(warprsa_identity_begin_session(one));
    assert_false(warprsa_identity_begin_session(one));
    warprsa_identity_end_session(one);
    assert_true(warprsa_identity_begin_session(one));
    for (unsigned i = 0; i < 3; i++)
        assert_true(warprsa_identity_begin_connection(one));
    assert_false(warprsa_identity_begin_connection(one));
    assert_true(warprsa_identity_begin_operation(one, now));
    assert_true(warprsa_identity_begin_operation(one, now));
    assert_false(warprsa_identity_begin_operation(one, now));
    warprsa_identity_end_operation(one);
    assert_true(warprsa_identity_begin_operation(one, now));
    warprsa_identities_release(&table, one);
    /* Ten seconds at 1000 a second, asked for 10,000 times a second. */
    one = warprsa_identities_find(&table, "dns:b");
    for (unsigned i = 0; i < 100000; i++)
        if (warprsa_identity_begin_operation(
                one, now + i * (WARPRSA_NS_PER_SEC / 10000))) {
            warprsa_identity_end_operation(one);
            taken++;
        }
    assert_in_range(taken, 9900, 11100);
    warprsa_identities_release(&table, one);
    warprsa_identities_free(&table);
}

RUN_TESTS(make_file, remove_file)
