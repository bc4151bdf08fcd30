/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading a file only if nobody but root and the daemon's own user can have
 * written it, and, of a secret, read it.
 */
#ifndef WARPRSA_BATCHING_VAULT_TRUSTED_FILE_H
#define WARPRSA_BATCHING_VAULT_TRUSTED_FILE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct warprsa_trusted_file {
    char *bytes; /* with a zero after them; SECRET if the file is */
    size_t size;
} warprsa_trusted_file;

/*
 * Reads a file of at most `most` bytes; `name` is seen from `directory`, a
 * descriptor or AT_FDCWD. It must be a regular file, no symbolic link, and
 * belong to root or the process's user. If it is `secret`, others may neither
 * read nor write it. Root's group and the process's own group may read it:
 * systemd passes credentials so. The memory is of secret_memory.h.
 *
 * False: `why` says what is wrong, to go on after the file's name. One that is
 * no regular file is not waited for. Any thread.
 */
bool warprsa_trusted_file_read(warprsa_trusted_file *file, int directory,
                               const char *name, bool secret, size_t most,
                               char *why, size_t why_size);

/* Wipes and frees what was read. */
void warprsa_trusted_file_free(warprsa_trusted_file *file);

/* Opens a directory in which only root and the process's user can make and
 * rename files. -1: `why` says what is wrong. Any thread. */
int warprsa_trusted_directory_open(const char *path, char *why,
                                   size_t why_size);

#endif
