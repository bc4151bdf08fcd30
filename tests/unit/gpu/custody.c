/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where a process keeps a key: a program of its own signs with a queue and an
 * engine on the CPU, and this one reads its memory and makes it dump core.
 * Neither the key, as it was given or as it is prepared, nor an answer that
 * nobody has collected is in a core dump, in a forked child, or in memory that
 * can be swapped out. A core dump has the threads' registers, too.
 *
 * The program gets the key through a pipe and wipes that copy: what is found is
 * the queue's or the engine's.
 */
#include "tests/unit/support/unit_test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batching/base/secret_memory.h"
#include "batching/queue/counters.h"
#include "batching/queue/queue.h"
#include "gpu/arith/prepared_key.h"
#include "tests/unit/support/gpu_device.h"
#include "tests/unit/support/mappings.h"
#include "tests/unit/support/wait_until.h"

enum {
    REQUESTS = 8, /* a full batch, whose blinding the engine ifma keeps */
    NEEDLE = 16,
    NEEDLES_MAX = 256,
    BLOCK = 1 << 20,
};

/* What the program is given. */
typedef struct gift {
    warprsa_private_key key;
    uint8_t input[256];
} gift;

/* ---- The program ---- */

static atomic_uint unlocked_lines;

/* What the C library's memcpy() does with a part of a key, in a register that
 * the engine "host" has no use for. */
static void leave_in_a_register(const gift *given)
{
#ifdef __x86_64__
    const uint8_t *end = given->key.p + sizeof(given->key.p);

    if (__builtin_cpu_supports("avx512vl"))
        __asm__ volatile("vmovdqu64 (%0), %%zmm31" ::"r"(end - 64) : "memory");
#else
#endif
}

/* Called by the thread that computes. */
static int random_of_the_system(void *arg, void *out, size_t length)
{
    leave_in_a_register(arg);
    return getrandom(out, length, 0) == (ssize_t)length;
}

static void count_line(void *arg, int level, const char *line)
{
    (void)arg, (void)level;
    if (strstr(line, "can be swapped out") != NULL)
        atomic_fetch_add(&unlocked_lines, 1);
}

/* The control: all is in core dumps again. */
static void dump_all(void *arg, const mapping *m)
{
    if (!m->dumped)
        (void)madvise((void *)(uintptr_t)m->from, m->to - m->from, MADV_DODUMP);
}

static void sign(warprsa_queue *queue, const gift *given)
{
    const uint8_t id[WARPRSA_KEY_ID_BYTES] = {7};
    warprsa_notify none = {0};
    warprsa_ticket tickets[REQUESTS];
    warprsa_key *key =
        warprsa_queue_key(queue, WARPRSA_OWNER_SELF, id, &given->key);

    assert_non_null(key);
    leave_in_a_register(given);
    assert_ptr_equal(
        key, warprsa_queue_key(queue, WARPRSA_OWNER_SELF, id, &given->key));
    for (int i = 0; i < REQUESTS; i++)
        assert_int_equal(
            warprsa_queue_submit(queue, key, given->input, none, &tickets[i]),
            WARPRSA_DONE);
    WAIT_UNTIL(warprsa_queue_depth(queue) == 0);
}

static int hold_a_key(bool is_dumped)
{
    gift *given = warprsa_secret_map(sizeof(*given));
    warprsa_queue_config config = {
        .engines = {{.engine = test_engine(),
                     .devices = UINT32_MAX,
                     .streams = 1,
                     .batch_max = REQUESTS}},
        .engine_count = 1,
        .slots = 64,
        .keys_max = 4,
        .deadline_ms = LONG_MS,
        .random = random_of_the_system,
        .random_arg = given,
        .trace = count_line,
        .counters = warprsa_counters_new(),
    };
    warprsa_cpu_reason reason;
    char why[256];
    warprsa_queue *queue =
        warprsa_queue_open(&config, &reason, why, sizeof(why));
    pid_t child;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* where the test fails */
    if (given == NULL || queue == NULL ||
        read(STDIN_FILENO, given, sizeof(*given)) != (ssize_t)sizeof(*given) ||
        warprsa_queue_wait_ready(queue, LONG_MS) != WARPRSA_QUEUE_READY)
        return EXIT_FAILURE;
    sign(queue, given);
    explicit_bzero(given, sizeof(*given));
    warprsa_secret_unmap(given, sizeof(*given));
    if (is_dumped)
        (void)each_mapping(getpid(), dump_all, NULL);
    child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    } else {
        printf("%d %u\n", (int)child, atomic_load(&unlocked_lines));
        fflush(stdout);
    }
    pause();
    return EXIT_SUCCESS;
}

/* ---- The test ---- */

typedef enum kind {
    GIVEN,    /* the key's numbers, as bytes in either order */
    PREPARED, /* in samples of 52 bits */
    ANSWER,
    KINDS,
} kind;

static struct needle {
    uint8_t bytes[NEEDLE];
    kind kind;
} needles[NEEDLES_MAX];
static unsigned needle_count;
static gift secret;
static const char *self;

static struct program {
    pid_t pid, child;
    unsigned unlocked_lines;
    char directory[32];
} program;

/* Zeros and the like would be found anywhere. */
static bool says_something(const uint8_t *bytes)
{
    unsigned different = 0;

    for (int i = 0; i < NEEDLE; i++)
        different += memchr(bytes, bytes[i], (size_t)i) == NULL;
    return different >= NEEDLE / 2;
}

static void add_needles(kind kind, const void *from, size_t size)
{
    const uint8_t *bytes = from;

    for (size_t at = 0; at + NEEDLE <= size; at += 2 * NEEDLE) {
        if (!says_something(bytes + at) || needle_count == NEEDLES_MAX)
            continue;
        needles[needle_count].kind = kind;
        memcpy(needles[needle_count++].bytes, bytes + at, NEEDLE);
    }
}

static void add_number(const uint8_t *number, size_t size)
{
    uint8_t turned[WARPRSA_PRIME_BYTES_MAX];

    for (size_t i = 0; i < size; i++)
        turned[i] = number[size - 1 - i];
    add_needles(GIVEN, number, size);
    add_needles(GIVEN, turned, size);
}

static int make_key(void **state)
{
    static const key_recipe recipe = {
        {PRIME_RANDOM, 1024}, {PRIME_RANDOM, 1023}, 65537};
    static warprsa_prepared_key prepared;
    uint8_t answer[256];
    BIGNUM *m = BN_new(), *s = BN_new();
    made_key key;

    assert_true(made_key_new(&key, &recipe));
    secret.key = key.key;
    memset(secret.input, 0x35, sizeof(secret.input));
    secret.input[0] = 0;
    assert_non_null(BN_bin2bn(secret.input, sizeof(secret.input), m));
    assert_true(made_key_answer(&key, s, m));
    assert_int_equal(BN_bn2binpad(s, answer, sizeof(answer)), sizeof(answer));
    assert_int_equal(warprsa_prepare_key(&prepared, &secret.key), WARPRSA_OK);
    add_number(secret.key.p, sizeof(secret.key.p));
    add_number(secret.key.q, sizeof(secret.key.q));
    add_number(secret.key.dp, sizeof(secret.key.dp));
    add_number(secret.key.qinv, sizeof(secret.key.qinv));
    add_needles(PREPARED, prepared.half[0].modulus,
                sizeof(prepared.half[0].modulus));
    add_needles(PREPARED, prepared.half[1].r2, sizeof(prepared.half[1].r2));
    add_needles(PREPARED, prepared.qinv_r, sizeof(prepared.qinv_r));
    add_needles(ANSWER, answer, sizeof(answer));
    assert_in_range(needle_count, 50, NEEDLES_MAX - 1);
    made_key_free(&key);
    BN_free(m);
    BN_free(s);
    return 0;
}

/* Runs the program in a directory of its own. */
static void start(const char *how, const rlim_t *may_lock)
{
    const struct rlimit core = {RLIM_INFINITY, RLIM_INFINITY};
    struct rlimit locked = {0, 0};
    int in[2], out[2];
    char line[64] = "";

    strcpy(program.directory, "/tmp/custody.XXXXXX");
    assert_non_null(mkdtemp(program.directory));
    assert_int_equal(pipe(in) + pipe(out), 0);
    program.pid = fork();
    assert_true(program.pid >= 0);
    if (program.pid == 0) {
        (void)setrlimit(RLIMIT_CORE, &core);
        if (may_lock != NULL)
            locked.rlim_cur = locked.rlim_max = *may_lock;
        if ((may_lock != NULL && setrlimit(RLIMIT_MEMLOCK, &locked) != 0) ||
            chdir(program.directory) != 0 || dup2(in[0], STDIN_FILENO) < 0 ||
            dup2(out[1], STDOUT_FILENO) < 0)
            _exit(EXIT_FAILURE);
        execl(self, self, how, NULL);
        _exit(EXIT_FAILURE);
    }
    close(in[0]);
    close(out[1]);
    assert_int_equal(write(in[1], &secret, sizeof(secret)), sizeof(secret));
    assert_true(read(out[0], line, sizeof(line) - 1) > 0);
    assert_int_equal(
        sscanf(line, "%d %u", &program.child, &program.unlocked_lines), 2);
    close(in[1]);
    close(out[0]);
}

/* Counts the needles of each kind in a piece of memory. */
static void search(const uint8_t *memory, size_t size, unsigned found[KINDS])
{
    for (unsigned i = 0; i < needle_count; i++)
        found[needles[i].kind] +=
            memmem(memory, size, needles[i].bytes, NEEDLE) != NULL;
}

static void search_file(int file, uint64_t from, uint64_t to,
                        unsigned found[KINDS])
{
    static uint8_t block[BLOCK + NEEDLE];

    for (uint64_t at = from; at < to; at += BLOCK) {
        size_t size =
            to - at < sizeof(block) ? (size_t)(to - at) : sizeof(block);
        ssize_t got = pread(file, block, size, (off_t)at);

        if (got > 0)
            search(block, (size_t)got, found);
    }
}

typedef struct findings {
    int memory; /* the process's */
    unsigned dumped[KINDS], not_dumped[KINDS], unlocked[KINDS],
        inherited[KINDS];
} findings;

static void add_up(unsigned sum[KINDS], const unsigned found[KINDS], bool is)
{
    for (int k = 0; is && k < KINDS; k++)
        sum[k] += found[k];
}

static void search_mapping(void *arg, const mapping *m)
{
    findings *f = arg;
    unsigned found[KINDS] = {0};

    if (m->permissions[0] != 'r' || m->anonymous_kib == 0)
        return;
    search_file(f->memory, m->from, m->to, found);
    add_up(f->dumped, found, m->dumped);
    add_up(f->not_dumped, found, !m->dumped);
    add_up(f->unlocked, found, !m->locked);
    add_up(f->inherited, found, !m->wiped_on_fork);
}

static findings search_process(pid_t pid)
{
    findings f = {0};
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    f.memory = open(path, O_RDONLY);
    if (f.memory < 0)
        fail_msg("%s can't be read", path);
    assert_true(each_mapping(pid, search_mapping, &f));
    close(f.memory);
    return f;
}

static void none(const unsigned found[KINDS])
{
    for (int k = 0; k < KINDS; k++)
        assert_int_equal(found[k], 0);
}

static void some_of_each(const unsigned found[KINDS])
{
    for (int k = 0; k < KINDS; k++)
        assert_true(found[k] > 0);
}

/* Whether the kernel writes a core dump into the program's directory. */
static bool core_is_written(char *pattern, size_t size)
{
    int file = open("/proc/sys/kernel/core_pattern", O_RDONLY);
    ssize_t got = file < 0 ? -1 : read(file, pattern, size - 1);

    pattern[got > 0 ? got - 1 : 0] = '\0';
    if (file >= 0)
        close(file);
    return got > 1 && strpbrk(pattern, "|/%") == NULL;
}

/* Ends the program. Whether it left a core dump, in which so much was found. */
static bool abort_program(unsigned found[KINDS])
{
    char pattern[128], path[300];
    int status = 0, core;
    struct stat is;

    memset(found, 0, KINDS * sizeof(*found));
    kill(program.child, SIGKILL);
    kill(program.pid, SIGABRT);
    assert_int_equal(waitpid(program.pid, &status, 0), program.pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    if (!core_is_written(pattern, sizeof(pattern)) || !WCOREDUMP(status)) {
        print_message("no core dump is to be had here (\"%s\")\n", pattern);
        rmdir(program.directory);
        return false;
    }
    snprintf(path, sizeof(path), "%s/%s", program.directory, pattern);
    core = open(path, O_RDONLY);
    if (core < 0) { /* kernel.core_uses_pid */
        snprintf(path, sizeof(path), "%s/%s.%d", program.directory, pattern,
                 (int)program.pid);
        core = open(path, O_RDONLY);
    }
    assert_true(core >= 0);
    assert_int_equal(fstat(core, &is), 0);
    search_file(core, 0, (uint64_t)is.st_size, found);
    print_message("a core dump of %ld KiB\n", (long)is.st_size / 1024);
    close(core);
    unlink(path);
    rmdir(program.directory);
    return true;
}

TEST(no_dump_and_no_child_has_a_key)
{
    struct rlimit limit;
    unsigned in_core[KINDS];
    findings f;

    start("usual", NULL);
    f = search_process(program.pid);
    print_message("found: the key %u times, prepared %u, the answer %u\n",
                  f.not_dumped[GIVEN], f.not_dumped[PREPARED],
                  f.not_dumped[ANSWER]);
    some_of_each(f.not_dumped);
    none(f.dumped);
    none(f.inherited);
    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
    if (limit.rlim_cur >= 4 << 20) {
        none(f.unlocked);
        assert_int_equal(program.unlocked_lines, 0);
    }
    f = search_process(program.child);
    none(f.dumped);
    none(f.not_dumped);
    (void)abort_program(in_core);
    none(in_core);
}

/* The control: the same searches find what is not protected. */
TEST(what_is_dumped_is_found)
{
    unsigned in_core[KINDS];

    start("dumped", NULL);
    some_of_each(search_process(program.pid).dumped);
    if (abort_program(in_core))
        some_of_each(in_core);
}

/* One line in the trace, for the second time that the key is asked for, too. */
TEST(nothing_fails_where_nothing_can_be_locked)
{
    const rlim_t nothing = 0;
    unsigned in_core[KINDS];
    findings f;

    start("usual", &nothing);
    assert_int_equal(program.unlocked_lines, 1);
    f = search_process(program.pid);
    some_of_each(f.unlocked);
    none(f.dumped);
    (void)abort_program(in_core);
    none(in_core);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return hold_a_key(strcmp(argv[1], "dumped") == 0);
    if (test_engine() == NULL)
        return TEST_SKIPPED;
    self = argv[0];
    return cmocka_run_group_tests(unit_tests, make_key, NULL);
}
