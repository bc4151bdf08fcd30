/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The counter block, and warprsa-stat reading it in this very process.
 */
#include "tests/unit/support/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batching/queue/counters.h"
#include "tests/unit/support/emulator.h"

TEST(a_line_with_everything)
{
    warprsa_counters *c = warprsa_counters_new();
    char line[WARPRSA_COUNTERS_LINE];
    size_t length;

    assert_non_null(c);
    assert_int_equal(c->version, warprsa_counters_version());
    assert_int_equal(c->pid, getpid());
    warprsa_counters_set_device(c, "NVIDIA H200 (cuda 0)");
    warprsa_count(&c->gpu[WARPRSA_CLASS_2048], 5);
    warprsa_count(&c->ifma[WARPRSA_CLASS_3072], 7);
    warprsa_count(&c->cpu[WARPRSA_CLASS_1024], 1);
    warprsa_count(&c->cpu[WARPRSA_CLASSES], 1);
    warprsa_count(&c->cpu_reason[WARPRSA_CPU_UNSUPPORTED_KEY], 1);
    warprsa_count(&c->cpu_reason[WARPRSA_CPU_ERROR], 1);
    warprsa_count(&c->batches, 3);
    warprsa_count(&c->batch_sizes[0], 1);
    warprsa_count(&c->batch_sizes[3], 2);
    c->device_of[1].ready = 1;
    warprsa_count(&c->device_of[1].gpu, 5);
    warprsa_count(&c->device_of[1].batches, 3);
    warprsa_count(&c->device_of[1].compute_times[1], 2);
    warprsa_count(&c->device_of[1].compute_times[7], 1);
    warprsa_count(&c->device_of[1].sent_bytes, 700);
    warprsa_count(&c->keys_loaded, 2);
    warprsa_count(&c->keys_wiped, 1);
    length = warprsa_counters_format(c, line, sizeof(line));
    assert_int_equal(length, strlen(line));
    assert_string_equal(
        line,
        "device=\"NVIDIA H200 (cuda 0)\" gpu=5 gpu_1024=0 gpu_2048=5 "
        "gpu_3072=0 gpu_4096=0 gpu_6144=0 gpu_8192=0 "
        "ifma=7 ifma_1024=0 ifma_2048=0 ifma_3072=7 ifma_4096=0 "
        "ifma_6144=0 ifma_8192=0 cpu=2 cpu_1024=1 cpu_2048=0 cpu_3072=0 "
        "cpu_4096=0 cpu_6144=0 cpu_8192=0 cpu_other_size=1 "
        "cpu_route=0 cpu_unsupported_key=1 "
        "cpu_starting=0 "
        "cpu_no_device=0 cpu_queue_full=0 cpu_deadline=0 cpu_check_failed=0 "
        "cpu_error=1 cpu_key_cache_full=0 cpu_overflow=0 cpu_key_rate=0 "
        "cpu_no_threads=0 cpu_wrong_key=0 batches=3 "
        "batch_max=0 batch_operations=0 "
        "wait_ns=0 batch_ns=0 compute_ns=0 checks_failed=0 device_losses=0 "
        "devices=0 keys=0 "
        "keys_loaded=2 keys_wiped=1 keys_evicted=0 keys_wrong=0 slots=0 "
        "slots_bytes=0 "
        "clients=0 jobs_left=0 vault_uses=0 vault_libcrypto=0 vault_remote=0 "
        "vault_remote_moved=0 vault_remote_wrong=0 vault_denials=0 "
        "vault_late=0 device1_ready=1 device1_gpu=5 device1_running=0 "
        "device1_batches=3 device1_losses=0 device1_checks_failed=0 "
        "device1_wrong=0 device1_failovers=0 "
        "device1_keys=0 device1_sent_bytes=700 device1_received_bytes=0 "
        "device1_credit_waits=0 device1_compute_ns=0 device1_p50_ns=16384 "
        "device1_p99_ns=1048576 batches_to_1=1 batches_to_8=2");
    warprsa_counters_free(c);
}

TEST(times_fall_into_powers_of_two)
{
    assert_int_equal(warprsa_time_bin(0), 0);
    assert_int_equal(warprsa_time_bin(1), 0);
    assert_int_equal(warprsa_time_bin(8192), 0);
    for (unsigned i = 1; i < WARPRSA_TIME_BINS - 1; i++) {
        assert_int_equal(warprsa_time_bin((UINT64_C(4096) << i) + 1), i);
        assert_int_equal(warprsa_time_bin(UINT64_C(8192) << i), i);
    }
    assert_int_equal(warprsa_time_bin((UINT64_C(4096) << 21) + 1), 21);
    assert_int_equal(warprsa_time_bin(UINT64_MAX), WARPRSA_TIME_BINS - 1);
}

/* As from one serving process of the daemon to the next. */
TEST(a_block_goes_on)
{
    warprsa_counters *c = warprsa_counters_new();

    assert_non_null(c);
    warprsa_count(&c->gpu[WARPRSA_CLASS_2048], 5);
    warprsa_count(&c->device_losses, 1);
    warprsa_count(&c->keys_loaded, 3);
    c->devices = c->keys = c->clients = c->slots = c->slots_bytes = 2;
    c->device_of[1].ready = c->device_of[1].keys = 1;
    c->device_of[1].gpu = 5;
    warprsa_counters_restart(c);
    assert_int_equal(c->gpu[WARPRSA_CLASS_2048], 5);
    assert_int_equal(c->device_losses, 1);
    assert_int_equal(c->keys_loaded, 3);
    assert_int_equal(c->device_of[1].gpu, 5);
    assert_int_equal(c->devices + c->keys + c->clients + c->slots +
                         c->slots_bytes + c->device_of[1].ready +
                         c->device_of[1].keys,
                     0);
    warprsa_counters_free(c);
}

TEST(the_longest_line_fits)
{
    warprsa_counters *c = warprsa_counters_new();
    char line[WARPRSA_COUNTERS_LINE], cut[20];

    assert_non_null(c);
    memset((char *)c->device, 'd', sizeof(c->device) - 1);
    memset((char *)c + offsetof(warprsa_counters, gpu), 0xff,
           sizeof(*c) - offsetof(warprsa_counters, gpu));
    assert_true(warprsa_counters_format(c, line, sizeof(line)) <
                sizeof(line) - 1);
    assert_non_null(strstr(line, " batches_to_65536=18446744073709551615"));
    assert_int_equal(warprsa_counters_format(c, cut, sizeof(cut)),
                     sizeof(cut) - 1);
    assert_string_equal(cut, "device=\"ddddddddddd");
    assert_int_equal(warprsa_counters_format(c, cut, 0), 0);
    warprsa_counters_free(c);
}

/* The text comes from drivers and goes to terminals. */
TEST(device_text_is_cut_and_cleaned)
{
    warprsa_counters *c = warprsa_counters_new();
    char text[WARPRSA_COUNTERS_TEXT];
    char lengthy[400];

    assert_non_null(c);
    warprsa_counters_set_device(c, "a\x1b[31m \"b\"\\\n");
    warprsa_counters_device(c, text);
    assert_string_equal(text, "a?[31m ?b???");
    memset(lengthy, 'x', sizeof(lengthy) - 1);
    lengthy[sizeof(lengthy) - 1] = '\0';
    warprsa_counters_set_device(c, lengthy);
    warprsa_counters_device(c, text);
    assert_int_equal(strlen(text), WARPRSA_COUNTERS_TEXT - 1);
    assert_string_equal(text + WARPRSA_COUNTERS_TEXT - 5, "x...");
    lengthy[WARPRSA_COUNTERS_TEXT - 1] = '\0';
    warprsa_counters_set_device(c, lengthy);
    warprsa_counters_device(c, text);
    assert_string_equal(text, lengthy);
    warprsa_counters_set_device(c, "short");
    warprsa_counters_device(c, text);
    assert_string_equal(text, "short");
    warprsa_counters_free(c);
    warprsa_counters_free(NULL);
}

/* Daemons close every descriptor; ours may be another file by then. */
TEST(a_strangers_descriptor_is_not_closed)
{
    warprsa_counters *c;
    int before = dup(0);
    int pipes[2];

    assert_true(before >= 0);
    close(before);
    c = warprsa_counters_new(); /* takes the number `before` */
    assert_non_null(c);
    close(before);
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(pipes[0], before);
    warprsa_counters_free(c);
    assert_int_equal(write(pipes[1], "x", 1), 1);
    assert_int_equal(close(pipes[0]), 0);
    assert_int_equal(close(pipes[1]), 0);
}

TEST(anonymous_memory_if_no_descriptor)
{
    struct rlimit old, none;
    warprsa_counters *c;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    c = warprsa_counters_new();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_non_null(c);
    warprsa_count(&c->batches, 1);
    assert_int_equal(c->batches, 1);
    warprsa_counters_free(c);
}

/* Runs warprsa-stat; returns its exit status, and what it printed. */
static int stat_program(const char *arguments, char *out, size_t out_size)
{
    const char *build = getenv("BUILD_DIR");
    char command[1024];
    size_t n;
    FILE *pipe;
    int status;

    if (build == NULL)
        skip();
    snprintf(command, sizeof(command), "%s %s/batching/warprsa-stat %s 2>&1",
             emulator(), build, arguments);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    n = fread(out, 1, out_size - 1, pipe);
    out[n] = '\0';
    status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* As the kernel knows this process: under an emulator by that one's name. */
static const char *own_name(void)
{
    static char name[32];
    FILE *file = fopen("/proc/self/comm", "r");

    assert_non_null(file);
    assert_non_null(fgets(name, sizeof(name), file));
    fclose(file);
    name[strcspn(name, "\n")] = '\0';
    return name;
}

static void expect_verdict(const char *verdict)
{
    char argument[32], out[8192], line[512];

    snprintf(argument, sizeof(argument), "%d", getpid());
    assert_int_equal(stat_program(argument, out, sizeof(out)), 0);
    snprintf(line, sizeof(line), "%d %s: %s\n", getpid(), own_name(), verdict);
    out[strcspn(out, "\n") + 1] = '\0';
    assert_string_equal(out, line);
}

TEST(stat_answers_in_its_first_line)
{
    warprsa_counters *c = warprsa_counters_new();

    assert_non_null(c);
    expect_verdict("no: no device; 0 operations on the CPU");
    warprsa_counters_set_device(c, "none yet: route = auto leaves few");
    expect_verdict("not yet: route = auto leaves few; 0 operations on the CPU");
    warprsa_counters_set_device(c, "none: no driver");
    warprsa_count(&c->cpu[1], 3);
    warprsa_count(&c->cpu_reason[WARPRSA_CPU_NO_DEVICE], 3);
    expect_verdict("no: no driver; 3 operations on the CPU; on the CPU 3 "
                   "without a GPU in use");
    warprsa_counters_set_device(c, "NVIDIA H200 (cuda 0)");
    warprsa_count(&c->devices, 1);
    expect_verdict("no: NVIDIA H200 (cuda 0) is ready, but all 3 operations "
                   "ran on the CPU; on the CPU 3 without a GPU in use");
    warprsa_count(&c->gpu[1], 9);
    expect_verdict("yes: NVIDIA H200 (cuda 0); 9 of 12 operations (75.0 %); "
                   "on the CPU 3 without a GPU in use");
    c->devices = 0;
    warprsa_counters_set_device(c, "none: a batch missed its deadline");
    expect_verdict("no longer: a batch missed its deadline; 9 of 12 operations "
                   "were on the GPU; on the CPU 3 without a GPU in use");
    c->devices = 1;
    warprsa_counters_set_device(c, "CPU (host 0)");
    expect_verdict("no: CPU (host 0) computes, by engine = host; 9 of 12 "
                   "operations; on the CPU 3 without a GPU in use");
    warprsa_counters_free(c);
}

TEST(stat_finds_this_process_among_all)
{
    warprsa_counters *c = warprsa_counters_new();
    char out[65536], line[128];

    assert_non_null(c);
    warprsa_counters_set_device(c, "NVIDIA H200 (cuda 0)");
    warprsa_count(&c->devices, 1);
    warprsa_count(&c->gpu[1], 1);
    snprintf(line, sizeof(line), "%d %s: yes: NVIDIA", getpid(), own_name());
    assert_int_equal(stat_program("", out, sizeof(out)), 0);
    assert_non_null(strstr(out, line));
    snprintf(line, sizeof(line),
             "{\"pid\": %d, \"command\": \"%s\", \"using_gpu\": true,",
             getpid(), own_name());
    assert_int_equal(stat_program("--json", out, sizeof(out)), 0);
    assert_non_null(strstr(out, line));
    warprsa_counters_free(c);
}

/* Where the descriptor is gone the mapping is still there. */
TEST(stat_finds_a_block_without_descriptor)
{
    warprsa_counters *c;
    int next = dup(0);

    /* What is in memory is read through this call, which QEMU's user mode
     * does not have. */
    if (process_vm_readv(getpid(), NULL, 0, NULL, 0, 0) < 0 && errno == ENOSYS)
        skip();
    close(next);
    c = warprsa_counters_new();
    assert_non_null(c);
    close(next);
    expect_verdict("no: no device; 0 operations on the CPU");
    warprsa_counters_free(c);
}

/* From here on this process gets EPERM for the two system calls. False: the
 * kernel, or an emulator, has no filters. */
static bool deny(unsigned one, unsigned other)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof(program) / sizeof(program[0]),
                                      program};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* Runs `child`, which ends the new process and may skip the test. */
static void in_a_child(void (*child)(void))
{
    pid_t pid;
    int status;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        child();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void count_without_a_file(void)
{
    char out[8192], argument[32];
    warprsa_counters *c;

    /* prctl() could give memory a name. */
    if (!deny(__NR_memfd_create, __NR_prctl))
        _exit(77);
    c = warprsa_counters_new();
    if (c == NULL)
        _exit(1);
    warprsa_counters_set_device(c, "NVIDIA H200 (cuda 0)");
    warprsa_count(&c->devices, 1);
    warprsa_count(&c->gpu[1], 9);
    snprintf(argument, sizeof(argument), "%d", getpid());
    _exit(stat_program(argument, out, sizeof(out)) == 0 &&
                  strstr(out, "yes: NVIDIA H200 (cuda 0); 9 of 9") != NULL
              ? 0
              : 2);
}

/* As in a sandbox that allows neither memory files nor names of memory. */
TEST(stat_finds_a_block_without_a_file)
{
    in_a_child(count_without_a_file);
}

/* Its counters are there, and warprsa-stat may not read them. */
static void look_without_permission(void)
{
    char module[1024], out[65536], wanted[64];
    int fd;

    snprintf(module, sizeof(module), "%s/provider/warprsa.so",
             getenv("BUILD_DIR") != NULL ? getenv("BUILD_DIR") : "");
    fd = open(module, O_RDONLY);
    if (fd < 0 || !deny(__NR_memfd_create, __NR_process_vm_readv))
        _exit(77);
    if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
        warprsa_counters_new() == NULL)
        _exit(1);
    snprintf(wanted, sizeof(wanted), "%d %s: unknown: has loaded", getpid(),
             own_name());
    _exit(stat_program("", out, sizeof(out)) == 0 &&
                  strstr(out, wanted) != NULL &&
                  strstr(out, "is not known") != NULL
              ? 0
              : 2);
}

TEST(stat_says_what_it_does_not_know)
{
    in_a_child(look_without_permission);
}

TEST(stat_tells_why_there_is_nothing)
{
    char out[8192], argument[64];
    warprsa_counters *c;
    pid_t child;
    int hold[2];

    snprintf(argument, sizeof(argument), "%d", getpid());
    assert_int_equal(stat_program(argument, out, sizeof(out)), 1);
    assert_non_null(strstr(out, "does not use warprsa"));
    assert_int_equal(stat_program("99999999", out, sizeof(out)), 1);
    assert_non_null(strstr(out, "process 99999999 does not exist"));
    assert_int_equal(stat_program("12x", out, sizeof(out)), 2);
    assert_int_equal(stat_program("--nonsense", out, sizeof(out)), 2);
    assert_int_equal(stat_program("1 2", out, sizeof(out)), 2);
    assert_int_equal(stat_program("--help", out, sizeof(out)), 0);
    assert_non_null(strstr(out, "Usage: warprsa-stat [--json] [PID]"));
    assert_int_equal(stat_program("--prometheus 1", out, sizeof(out)), 2);
    assert_int_equal(stat_program("--prometheus --json", out, sizeof(out)), 2);
    assert_int_equal(stat_program("--state x", out, sizeof(out)), 2);
    assert_int_equal(
        stat_program("--prometheus --state /dev/null/x", out, sizeof(out)), 1);
    assert_non_null(strstr(out, "/dev/null/x: Not a directory"));

    c = warprsa_counters_new();
    assert_non_null(c);
    assert_int_equal(pipe(hold), 0);
    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char byte;

        close(hold[1]);
        _exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
    }
    snprintf(argument, sizeof(argument), "%d", child);
    assert_int_equal(stat_program(argument, out, sizeof(out)), 1);
    assert_non_null(strstr(out, "was forked from a process"));
    snprintf(argument, sizeof(argument), "%d %s: idle: ", child, own_name());
    assert_int_equal(stat_program("", out, sizeof(out)), 0);
    assert_non_null(strstr(out, argument));
    c->version++;
    snprintf(argument, sizeof(argument), "%d", getpid());
    assert_int_equal(stat_program(argument, out, sizeof(out)), 1);
    assert_non_null(strstr(out, "another version of warprsa"));
    close(hold[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(hold[0]);
    warprsa_counters_free(c);
}

RUN_TESTS(NULL, NULL)
