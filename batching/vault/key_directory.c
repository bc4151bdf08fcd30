/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The directory of keys; see key_directory.h.
 */
#include "batching/vault/key_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "batching/vault/key_file.h"
#include "batching/vault/wire/key_name.h"

static const char key_end[] = ".pem", certificate_end[] = ".crt";

static int is_key(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name), end = strlen(key_end);

    return entry->d_name[0] != '.' && length > end &&
           strcmp(entry->d_name + length - end, key_end) == 0;
}

/* Reads the certificates of a key, if there are any. False: the visitor ends
 * the reading. */
static bool read_certificates(int directory, const char *name,
                              const EVP_PKEY *key,
                              warprsa_trusted_file *certificates,
                              const warprsa_key_visitor *visitor)
{
    char file[NAME_MAX + sizeof(certificate_end)], why[300];
    struct stat st;

    *certificates = (warprsa_trusted_file){0};
    snprintf(file, sizeof(file), "%s%s", name, certificate_end);
    if (fstatat(directory, file, &st, AT_SYMLINK_NOFOLLOW) != 0 &&
        errno == ENOENT)
        return true;
    return warprsa_key_file_certificates(certificates, directory, file, key,
                                         why, sizeof(why)) ||
           visitor->refused(visitor->arg, name, true, why);
}

static bool visit_key(int directory, const char *file,
                      const warprsa_trusted_file *passphrase,
                      warprsa_checked_keys *checked,
                      const warprsa_key_visitor *visitor)
{
    const size_t length = strlen(file) - strlen(key_end);
    char name[NAME_MAX + 1], why[300];
    warprsa_trusted_file certificates;
    EVP_PKEY *key = NULL;
    bool go_on = false;

    snprintf(name, sizeof(name), "%.*s", (int)length, file);
    if (!warprsa_key_name_is_valid(name, length))
        return visitor->refused(visitor->arg, name, false,
                                "expected " WARPRSA_KEY_NAME_ALLOWED);
    key = warprsa_key_file_read(directory, file, passphrase, checked, why,
                                sizeof(why));
    if (key == NULL)
        return visitor->refused(visitor->arg, name, false, why);
    go_on = read_certificates(directory, name, key, &certificates, visitor) &&
            visitor->key(visitor->arg, name, key, &certificates);
    warprsa_trusted_file_free(&certificates);
    EVP_PKEY_free(key);
    return go_on;
}

static int compare(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

bool warprsa_key_directory_read(const char *path,
                                const warprsa_trusted_file *passphrase,
                                warprsa_checked_keys *checked,
                                const warprsa_key_visitor *visitor, char *why,
                                size_t why_size)
{
    char reason[200];
    struct dirent **entries = NULL;
    int directory =
        warprsa_trusted_directory_open(path, reason, sizeof(reason));
    int count = -1;
    bool go_on = true;

    why[0] = '\0';
    if (directory >= 0) {
        count = scandirat(directory, ".", &entries, is_key, compare);
        if (count < 0)
            snprintf(reason, sizeof(reason), "%s", strerror(errno));
    }
    if (count < 0)
        snprintf(why, why_size, "%s: %s", path, reason);
    for (int i = 0; i < count; i++) {
        go_on = go_on && visit_key(directory, entries[i]->d_name, passphrase,
                                   checked, visitor);
        free(entries[i]);
    }
    free(entries);
    if (directory >= 0)
        close(directory);
    return count >= 0 && go_on;
}
