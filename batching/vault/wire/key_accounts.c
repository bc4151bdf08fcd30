/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The block of the accounts of keys; see key_accounts.h.
 */
#include "batching/vault/wire/key_accounts.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "batching/base/own_fd.h"
#include "batching/base/quiet.h"

/* The block stands first: other processes read it there. */
typedef struct accounts_file {
    warprsa_key_accounts accounts;
    warprsa_own_fd fd;
} accounts_file;

const char warprsa_key_accounts_magic[WARPRSA_KEY_ACCOUNTS_MAGIC] =
    "warprsa-account";

/* FNV-1a of the names of denials, and the size. */
uint64_t warprsa_key_accounts_version(void)
{
#define NAME(id, name, ...) #name " "
    static const char names[] = WARPRSA_EACH_DENIAL(NAME);
#undef NAME
    uint32_t digest = UINT32_C(2166136261);

    for (const char *c = names; *c != '\0'; c++)
        digest = (digest ^ (uint8_t)*c) * UINT32_C(16777619);
    return (uint64_t)digest << 32 | sizeof(warprsa_key_accounts);
}

/* Gives it the size. The process may be limited to smaller files. */
static bool set_size(int fd)
{
    const warprsa_quiet quiet = warprsa_quiet_begin();
    const bool ok = ftruncate(fd, sizeof(accounts_file)) == 0;

    warprsa_quiet_end(&quiet);
    return ok;
}

static void write_row(warprsa_key_account *row, const char *key, const char *by)
{
    snprintf(row->key, sizeof(row->key), "%s", key);
    snprintf(row->by, sizeof(row->by), "%s", by);
    atomic_store_explicit(&row->whole, 1, memory_order_release);
}

warprsa_key_accounts *warprsa_key_accounts_new(void)
{
    accounts_file *file = MAP_FAILED;
    warprsa_own_fd fd;

    if (!warprsa_own_fd_take(
            &fd, memfd_create(WARPRSA_KEY_ACCOUNTS_FILE, MFD_CLOEXEC)))
        return NULL;
    if (set_size(fd.fd))
        file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED,
                    fd.fd, 0);
    if (file == MAP_FAILED) {
        warprsa_own_fd_close(&fd);
        return NULL;
    }
    memcpy(file->accounts.magic, warprsa_key_accounts_magic,
           sizeof(warprsa_key_accounts_magic));
    file->accounts.version = warprsa_key_accounts_version();
    file->accounts.pid = (uint64_t)getpid();
    write_row(&file->accounts.rows[WARPRSA_KEY_ACCOUNTS_MAX],
              WARPRSA_ACCOUNT_OTHER, WARPRSA_ACCOUNT_OTHER);
    file->fd = fd;
    return &file->accounts;
}

void warprsa_key_accounts_free(warprsa_key_accounts *accounts)
{
    accounts_file *file = (accounts_file *)accounts;

    if (file == NULL)
        return;
    warprsa_own_fd_close(&file->fd);
    munmap(file, sizeof(*file));
}

static bool is_of(const warprsa_key_account *row, const char *key,
                  const char *by)
{
    return atomic_load_explicit(&row->whole, memory_order_acquire) != 0 &&
           strcmp(row->key, key) == 0 && strcmp(row->by, by) == 0;
}

/* Takes a free row of `count`. NULL: there is none. */
static warprsa_key_account *take(warprsa_key_account *rows, uint64_t count,
                                 _Atomic uint64_t *taken)
{
    uint64_t at = atomic_load(taken);

    if (at < count)
        at = atomic_fetch_add(taken, 1);
    return at < count ? &rows[at] : NULL;
}

/* A serving process that dies while it writes a row leaves one that is never
 * whole, and belongs to nobody. */
warprsa_key_account *warprsa_key_accounts_find(warprsa_key_accounts *accounts,
                                               const char *key, const char *by,
                                               bool is_allowed)
{
    warprsa_key_account *row = NULL;

    for (unsigned i = 0; i < WARPRSA_KEY_ACCOUNTS_MAX; i++)
        if (is_of(&accounts->rows[i], key, by))
            return &accounts->rows[i];
    if (is_allowed)
        row = take(accounts->rows, WARPRSA_ACCOUNTS_ALLOWED_MAX,
                   &accounts->allowed_taken);
    else
        row = take(&accounts->rows[WARPRSA_ACCOUNTS_ALLOWED_MAX],
                   WARPRSA_ACCOUNTS_DENIED_MAX, &accounts->denied_taken);
    if (row == NULL)
        return &accounts->rows[WARPRSA_KEY_ACCOUNTS_MAX];
    write_row(row, key, by);
    return row;
}

const char *warprsa_denial_name(warprsa_denial denial)
{
    static const char *const names[] = {"allowed",
#define NAME(id, name, ...) #name,
                                        WARPRSA_EACH_DENIAL(NAME)
#undef NAME
    };

    return names[denial];
}
