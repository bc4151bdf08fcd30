/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process that has counters which it made up, or was sent:
 *
 *     forged_counters NAME MAKER HOLDER COUNT keep|map|anonymous
 *
 * Runs as user HOLDER under the name NAME, with COUNT blocks made by user
 * MAKER, both of them numbers. `keep`: as descriptors; `map`: mapped, with the
 * descriptors closed; `anonymous`: in memory without a file, which the holder
 * has made. Each says that a device has computed 1,000,000,000,000 operations
 * of RSA-2048, that 666 results were wrong and 777 were refused for it. Prints
 * "ready" and stays until it is killed. To be started by root.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batching/queue/counters.h"

static void want(bool condition, const char *what)
{
    if (condition)
        return;
    perror(what);
    exit(EXIT_FAILURE);
}

static void become(uid_t uid)
{
    want(setresgid(uid, uid, uid) == 0, "setresgid");
    want(setresuid(uid, uid, uid) == 0, "setresuid");
}

static void fill(warprsa_counters *c, pid_t pid, unsigned number)
{
    memcpy(c->magic, warprsa_counters_magic, sizeof(c->magic));
    c->version = warprsa_counters_version();
    c->pid = (uint64_t)pid;
    c->created_ns = number + 1;
    c->gpu[WARPRSA_CLASS_2048] = 1000000000000;
    c->checks_failed = 666;
    c->cpu_reason[WARPRSA_CPU_CHECK_FAILED] = 777;
    c->batches = c->devices = 1;
    c->device_of[0].ready = c->device_of[0].wrong = 1;
}

static int make_file(pid_t pid, unsigned number)
{
    int fd = memfd_create("warprsa-counters", 0);
    warprsa_counters *c;

    want(fd >= 0 && ftruncate(fd, sizeof(*c)) == 0, "memfd_create");
    c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    want(c != MAP_FAILED, "mmap");
    fill(c, pid, number);
    munmap(c, sizeof(*c));
    return fd;
}

/* Sends a descriptor, or receives one (-1). */
static int pass(int socket, int fd)
{
    char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    if (fd >= 0) {
        want(sendmsg(socket, &message, 0) == 1, "sendmsg");
        return fd;
    }
    want(recvmsg(socket, &message, 0) == 1, "recvmsg");
    memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    return fd;
}

/* In a child of its own, as the maker. */
static void make_files(int socket, uid_t maker, unsigned count, pid_t holder)
{
    become(maker);
    for (unsigned i = 0; i < count; i++) {
        int fd = make_file(holder, i);

        pass(socket, fd);
        close(fd);
    }
    _exit(EXIT_SUCCESS);
}

static void hold_files(uid_t maker, unsigned count, bool map)
{
    const pid_t holder = getpid();
    int ends[2];
    pid_t child;

    want(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0, "socketpair");
    child = fork();
    want(child >= 0, "fork");
    if (child == 0)
        make_files(ends[1], maker, count, holder);
    close(ends[1]);
    for (unsigned i = 0; i < count; i++) {
        int fd = pass(ends[0], -1);

        if (!map)
            continue;
        want(mmap(NULL, sizeof(warprsa_counters), PROT_READ, MAP_SHARED, fd,
                  0) != MAP_FAILED,
             "mmap");
        close(fd);
    }
    close(ends[0]);
    want(waitpid(child, NULL, 0) == child, "waitpid");
}

static void hold_anonymous(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        warprsa_counters *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        want(c != MAP_FAILED, "mmap");
        fill(c, getpid(), i);
    }
}

int main(int argc, char **argv)
{
    uid_t maker, holder;
    unsigned count;

    if (argc != 6)
        return 2;
    maker = (uid_t)strtoul(argv[2], NULL, 10);
    holder = (uid_t)strtoul(argv[3], NULL, 10);
    count = (unsigned)strtoul(argv[4], NULL, 10);
    if (strcmp(argv[5], "anonymous") != 0)
        hold_files(maker, count, strcmp(argv[5], "map") == 0);
    become(holder);
    if (strcmp(argv[5], "anonymous") == 0)
        hold_anonymous(count);
    want(prctl(PR_SET_NAME, argv[1]) == 0, "prctl");
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
