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
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "batching/base/create_thread.h"
#include "batching/base/usable_cpus.h"
#include "batching/vault/key_file.h"
#include "batching/vault/wire/key_name.h"

enum {
    THREADS_MAX = 255,
};

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

/* A file of the directory. */
typedef struct key_entry {
    struct dirent *entry;
    off_t size;
} key_entry;

/* What the threads of a reading share. */
typedef struct reading {
    int directory;
    const warprsa_trusted_file *passphrase;
    warprsa_checked_keys *checked;
    const key_entry *entries;
    unsigned count;
    atomic_uint next; /* entry that no thread has taken yet */
    pthread_mutex_t lock;
    const warprsa_key_visitor *visitor; /* under the lock */
    atomic_bool ended;                  /* by the visitor */
} reading;

/* Reads a key and its certificates, and takes the lock before the visitor is
 * told of them. */
static bool visit_key(reading *r, const char *file)
{
    const size_t length = strlen(file) - strlen(key_end);
    char name[NAME_MAX + 1], why[300];
    warprsa_trusted_file certificates;
    EVP_PKEY *key = NULL;
    bool go_on = false;

    snprintf(name, sizeof(name), "%.*s", (int)length, file);
    if (warprsa_key_name_is_valid(name, length))
        key = warprsa_key_file_read(r->directory, file, r->passphrase,
                                    r->checked, why, sizeof(why));
    else
        snprintf(why, sizeof(why), "expected " WARPRSA_KEY_NAME_ALLOWED);
    pthread_mutex_lock(&r->lock);
    if (key == NULL) {
        go_on = r->visitor->refused(r->visitor->arg, name, false, why);
    } else {
        go_on = read_certificates(r->directory, name, key, &certificates,
                                  r->visitor) &&
                r->visitor->key(r->visitor->arg, name, key, &certificates);
        warprsa_trusted_file_free(&certificates);
    }
    pthread_mutex_unlock(&r->lock);
    EVP_PKEY_free(key);
    return go_on;
}

static void *visit_keys(void *arg)
{
    reading *r = arg;
    unsigned at = 0;

    while (!atomic_load(&r->ended) &&
           (at = atomic_fetch_add(&r->next, 1)) < r->count)
        if (!visit_key(r, r->entries[at].entry->d_name))
            atomic_store(&r->ended, true);
    return NULL;
}

/* Visits all keys, on this thread and on as many others as there are CPUs for
 * and can be had. */
static void visit_on_cpus(reading *r)
{
    pthread_t threads[THREADS_MAX];
    unsigned wanted = warprsa_usable_cpus(), started = 0;

    if (wanted > r->count)
        wanted = r->count;
    while (started + 1 < wanted && started < THREADS_MAX &&
           warprsa_create_thread(&threads[started], visit_keys, r) == 0)
        started++;
    (void)visit_keys(r);
    while (started > 0)
        pthread_join(threads[--started], NULL);
}

/* By size: a short key is checked soon, and programs wait for it. Then by
 * name. */
static int compare(const void *a, const void *b)
{
    const key_entry *x = a, *y = b;

    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return strcmp(x->entry->d_name, y->entry->d_name);
}

static void list_free(key_entry *entries, int count)
{
    for (int i = 0; i < count; i++)
        free(entries[i].entry);
    free(entries);
}

/* Lists the keys. Returns how many there are, or -1. */
static int list(int directory, key_entry **entries, char *why, size_t why_size)
{
    struct dirent **found = NULL;
    const int count = scandirat(directory, ".", &found, is_key, NULL);

    *entries = count >= 0 ? calloc((size_t)count + 1, sizeof(**entries)) : NULL;
    if (*entries == NULL)
        snprintf(why, why_size, "%s", strerror(errno));
    for (int i = 0; i < count; i++) {
        struct stat st = {0}; /* what is wrong with a file is told later */

        if (*entries == NULL) {
            free(found[i]);
            continue;
        }
        (void)fstatat(directory, found[i]->d_name, &st, AT_SYMLINK_NOFOLLOW);
        (*entries)[i] = (key_entry){found[i], st.st_size};
    }
    free(found);
    if (*entries == NULL)
        return -1;
    qsort(*entries, (size_t)count, sizeof(**entries), compare);
    return count;
}

bool warprsa_key_directory_read(const char *path,
                                const warprsa_trusted_file *passphrase,
                                warprsa_checked_keys *checked,
                                const warprsa_key_visitor *visitor, char *why,
                                size_t why_size)
{
    reading r = {
        .passphrase = passphrase,
        .checked = checked,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .visitor = visitor,
    };
    char reason[200];
    key_entry *entries = NULL;
    int count = -1;

    why[0] = '\0';
    r.directory = warprsa_trusted_directory_open(path, reason, sizeof(reason));
    if (r.directory >= 0) {
        count = list(r.directory, &entries, reason, sizeof(reason));
        if (count > 0) {
            r.entries = entries;
            r.count = (unsigned)count;
            visit_on_cpus(&r);
        }
        list_free(entries, count);
        close(r.directory);
    }
    if (count < 0)
        snprintf(why, why_size, "%s: %s", path, reason);
    return count >= 0 && !atomic_load(&r.ended);
}
