/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Users and their labels: each label is one user's, and a user of thousands of
 * ids, processes and files leaves the others theirs.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/stat/users.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SERVICE = 100,      /* up to 999: named s100 and so on */
    NAMED = 1000,       /* up to 59999: u1000 */
    TWIN = 60000,       /* has the name of 1000 */
    DYNAMIC = 62000,    /* a service's, named like one */
    NAMELESS = 3000000, /* and above */
};

static warprsa_users *users;
static unsigned looked_up;

struct passwd *__wrap_getpwuid(uid_t uid);
struct passwd *__wrap_getpwuid(uid_t uid)
{
    static char name[32];
    static struct passwd found = {.pw_name = name};

    looked_up++;
    if (uid >= NAMELESS || (uid > TWIN && uid != DYNAMIC))
        return NULL;
    if (uid == 0)
        strcpy(name, "root");
    else if (uid < NAMED || uid == DYNAMIC)
        snprintf(name, sizeof(name), "s%u", (unsigned)uid);
    else
        snprintf(name, sizeof(name), "u%u",
                 (unsigned)(uid == TWIN ? NAMED : uid));
    return &found;
}

static int setup(void **state)
{
    looked_up = 0;
    users = calloc(1, sizeof(*users));
    return users != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    free(users);
    return 0;
}

static const char *label_of(uid_t uid)
{
    return warprsa_users_find(users, uid)->label;
}

TEST(what_may_be_a_label)
{
    static const char *const names[] = {"root",   "_apt",          "www-data",
                                        "a.b_c$", "m@example.org", "x"};
    static const char *const not_names[] = {
        "",     "0",     "1000", "other", "a\"b", "a\\b",
        "a\nb", "DOM+ä", "a b",  "-a",    "a{b}", "a,b=c",
    };
    char label[WARPRSA_USER_LABEL_SIZE], lengthy[100];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        warprsa_users_label(7, names[i], label);
        assert_string_equal(label, names[i]);
    }
    for (size_t i = 0; i < sizeof(not_names) / sizeof(not_names[0]); i++) {
        warprsa_users_label(7, not_names[i], label);
        assert_string_equal(label, "7");
    }
    memset(lengthy, 'a', sizeof(lengthy));
    lengthy[WARPRSA_USER_LABEL_SIZE] = '\0';
    warprsa_users_label(7, lengthy, label);
    assert_string_equal(label, "7");
    lengthy[WARPRSA_USER_LABEL_SIZE - 1] = '\0';
    warprsa_users_label(7, lengthy, label);
    assert_string_equal(label, lengthy);
    warprsa_users_label((uid_t)-2, NULL, label);
    assert_string_equal(label, "4294967294");
}

TEST_IN(one_label_each, setup, teardown)
{
    assert_string_equal(label_of(0), "root");
    assert_string_equal(label_of(NAMED), "u1000");
    assert_string_equal(label_of(TWIN), "60000");
    assert_string_equal(label_of(NAMELESS), "3000000");
    assert_string_equal(label_of((uid_t)-1), "other");
    assert_ptr_equal(warprsa_users_find(users, NAMED),
                     warprsa_users_find(users, NAMED));
    assert_int_equal(users->count, 5);
}

/* Whoever comes first, each kind has its seats. */
TEST_IN(a_user_with_many_ids, setup, teardown)
{
    char label[16];
    unsigned before;

    for (unsigned i = 0; i < 500; i++)
        (void)label_of(NAMELESS + i);
    assert_string_equal(label_of(NAMELESS), "3000000");
    assert_string_equal(label_of(NAMELESS + WARPRSA_NUMBERED_USERS_MAX),
                        "other");
    for (unsigned i = 0; i < WARPRSA_NAMED_USERS_MAX; i++) {
        snprintf(label, sizeof(label), "u%u", NAMED + i);
        assert_string_equal(label_of(NAMED + i), label);
    }
    assert_string_equal(label_of(NAMED + WARPRSA_NAMED_USERS_MAX), "other");
    assert_string_equal(label_of(0), "root");
    assert_string_equal(label_of(SERVICE), "s100");
    assert_string_equal(label_of(DYNAMIC), "s62000");
    for (unsigned i = 3; i < WARPRSA_SERVICE_USERS_MAX; i++)
        assert_string_not_equal(label_of(SERVICE + i), "other");
    assert_string_equal(label_of(SERVICE + 200), "other");
    assert_int_equal(users->count, WARPRSA_USERS_MAX + 1);
    before = looked_up; /* each once */
    for (unsigned i = 0; i < 500; i++)
        (void)label_of(NAMELESS + i);
    assert_int_equal(looked_up, before);
}

TEST_IN(looks, setup, teardown)
{
    uint64_t *mine = warprsa_users_looks(users, NAMED);
    uint64_t *theirs = warprsa_users_looks(users, NAMED + 1);
    uint64_t *rest;

    assert_null(warprsa_users_looks(users, 0));
    assert_int_equal(*mine, WARPRSA_USER_LOOKS_MAX);
    *mine = 0;
    assert_ptr_equal(warprsa_users_looks(users, NAMED), mine);
    assert_int_equal(*theirs, WARPRSA_USER_LOOKS_MAX);
    /* Those that are too many to be known share an allowance, and a seat. */
    for (unsigned i = 0; i < WARPRSA_USERS_KNOWN_MAX; i++)
        (void)warprsa_users_looks(users, NAMELESS + i);
    rest = warprsa_users_looks(users, NAMELESS + WARPRSA_USERS_KNOWN_MAX);
    assert_ptr_equal(rest, warprsa_users_looks(users, NAMED + 2));
    assert_string_equal(label_of(NAMED + 2), "other");
    assert_string_equal(label_of(NAMED + 1), "u1001");
    assert_int_equal(*theirs, WARPRSA_USER_LOOKS_MAX);
}

RUN_TESTS(NULL, NULL)
