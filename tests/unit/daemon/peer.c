/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The groups that the vault's rules see of a client. To have other groups than
 * before takes root.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/daemon/server/peer.h"

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FIRST = 70000, /* group, of those that follow one another */
    GROUPS_MAX = 2048,
};

/* What a process finds out. */
enum {
    FOUND,
    OTHERS,
    NOT_ALLOWED
};

/* Whether a process that has `count` further groups is found to have the
 * `expected` first. Runs in a process of its own, which has them ever after. */
static int find(unsigned count, unsigned expected)
{
    static gid_t groups[GROUPS_MAX];
    const struct ucred self = {getpid(), geteuid(), getegid()};
    warprsa_peer peer;
    int ends[2];

    for (unsigned i = 0; i < count && i < GROUPS_MAX; i++)
        groups[i] = FIRST + i;
    if (setgroups(count, groups) != 0)
        return NOT_ALLOWED;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
        return OTHERS;
    warprsa_peer_find(&peer, ends[0], &self);
    for (unsigned i = 0; i < peer.group_count; i++)
        if (peer.groups[i] != groups[i])
            return OTHERS;
    return peer.group_count == expected ? FOUND : OTHERS;
}

static void assert_found(unsigned count, unsigned expected)
{
    int status = -1;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(find(count, expected));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    /* A user namespace may have no such groups. */
    if (WEXITSTATUS(status) == NOT_ALLOWED)
        skip();
    assert_int_equal(WEXITSTATUS(status), FOUND);
}

/* A user of Active Directory is in up to 1,015 groups. */
TEST(test_groups)
{
    assert_found(0, 0);
    assert_found(1, 1);
    assert_found(64, 64);
    assert_found(65, 65);
    assert_found(1015, 1015);
    assert_found(WARPRSA_PEER_GROUPS_MAX, WARPRSA_PEER_GROUPS_MAX);
    assert_found(WARPRSA_PEER_GROUPS_MAX + 1, 0);
}

RUN_TESTS(NULL, NULL)
