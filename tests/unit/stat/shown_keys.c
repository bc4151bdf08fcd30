/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Accounts of the vault's keys wherever they are shown. This process has some,
 * as warprsad does: warprsa-stat's own functions find and print them. What
 * another user, another version or another process has made is not shown, and
 * no text of a block reaches the output with a quote.
 */
#include "tests/unit/support/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "batching/queue/counters.h"
#include "batching/stat/prometheus.h"
#include "tests/unit/support/stat_output.h"

enum {
    OTHER_USER = 61000,
};

static warprsa_counters *block;
static warprsa_key_accounts *accounts;
static warprsa_stats_reader reader;
static warprsa_reading reading;

static void count(const char *key, const char *by, uint64_t uses,
                  warprsa_denial denial, uint64_t denials)
{
    warprsa_key_account *row =
        warprsa_key_accounts_find(accounts, key, by, true);

    row->uses += uses;
    row->denials[denial] += denials;
}

static int setup(void **state)
{
    warprsa_stats_open(&reader);
    block = warprsa_counters_new();
    accounts = warprsa_key_accounts_new();
    if (block == NULL || accounts == NULL)
        return -1;
    count("www", "33", 812, WARPRSA_DENIED_PADDING, 3);
    count("www", "dns:gw1.example.org", 5, WARPRSA_DENIED_RATE, 0);
    count("ca", "33", 0, WARPRSA_DENIED_USER, 9);
    count("silent", "33", 0, WARPRSA_DENIED_USER, 0);
    return 0;
}

static int teardown(void **state)
{
    warprsa_key_accounts_free(accounts);
    warprsa_counters_free(block);
    warprsa_stats_close(&reader);
    return 0;
}

static void assert_shown(const char *text, const char *wanted)
{
    if (strstr(text, wanted) == NULL)
        fail_msg("there is no \"%s\" in: %s", wanted, text);
}

TEST_IN(as_text, setup, teardown)
{
    const char *text = stat_this_process(NULL);

    assert_shown(text, "\n  key www by 33: 812 uses, 3 denied (padding)\n");
    assert_shown(text, "\n  key www by dns:gw1.example.org: 5 uses\n");
    assert_shown(text, "\n  key ca by 33: 0 uses, 9 denied (user)\n");
    assert_null(strstr(text, "silent"));
    assert_null(strstr(text, "key other"));
}

TEST_IN(as_json, setup, teardown)
{
    const char *text = stat_this_process("--json");

    assert_shown(text,
                 "\"keys_by_user\": [{\"key\": \"www\", \"by\": \"33\", "
                 "\"uses\": 812, \"denied_no_key\": 0, \"denied_user\": 0, "
                 "\"denied_operation\": 0, \"denied_padding\": 3, "
                 "\"denied_digest\": 0, \"denied_rate\": 0}, {");
    assert_shown(text, "\"denied_user\": 9, \"denied_operation\": 0, "
                       "\"denied_padding\": 0, \"denied_digest\": 0, "
                       "\"denied_rate\": 0}]}");
}

/* Two daemons of one user that have a key of the same name are one sum, and
 * those of another user another. */
TEST_IN(in_prometheus, setup, teardown)
{
    static warprsa_user_seat seats[2] = {{.label = "warprsa"},
                                         {.label = "mallory"}};
    static char text[65536];
    warprsa_programs programs = {0};
    FILE *to = fmemopen(text, sizeof(text), "w");

    assert_non_null(to);
    for (unsigned i = 0; i < 3; i++)
        assert_true(
            warprsa_key_sums_add(&programs.keys, accounts, &seats[i / 2]));
    warprsa_key_sums_merge(&programs.keys);
    assert_int_equal(programs.keys.count, 6);
    warprsa_prometheus_write(&programs, to);
    assert_int_equal(fclose(to), 0);
    assert_shown(text, "\n# TYPE warprsad_key_uses_total counter\n"
                       "warprsad_key_uses_total{user=\"warprsa\",key=\"ca\","
                       "by=\"33\"} 0\n"
                       "warprsad_key_uses_total{user=\"warprsa\",key=\"www\","
                       "by=\"33\"} 1624\n"
                       "warprsad_key_uses_total{user=\"warprsa\",key=\"www\","
                       "by=\"dns:gw1.example.org\"} 10\n"
                       "warprsad_key_uses_total{user=\"mallory\",key=\"ca\",");
    assert_shown(text, "\nwarprsad_key_denials_total{user=\"warprsa\","
                       "key=\"www\",by=\"33\",reason=\"padding\"} 6\n");
    assert_shown(text, "\nwarprsad_key_denials_total{user=\"mallory\","
                       "key=\"ca\",by=\"33\",reason=\"user\"} 9\n");
    warprsa_programs_free(&programs);
}

/* Of all processes, this one among them. */
TEST_IN(of_all_processes, setup, teardown)
{
    static warprsa_programs programs;
    char why[200] = "";
    uint64_t uses = 0;

    count("unlike-any-other", "33", 77, WARPRSA_DENIED_USER, 0);
    assert_true(warprsa_programs_collect(&programs, why, sizeof(why)));
    for (size_t i = 0; i < programs.keys.count; i++)
        if (strcmp(programs.keys.list[i].key, "unlike-any-other") == 0)
            uses += programs.keys.list[i].uses;
    assert_int_equal(uses, 77);
    warprsa_programs_free(&programs);
}

static bool has_accounts(void)
{
    warprsa_stats_read(&reader, getpid(), NULL, &reading);
    return reading.has_accounts;
}

TEST_IN(not_of_another_version, setup, teardown)
{
    assert_true(has_accounts());
    accounts->version++;
    assert_false(has_accounts());
    accounts->version--;
    accounts->pid++;
    assert_false(has_accounts());
    accounts->pid--;
    accounts->magic[0] = 'W';
    assert_false(has_accounts());
    accounts->magic[0] = 'w';
    assert_true(has_accounts());
    warprsa_key_accounts_free(accounts);
    accounts = NULL;
    assert_false(has_accounts());
}

TEST_IN(not_of_another_user, setup, teardown)
{
    int fd;

    if (geteuid() != 0)
        skip();
    fd = memfd_create(WARPRSA_KEY_ACCOUNTS_FILE, MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, accounts, sizeof(*accounts)), sizeof(*accounts));
    warprsa_key_accounts_free(accounts);
    accounts = NULL;
    assert_true(has_accounts());
    assert_int_equal(fchown(fd, OTHER_USER, OTHER_USER), 0);
    assert_false(has_accounts());
    close(fd);
}

/* A block that somebody has made up. */
TEST_IN(clean_texts, setup, teardown)
{
    warprsa_key_account *row = &accounts->rows[0];
    warprsa_key_sum sum;

    memset(row->key, '"', sizeof(row->key));
    memset(row->by, '\n', sizeof(row->by));
    assert_true(warprsa_key_sum_read(accounts, 0, NULL, &sum));
    assert_int_equal(strlen(sum.key), sizeof(sum.key) - 1);
    assert_int_equal(strspn(sum.key, "?"), sizeof(sum.key) - 1);
    assert_int_equal(strspn(sum.by, "?"), sizeof(sum.by) - 1);
    row->whole = 0;
    assert_false(warprsa_key_sum_read(accounts, 0, NULL, &sum));
}

RUN_TESTS(NULL, NULL)
