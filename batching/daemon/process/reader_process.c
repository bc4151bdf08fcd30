/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The supervisor's reader; see reader_process.h.
 */
#include "batching/daemon/process/reader_process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void warprsa_reader_process_init(warprsa_reader_process *reader,
                                 int (*read)(void *arg, int socket), void *arg)
{
    *reader = (warprsa_reader_process){.read = read, .arg = arg, .socket = -1};
}

void warprsa_reader_process_close(warprsa_reader_process *reader)
{
    if (reader->socket >= 0)
        close(reader->socket);
    reader->socket = -1;
    if (reader->pid != 0) /* then it is no longer the reader that is known */
        (void)kill(reader->pid, SIGKILL);
    reader->pid = 0;
    reader->wanted = false;
}

bool warprsa_reader_process_open(warprsa_reader_process *reader, int *receives)
{
    int ends[2];

    *receives = -1;
    if (reader->read == NULL)
        return true;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    /* The serving process can send nothing to the reader. */
    (void)shutdown(ends[0], SHUT_WR);
    *receives = ends[0];
    reader->socket = ends[1];
    return true;
}

void warprsa_reader_process_ask(warprsa_reader_process *reader)
{
    reader->wanted = reader->read != NULL;
}

/* Runs in the new process. */
_Noreturn static void run(const warprsa_reader_process *reader, pid_t parent)
{
    /* The supervisor may have been killed before the kernel knew that this
     * process has to go with it. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(EXIT_FAILURE);
    exit(reader->read(reader->arg, reader->socket));
}

bool warprsa_reader_process_tick(warprsa_reader_process *reader, char *why,
                                 size_t why_size)
{
    const pid_t self = getpid();
    pid_t pid = 0;

    if (!reader->wanted || reader->pid != 0 || reader->socket < 0)
        return true;
    pid = fork();
    if (pid == 0)
        run(reader, self);
    if (pid < 0) {
        snprintf(why, why_size,
                 "the process that reads keys could not be started: %s",
                 strerror(errno));
        return false;
    }
    reader->pid = pid;
    reader->wanted = false;
    return true;
}

bool warprsa_reader_process_ended(warprsa_reader_process *reader, pid_t pid,
                                  int status, char *why, size_t why_size)
{
    why[0] = '\0';
    if (reader->pid == 0 || pid != reader->pid)
        return false;
    reader->pid = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
        return true;
    reader->wanted = true;
    if (WIFEXITED(status))
        snprintf(why, why_size,
                 "the process that reads keys ended with status %d; another "
                 "one is started",
                 WEXITSTATUS(status));
    else
        snprintf(why, why_size,
                 "the process that reads keys was killed by signal %d; another "
                 "one is started",
                 WTERMSIG(status));
    return true;
}
