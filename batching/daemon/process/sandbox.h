/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Takes the vault's files out of a process's sight, by Landlock
 * (landlock(7)), for good and for all that it forks. It is for the serving
 * process: what parses clients' bytes gets keys through a socket, and has no
 * way to the files, nor to the memory of the processes that read them.
 *
 * Landlock can't forbid a directory, only allow others. So each directory
 * above a hidden path is looked at, and all that lies in it at that moment is
 * allowed, but for the way to the hidden path. The consequence: in the
 * directories above, the process can't open what is made later, and can't list
 * them. A file that is replaced by rename() is such a one. Everything beneath
 * the others, new files too, is as before.
 *
 * The alternatives are worse. To allow only a list of what is needed would
 * break drivers and name services that open files of their own. Mount
 * namespaces need privileges, or a user namespace in which all clients are
 * "nobody".
 *
 * So the place of the keys matters. /var/lib/warprsa/keys has nothing above it
 * that a serving process opens later. /etc/warprsa/keys would hide later
 * versions of /etc/warprsa/warprsad.conf, and of /etc/passwd, /etc/hosts and
 * so on from it: then options have to come from the supervisor at a reload, as
 * rules and the numbers of their users do (vault/vault_transfer.h).
 *
 * What remains: a second name of the hidden files elsewhere, as by a hard link
 * or a bind mount, is not hidden.
 */
#ifndef WARPRSA_BATCHING_DAEMON_PROCESS_SANDBOX_H
#define WARPRSA_BATCHING_DAEMON_PROCESS_SANDBOX_H

#include <stddef.h>

enum {
    WARPRSA_SANDBOX_PATHS_MAX = 8,
};

typedef enum warprsa_sandbox_result {
    WARPRSA_SANDBOX_HIDDEN,
    WARPRSA_SANDBOX_UNSUPPORTED, /* the kernel has no Landlock, or a filter of
                                    system calls forbids it */
    WARPRSA_SANDBOX_FAILED,
} warprsa_sandbox_result;

/* Hides directories with all that is in them, and files, from the calling
 * process, which must have one thread and can gain no privileges afterwards
 * (PR_SET_NO_NEW_PRIVS). What it has open stays open. Unless they are hidden,
 * `why` is a line for the log, and the process is as before, but for the
 * privileges. */
warprsa_sandbox_result warprsa_sandbox_hide(const char *const *paths,
                                            unsigned count, char *why,
                                            size_t why_size);

#endif
