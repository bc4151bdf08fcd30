/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox: what a process can still open, and what not. Each test runs in
 * a process of its own, and is skipped where the kernel has no Landlock.
 */
#include "tests/unit/support/sanitizers.h"
#include "tests/unit/support/unit_test.h"

#include "batching/daemon/process/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SKIPPED = 77,
};

static char root[] = "/tmp/warprsa-sandbox-XXXXXX";
static long refused_call; /* that an older kernel does not have */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
    va_list args;
    long a, b, c, d;

    va_start(args, number);
    a = va_arg(args, long);
    b = va_arg(args, long);
    c = va_arg(args, long);
    d = number == SYS_landlock_add_rule ? va_arg(args, long) : 0;
    va_end(args);
    if (number == refused_call) {
        errno = ENOSYS;
        return -1;
    }
    return __real_syscall(number, a, b, c, d);
}

/* A path in the test's directory. One at a time of a thread. */
static const char *in(const char *name)
{
    static char path[200];

    snprintf(path, sizeof(path), "%s/%s", root, name);
    return path;
}

static bool make_file(const char *name)
{
    int fd = open(in(name), O_WRONLY | O_CREAT | O_EXCL, 0600);

    return fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0;
}

static int set_up(void **state)
{
    char copy[200];

    if (mkdtemp(root) == NULL || mkdir(in("keys"), 0700) != 0 ||
        mkdir(in("keys/deep"), 0700) != 0 || mkdir(in("beside"), 0700) != 0 ||
        mkdir(in("keys2"), 0700) != 0 || !make_file("keys/k.pem") ||
        !make_file("keys/deep/k.pem") || !make_file("conf") ||
        !make_file("pass") || !make_file("beside/file") ||
        !make_file("keys2/file"))
        return -1;
    snprintf(copy, sizeof(copy), "%s", in("keys/k.pem"));
    return symlink(copy, in("beside/link"));
}

static int tear_down(void **state)
{
    char command[100];

    snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command);
}

/* 0, or why the file can't be opened for reading. */
static int open_error(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

/* For the processes: ends with the line of what does not hold. */
#define EXPECT(what)                                                           \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #what,              \
                    strerror(errno));                                          \
            _exit(1);                                                          \
        }                                                                      \
    } while (0)

/*
 * Runs a test in a process. ThreadSanitizer has a thread of its own in every
 * process, and a process with threads is not hidden from.
 */
static void in_process(void (*test)(void))
{
    int status = -1;
    pid_t child;

#ifdef UNDER_TSAN
    skip();
#endif
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        test();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        skip();
    assert_int_equal(status, 0);
}

/* Hides "keys" and "pass" from this process. */
static void hide(void)
{
    char keys[200], pass[200], why[400];
    const char *const paths[] = {keys, pass};
    warprsa_sandbox_result result;

    snprintf(keys, sizeof(keys), "%s/beside/../keys/", root);
    snprintf(pass, sizeof(pass), "%s/pass", root);
    result = warprsa_sandbox_hide(paths, 2, why, sizeof(why));
    if (result == WARPRSA_SANDBOX_UNSUPPORTED) {
        fprintf(stderr, "%s\n", why);
        _exit(SKIPPED);
    }
    if (result != WARPRSA_SANDBOX_HIDDEN)
        fprintf(stderr, "%s\n", why);
    EXPECT(result == WARPRSA_SANDBOX_HIDDEN);
    EXPECT(why[0] == '\0');
}

static void expect_hidden(void)
{
    EXPECT(open_error(in("keys/k.pem")) == EACCES);
    EXPECT(open_error(in("keys/deep/k.pem")) == EACCES);
    EXPECT(open_error(in("keys")) == EACCES);
    EXPECT(opendir(in("keys")) == NULL);
    EXPECT(open_error(in("pass")) == EACCES);
    EXPECT(open_error(in("beside/link")) == EACCES);
    EXPECT(open(in("keys/k.pem"), O_WRONLY) < 0);
    EXPECT(open(in("keys/new.pem"), O_WRONLY | O_CREAT, 0600) < 0);
    EXPECT(unlink(in("keys/k.pem")) != 0);
}

static void in_sandbox(void)
{
    int before = open(in("keys/k.pem"), O_RDONLY);
    int directory = open(in("keys"), O_RDONLY | O_DIRECTORY);
    char byte = 0, path[300];

    EXPECT(open_error(in("keys/k.pem")) == 0); /* the control */
    EXPECT(open_error(in("pass")) == 0);
    EXPECT(open_error(in("beside/link")) == 0);
    hide();
    expect_hidden();
    EXPECT(openat(directory, "k.pem", O_RDONLY) < 0);
    EXPECT(fchdir(directory) == 0);
    EXPECT(open_error("k.pem") == EACCES);
    EXPECT(open_error("/proc/self/cwd/k.pem") == EACCES);
    snprintf(path, sizeof(path), "/proc/self/root%s", in("keys/k.pem"));
    EXPECT(open_error(path) == EACCES);
    /* No other name can be made. */
    snprintf(path, sizeof(path), "%s", in("beside/stolen"));
    EXPECT(link(in("keys/k.pem"), path) != 0);
    EXPECT(rename(in("keys/k.pem"), path) != 0);
    EXPECT(rename(in("keys"), path) != 0);
    /* What is open stays open. */
    EXPECT(read(before, &byte, 1) == 1);
}

TEST(test_hidden)
{
    in_process(in_sandbox);
}

static void beside_sandbox(void)
{
    hide();
    EXPECT(open_error(in("conf")) == 0);
    EXPECT(open_error(in("beside/file")) == 0);
    EXPECT(open_error(in("keys2/file")) == 0);
    EXPECT(make_file("beside/new"));
    EXPECT(open_error(in("beside/new")) == 0);
    EXPECT(truncate(in("beside/new"), 0) == 0);
    EXPECT(unlink(in("beside/new")) == 0);
    EXPECT(open_error("/etc/passwd") == 0);
    EXPECT(open_error("/etc/ssl") == 0);
    EXPECT(open_error("/proc/self/status") == 0);
    EXPECT(open_error("/dev/urandom") == 0);
    EXPECT(open("/dev/null", O_WRONLY) >= 0);
}

TEST(test_beside)
{
    in_process(beside_sandbox);
}

/* What sandbox.h says of directories above: a file that is replaced there is a
 * new one. */
static void above_sandbox(void)
{
    hide();
    EXPECT(opendir(root) == NULL);
    EXPECT(!make_file("new"));
}

static void replace_above(void)
{
    int to_child[2], from_child[2], status = -1;
    char byte = 0, path[200];
    pid_t child;

    EXPECT(pipe(to_child) == 0 && pipe(from_child) == 0);
    child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        hide();
        EXPECT(open_error(in("conf")) == 0);
        EXPECT(write(from_child[1], "x", 1) == 1);
        EXPECT(read(to_child[0], &byte, 1) == 1);
        EXPECT(open_error(in("conf")) == EACCES);
        _exit(0);
    }
    close(from_child[1]); /* so that a child that is skipped is at its end */
    if (read(from_child[0], &byte, 1) == 1) {
        snprintf(path, sizeof(path), "%s", in("conf"));
        EXPECT(make_file("conf.new"));
        EXPECT(rename(in("conf.new"), path) == 0);
        EXPECT(write(to_child[1], "x", 1) == 1);
    }
    EXPECT(waitpid(child, &status, 0) == child);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

TEST(test_above)
{
    in_process(above_sandbox);
    in_process(replace_above);
}

/* Neither a child, nor the memory of a process outside. */
static void around_sandbox(void)
{
    char path[64];
    pid_t child;
    int status = -1;

    snprintf(path, sizeof(path), "/proc/%d/mem", (int)getppid());
    hide();
    EXPECT(open_error(path) != 0);
    snprintf(path, sizeof(path), "/proc/%d/root/etc/passwd", (int)getppid());
    EXPECT(open_error(path) != 0);
    child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        expect_hidden();
        _exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child);
}

TEST(test_around)
{
    in_process(around_sandbox);
}

static void *wait_for_ever(void *arg)
{
    pause();
    return NULL;
}

/* Neither hides a thing, and both say why. */
static void without_sandbox(void)
{
    const char *const no_path[] = {"/nowhere/keys"};
    const char *const all[] = {"/"};
    const char *const keys[] = {in("keys")};
    const char *many[WARPRSA_SANDBOX_PATHS_MAX + 1];
    char why[400];
    pthread_t thread;

    for (unsigned i = 0; i < WARPRSA_SANDBOX_PATHS_MAX + 1; i++)
        many[i] = root;
    if (warprsa_sandbox_hide(no_path, 1, why, sizeof(why)) ==
        WARPRSA_SANDBOX_UNSUPPORTED)
        _exit(SKIPPED);
    EXPECT(strcmp(why, "files of keys can't be hidden: /nowhere/keys: No such "
                       "file or directory") == 0);
    EXPECT(warprsa_sandbox_hide(all, 1, why, sizeof(why)) ==
           WARPRSA_SANDBOX_FAILED);
    EXPECT(warprsa_sandbox_hide(many, WARPRSA_SANDBOX_PATHS_MAX + 1, why,
                                sizeof(why)) == WARPRSA_SANDBOX_FAILED);
    EXPECT(pthread_create(&thread, NULL, wait_for_ever, NULL) == 0);
    EXPECT(warprsa_sandbox_hide(keys, 1, why, sizeof(why)) ==
           WARPRSA_SANDBOX_FAILED);
    EXPECT(strstr(why, "the process has other threads") != NULL);
    EXPECT(open_error(in("keys/k.pem")) == 0);
}

TEST(test_failures)
{
    in_process(without_sandbox);
}

static void on_old_kernel(void)
{
    const char *const keys[] = {in("keys")};
    char why[400];

    refused_call = SYS_landlock_create_ruleset;
    EXPECT(warprsa_sandbox_hide(keys, 1, why, sizeof(why)) ==
           WARPRSA_SANDBOX_UNSUPPORTED);
    EXPECT(strcmp(why, "files of keys are not hidden from the serving process: "
                       "the kernel has no Landlock here: Function not "
                       "implemented") == 0);
    EXPECT(open_error(in("keys/k.pem")) == 0);
    refused_call = SYS_landlock_restrict_self;
    if (warprsa_sandbox_hide(keys, 1, why, sizeof(why)) ==
        WARPRSA_SANDBOX_UNSUPPORTED)
        _exit(SKIPPED);
    EXPECT(strstr(why, "can't be hidden: landlock_restrict_self: ") != NULL);
    EXPECT(open_error(in("keys/k.pem")) == 0);
}

TEST(test_old_kernel)
{
    in_process(on_old_kernel);
}

RUN_TESTS(set_up, tear_down)
