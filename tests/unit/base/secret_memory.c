/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory for secrets: what the kernel is told of it, how much of it is locked,
 * that a piece is zeros when it is taken and nobody else's, that it goes back.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/base/secret_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/support/emulator.h"
#include "tests/unit/support/mappings.h"

enum {
    MIB = 1 << 20,
    KEY_BYTES = 3636,
    KEYS = 16384,
};

typedef struct sum {
    uint64_t at; /* an address that is looked for; 0: all */
    mapping found;
    unsigned secret; /* mappings for secrets */
} sum;

static void add(void *arg, const mapping *m)
{
    sum *s = arg;

    if (m->wiped_on_fork && !m->dumped)
        s->secret++;
    if (s->at >= m->from && s->at < m->to)
        s->found = *m;
}

static mapping mapping_of(const void *memory)
{
    sum s = {.at = (uintptr_t)memory};

    assert_true(each_mapping(getpid(), add, &s));
    return s.found;
}

static unsigned secret_mappings(void)
{
    sum s = {0};

    assert_true(each_mapping(getpid(), add, &s));
    return s.secret;
}

static long locked_kib(void)
{
    return status_kib(getpid(), "VmLck");
}

/* False: the hard limit is lower. */
static bool may_lock(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
    limit.rlim_cur = bytes;
    return setrlimit(RLIMIT_MEMLOCK, &limit) == 0;
}

static bool is_zero(const uint8_t *memory, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (memory[i] != 0)
            return false;
    return true;
}

/* An emulator answers for the kernel, and knows less of memory. */
static void needs_the_kernel(void)
{
    if (emulator()[0] != '\0')
        skip();
}

TEST(the_kernel_is_told)
{
    warprsa_secret_pool pool;
    uint8_t *piece, *mapped;

    needs_the_kernel();
    if (!may_lock(4 * MIB))
        skip();
    assert_true(warprsa_secret_pool_init(&pool));
    assert_int_equal(secret_mappings(), 0); /* nothing before it is needed */
    piece = warprsa_secret_take(&pool, KEY_BYTES);
    mapped = warprsa_secret_map(KEY_BYTES);
    assert_non_null(piece);
    assert_non_null(mapped);
    piece[0] = mapped[0] = 1;
    for (int i = 0; i < 2; i++) {
        mapping m = mapping_of(i == 0 ? piece : mapped);

        assert_false(m.dumped);
        assert_true(m.wiped_on_fork);
        assert_true(m.locked);
    }
    assert_true(warprsa_secret_is_locked(piece, KEY_BYTES));
    assert_true(warprsa_secret_is_locked(mapped, KEY_BYTES));
    warprsa_secret_give(&pool, piece, KEY_BYTES);
    warprsa_secret_give(&pool, NULL, KEY_BYTES);
    warprsa_secret_unmap(mapped, KEY_BYTES);
    warprsa_secret_unmap(NULL, KEY_BYTES);
    warprsa_secret_pool_free(&pool);
    assert_int_equal(secret_mappings(), 0);
    assert_int_equal(locked_kib(), 0);
}

/* A half of the limit is the program's, and what is large leaves a half of the
 * rest to what comes later. */
TEST(locks_within_the_limit)
{
    uint8_t *large, *key, *more[8];

    needs_the_kernel();
    if (!may_lock(2 * MIB))
        skip();
    large = warprsa_secret_map(16 * MIB);
    assert_int_equal(locked_kib(), 512);
    assert_true(warprsa_secret_is_locked(large, KEY_BYTES));
    assert_false(warprsa_secret_is_locked(large, 16 * MIB));
    key = warprsa_secret_map(KEY_BYTES);
    assert_true(warprsa_secret_is_locked(key, KEY_BYTES));
    for (int i = 0; i < 8; i++) {
        more[i] = warprsa_secret_map(MIB);
        assert_non_null(more[i]);
    }
    assert_in_range(locked_kib(), 900, 1024);
    assert_true(warprsa_secret_is_locked(more[0], KEY_BYTES));
    for (int i = 0; i < 8; i++)
        warprsa_secret_unmap(more[i], MIB);
    warprsa_secret_unmap(key, KEY_BYTES);
    /* What was given back can be locked again. */
    warprsa_secret_unmap(large, 16 * MIB);
    assert_int_equal(locked_kib(), 0);
    large = warprsa_secret_map(16 * MIB);
    assert_int_equal(locked_kib(), 512);
    warprsa_secret_unmap(large, 16 * MIB);
}

TEST(works_without_locking)
{
    warprsa_secret_pool pool;
    uint8_t *piece;

    needs_the_kernel();
    assert_true(may_lock(0));
    assert_true(warprsa_secret_pool_init(&pool));
    piece = warprsa_secret_take(&pool, KEY_BYTES);
    assert_non_null(piece);
    assert_int_equal(locked_kib(), 0);
    assert_false(warprsa_secret_is_locked(piece, KEY_BYTES));
    assert_false(mapping_of(piece).dumped);
    warprsa_secret_give(&pool, piece, KEY_BYTES);
    warprsa_secret_pool_free(&pool);
}

typedef struct piece {
    uint8_t *memory;
    size_t size;
    uint8_t mark;
} piece;

static uint32_t random_state = 1;

static uint32_t next_random(void)
{
    random_state = random_state * 1103515245u + 12345u;
    return random_state >> 8;
}

static void check_and_give(warprsa_secret_pool *pool, piece *p)
{
    uint8_t *memory = p->memory;

    for (size_t i = 0; i < p->size; i++)
        if (memory[i] != p->mark)
            fail_msg("byte %zu of %zu is another's", i, p->size);
    warprsa_secret_give(pool, memory, p->size);
    p->memory = NULL;
}

TEST(pieces_are_zeros_and_apart)
{
    static piece pieces[300];
    warprsa_secret_pool pool;

    assert_true(may_lock(0));
    assert_true(warprsa_secret_pool_init(&pool));
    for (int turn = 0; turn < 20000; turn++) {
        piece *p = &pieces[next_random() % 300];

        if (p->memory != NULL) {
            check_and_give(&pool, p);
            continue;
        }
        /* Some have a mapping of their own. */
        p->size = 1 + next_random() % (turn % 50 == 0 ? 400000 : 16000);
        p->mark = (uint8_t)(1 + next_random() % 255);
        p->memory = warprsa_secret_take(&pool, p->size);
        assert_non_null(p->memory);
        assert_int_equal((uintptr_t)p->memory % WARPRSA_SECRET_ALIGNMENT, 0);
        assert_true(is_zero(p->memory, p->size));
        memset(p->memory, p->mark, p->size);
    }
    for (int i = 0; i < 300; i++)
        if (pieces[i].memory != NULL)
            check_and_give(&pool, &pieces[i]);
    warprsa_secret_pool_free(&pool);
    assert_int_equal(secret_mappings(), 0);
}

/* A process has some 65,000 mappings at most. Users of the daemon choose which
 * of their keys go, and must not use these up. */
TEST(holes_cost_no_mappings)
{
    static uint8_t *keys[KEYS];
    warprsa_secret_pool pool;
    long before = status_kib(getpid(), "VmRSS");

    needs_the_kernel();
    assert_true(may_lock(MIB));
    assert_true(warprsa_secret_pool_init(&pool));
    for (int i = 0; i < KEYS; i++) {
        keys[i] = warprsa_secret_take(&pool, KEY_BYTES);
        assert_non_null(keys[i]);
        keys[i][0] = 1;
    }
    for (int i = 0; i < KEYS; i += 2)
        warprsa_secret_give(&pool, keys[i], KEY_BYTES);
    assert_in_range(secret_mappings(), 1, 400);
    for (int i = 1; i < KEYS; i += 2)
        warprsa_secret_give(&pool, keys[i], KEY_BYTES);
    /* One chunk is kept. */
    assert_in_range(secret_mappings(), 1, 2);
    assert_in_range(status_kib(getpid(), "VmRSS"), 0, before + 4096);
    warprsa_secret_pool_free(&pool);
    assert_int_equal(secret_mappings(), 0);
}

/* In the child. 0, or which of the steps was wrong. */
static int as_a_child(uint8_t *piece, uint8_t *mapped)
{
    uint8_t *own;

    if (!is_zero(piece, KEY_BYTES) || !is_zero(mapped, 16 * MIB))
        return 1;
    if (locked_kib() != 0)
        return 2;
    own = warprsa_secret_map(16 * MIB);
    if (own == NULL || locked_kib() != 512)
        return 3;
    warprsa_secret_unmap(mapped, 16 * MIB); /* which is not locked here */
    warprsa_secret_unmap(own, 16 * MIB);
    own = warprsa_secret_map(16 * MIB);
    return own != NULL && locked_kib() == 512 ? 0 : 4;
}

TEST(children_have_none)
{
    warprsa_secret_pool pool;
    uint8_t *piece, *mapped;
    int status = -1;
    pid_t child;

    needs_the_kernel();
    if (!may_lock(2 * MIB))
        skip();
    assert_true(warprsa_secret_pool_init(&pool));
    mapped = warprsa_secret_map(16 * MIB);
    piece = warprsa_secret_take(&pool, KEY_BYTES);
    memset(piece, 7, KEY_BYTES);
    memset(mapped, 7, 16 * MIB);
    child = fork();
    if (child == 0)
        _exit(as_a_child(piece, mapped));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(piece[KEY_BYTES - 1], 7);
    warprsa_secret_give(&pool, piece, KEY_BYTES);
    warprsa_secret_unmap(mapped, 16 * MIB);
    warprsa_secret_pool_free(&pool);
}

RUN_TESTS(NULL, NULL)
