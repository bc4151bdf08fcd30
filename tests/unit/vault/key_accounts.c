/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The block of accounts that warprsa-stat reads: one row for each key and user,
 * room for those who are allowed something whatever others try, and the same
 * rows for the next serving process.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/vault/wire/key_accounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static warprsa_key_accounts *accounts;

static int setup(void **state)
{
    accounts = warprsa_key_accounts_new();
    return accounts != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    warprsa_key_accounts_free(accounts);
    warprsa_key_accounts_free(NULL);
    return 0;
}

static warprsa_key_account *find(const char *key, const char *by)
{
    return warprsa_key_accounts_find(accounts, key, by, true);
}

TEST_IN(test_rows, setup, teardown)
{
    warprsa_key_account *www = find("www", "33");

    assert_memory_equal(accounts->magic, "warprsa-account", 16);
    assert_int_equal(accounts->version, warprsa_key_accounts_version());
    assert_int_equal(accounts->pid, getpid());
    assert_string_equal(www->key, "www");
    assert_string_equal(www->by, "33");
    assert_int_equal(www->whole, 1);
    assert_ptr_equal(find("www", "33"), www);
    assert_ptr_not_equal(find("www", "34"), www);
    assert_ptr_not_equal(find("ww", "33"), www);
    /* Found as well if it is allowed nothing now. */
    assert_ptr_equal(warprsa_key_accounts_find(accounts, "www", "33", false),
                     www);
    assert_int_equal(accounts->allowed_taken, 3);
    assert_int_equal(accounts->denied_taken, 0);
}

/* Who is allowed nothing fills its own rows, and no others. */
TEST_IN(test_room, setup, teardown)
{
    warprsa_key_account *rest = &accounts->rows[WARPRSA_KEY_ACCOUNTS_MAX];
    const unsigned more = 5;
    unsigned own[2] = {0};

    assert_string_equal(rest->key, "other");
    assert_string_equal(rest->by, "other");
    for (unsigned allowed = 0; allowed < 2; allowed++)
        for (unsigned i = 0; i < WARPRSA_KEY_ACCOUNTS_MAX + more; i++) {
            char by[16];

            snprintf(by, sizeof(by), "%u", 10000 * allowed + i);
            own[allowed] += warprsa_key_accounts_find(accounts, "www", by,
                                                      allowed != 0) != rest;
        }
    assert_int_equal(own[0], WARPRSA_ACCOUNTS_DENIED_MAX);
    assert_int_equal(own[1], WARPRSA_ACCOUNTS_ALLOWED_MAX);
    assert_ptr_equal(find("www", "99999"), rest);
    assert_ptr_not_equal(find("www", "10000"), rest);
}

/* A serving process counts, dies within a row, and is followed by another. */
TEST_IN(test_next_process, setup, teardown)
{
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        find("www", "33")->uses += 7;
        atomic_fetch_add(&accounts->allowed_taken, 1);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(find("www", "33")->uses, 7);
    assert_ptr_equal(find("www", "34"), &accounts->rows[2]);
    assert_int_equal(accounts->rows[1].whole, 0);
}

TEST(test_denial_names)
{
    assert_string_equal(warprsa_denial_name(WARPRSA_DENIED_NO_KEY), "no_key");
    assert_string_equal(warprsa_denial_name(WARPRSA_DENIED_PADDING), "padding");
    assert_string_equal(warprsa_denial_name(WARPRSA_DENIED_RATE), "rate");
}

RUN_TESTS(NULL, NULL)
