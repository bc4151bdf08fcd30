/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Files that nobody else can have written; see trusted_file.h. All checks are
 * of the open file, since a name may mean another one a moment later.
 */
#include "batching/vault/trusted_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "batching/base/secret_memory.h"

enum {
    /* An access control list, as the kernel gives it to getxattr(): a version,
     * then entries (include/uapi/linux/posix_acl_xattr.h). Numbers are little
     * endian. */
    ACL_HEADER = 4,
    ACL_ENTRY = 8,
    ACL_USER = 2,
    ACL_GROUP = 8,
    ACL_BYTES_MAX = ACL_HEADER + 64 * ACL_ENTRY,
    WRITE_BITS = 2,
};

/* Always false, with a sentence in why. */
static bool refuse(char *why, size_t why_size, const char *what)
{
    snprintf(why, why_size, "%s", what);
    return false;
}

static bool refuse_errno(char *why, size_t why_size, const char *what)
{
    snprintf(why, why_size, "%s%s", what, strerror(errno));
    return false;
}

static bool is_own_user(uint32_t uid)
{
    return uid == 0 || uid == geteuid();
}

static bool is_own_group(uint32_t gid)
{
    return gid == 0 || gid == getegid();
}

static uint32_t number_at(const uint8_t *bytes, unsigned count)
{
    uint32_t number = 0;

    while (count-- > 0)
        number = number << 8 | bytes[count];
    return number;
}

/* Whether a list gives nobody else any of these permissions. The group's bits
 * in the mode are the list's mask. */
static bool acl_is_own(const uint8_t *acl, size_t bytes, unsigned mask)
{
    for (size_t at = ACL_HEADER; at + ACL_ENTRY <= bytes; at += ACL_ENTRY) {
        const uint32_t tag = number_at(acl + at, 2);
        const uint32_t permissions = number_at(acl + at + 2, 2) & mask;
        const uint32_t id = number_at(acl + at + 4, 4);

        if (permissions != 0 && ((tag == ACL_USER && !is_own_user(id)) ||
                                 (tag == ACL_GROUP && !is_own_group(id))))
            return false;
    }
    return true;
}

/* Whether nobody else has any of these permissions, which are read, write and
 * search as in the last digit of a mode. */
static bool is_own(int fd, const struct stat *st, unsigned permissions)
{
    uint8_t acl[ACL_BYTES_MAX];
    const unsigned group = st->st_mode >> 3 & permissions;
    ssize_t bytes = 0;

    if ((st->st_mode & permissions) != 0)
        return false;
    if (group == 0)
        return true;
    if ((group & WRITE_BITS) != 0 || !is_own_group(st->st_gid))
        return false;
    bytes = fgetxattr(fd, "system.posix_acl_access", acl, sizeof(acl));
    if (bytes < 0) /* none, unless it is too long */
        return errno == ENODATA || errno == ENOTSUP;
    return acl_is_own(acl, (size_t)bytes, group);
}

static bool check(int fd, bool secret, size_t most, struct stat *st, char *why,
                  size_t why_size)
{
    if (fstat(fd, st) != 0)
        return refuse_errno(why, why_size, "");
    if (!S_ISREG(st->st_mode))
        return refuse(why, why_size, "it is no regular file");
    if (!is_own_user(st->st_uid)) {
        snprintf(why, why_size,
                 "it belongs to user %u: expected root or user %u",
                 (unsigned)st->st_uid, (unsigned)geteuid());
        return false;
    }
    if (!is_own(fd, st, secret ? 7 : WRITE_BITS)) {
        snprintf(why, why_size,
                 "others may %s it (mode %04o): expected 0600 or less",
                 secret ? "read or write" : "write",
                 (unsigned)st->st_mode & 07777);
        return false;
    }
    if (st->st_size < 0 || (uint64_t)st->st_size > most) {
        snprintf(why, why_size, "it is longer than %zu bytes", most);
        return false;
    }
    return true;
}

/* Reads to the end, which may have moved since `size` was looked at. */
static bool read_all(warprsa_trusted_file *file, int fd, size_t size, char *why,
                     size_t why_size)
{
    file->size = size;
    file->bytes = warprsa_secret_map(size + 1);
    if (file->bytes == NULL)
        return refuse(why, why_size, "no memory for it");
    for (size_t at = 0; at < size;) {
        ssize_t got = read(fd, file->bytes + at, size - at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return refuse_errno(why, why_size, "");
        if (got == 0)
            return refuse(why, why_size, "it changed while it was read");
        at += (size_t)got;
    }
    return true;
}

bool warprsa_trusted_file_read(warprsa_trusted_file *file, int directory,
                               const char *name, bool secret, size_t most,
                               char *why, size_t why_size)
{
    struct stat st;
    bool ok = false;
    /* O_NONBLOCK: to open a FIFO would wait for a writer. */
    int fd = openat(directory, name,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    *file = (warprsa_trusted_file){0};
    if (fd < 0)
        return errno == ELOOP
                   ? refuse(why, why_size,
                            "it is a symbolic link: expected the file itself")
                   : refuse_errno(why, why_size, "");
    ok = check(fd, secret, most, &st, why, why_size) &&
         read_all(file, fd, (size_t)st.st_size, why, why_size);
    close(fd);
    if (!ok)
        warprsa_trusted_file_free(file);
    return ok;
}

void warprsa_trusted_file_free(warprsa_trusted_file *file)
{
    if (file->bytes != NULL) {
        explicit_bzero(file->bytes, file->size);
        warprsa_secret_unmap(file->bytes, file->size + 1);
    }
    *file = (warprsa_trusted_file){0};
}

int warprsa_trusted_directory_open(const char *path, char *why, size_t why_size)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) != 0) {
        (void)refuse_errno(why, why_size, "");
    } else if (!is_own_user(st.st_uid)) {
        snprintf(why, why_size,
                 "it belongs to user %u: expected root or user %u",
                 (unsigned)st.st_uid, (unsigned)geteuid());
    } else if (!is_own(fd, &st, WRITE_BITS)) {
        snprintf(why, why_size,
                 "others may write to it (mode %04o): expected 0700 or 0755",
                 (unsigned)st.st_mode & 07777);
    } else {
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}
