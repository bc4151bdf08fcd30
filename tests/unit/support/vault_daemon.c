/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The daemon with a vault, its files, and what its log says of a key.
 */
#include "tests/unit/support/vault_daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <openssl/store.h>

#include "tests/unit/support/emulator.h"
#include "tests/unit/support/sanitizers.h"
#include "tests/unit/support/wait_until.h"

static char directory[64];
static char socket_path[64], log_path[64];
static pid_t daemon_pid;
static unsigned keys;

static void run(void)
{
    char program[512], options[3][128];
    const int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);

    snprintf(program, sizeof(program), "%s/batching/daemon/warprsad",
             getenv("BUILD_DIR"));
    snprintf(options[0], sizeof(options[0]), "--socket=%s", socket_path);
    snprintf(options[1], sizeof(options[1]), "--keys-directory=%s/keys",
             directory);
    snprintf(options[2], sizeof(options[2]), "--keys-rules=%s/keys.conf",
             directory);
    if (log >= 0 && dup2(log, STDERR_FILENO) >= 0)
        exec_emulated((char *[]){
            NULL, program, "--engine=host", "--deadline-ms=600000", options[0],
            vault_daemon_has_vault() ? options[1] : NULL, options[2], NULL});
    _exit(1);
}

static void write_rules(void)
{
    char path[64];
    FILE *rules = NULL;

    snprintf(path, sizeof(path), "%s/keys", directory);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/keys.conf", directory);
    rules = fopen(path, "w");
    assert_non_null(rules);
    fprintf(rules,
            "* user=%u sign decrypt padding=pkcs1,pss,tls,oaep,none "
            "digest=any\n",
            (unsigned)getuid());
    assert_int_equal(fclose(rules), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

/* Whether the log has this. */
static bool is_logged(const char *text)
{
    FILE *log = fopen(log_path, "r");
    char line[1024];
    bool found = false;

    while (log != NULL && !found && fgets(line, sizeof(line), log) != NULL)
        found = strstr(line, text) != NULL;
    if (log != NULL)
        fclose(log);
    return found;
}

bool vault_daemon_is_wanted(void)
{
    const char *keys_are = getenv("WARPRSA_TEST_KEYS");

    return keys_are != NULL && strcmp(keys_are, "vault") == 0;
}

bool vault_daemon_has_vault(void)
{
#ifdef UNDER_TSAN
    return false;
#else
    return true;
#endif
}

void vault_daemon_start(void)
{
    if (vault_daemon_is_wanted() && !vault_daemon_has_vault())
        exit(77); /* the test is skipped */
    strcpy(directory, "/tmp/warprsa-vault.XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(socket_path, sizeof(socket_path), "%s/socket", directory);
    snprintf(log_path, sizeof(log_path), "%s/log", directory);
    write_rules();
    fflush(NULL);
    daemon_pid = fork();
    if (daemon_pid == 0)
        run();
    WAIT_UNTIL(is_logged("ready: ") ||
               waitpid(daemon_pid, NULL, WNOHANG) == daemon_pid);
    assert_true(is_logged("ready: "));
}

const char *vault_daemon_socket(void)
{
    return socket_path;
}

/* The file is there at once, so that the daemon never finds a half of it. */
static void write_key(const char *name, EVP_PKEY *key)
{
    char path[128], part[128];
    FILE *file = NULL;

    snprintf(path, sizeof(path), "%s/keys/%s.pem", directory, name);
    snprintf(part, sizeof(part), "%s/keys/.%s", directory, name);
    file = fopen(part, "w");
    assert_non_null(file);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL),
                     1);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(part, path), 0);
}

EVP_PKEY *vault_daemon_load(OSSL_LIB_CTX *libctx, unsigned number)
{
    char uri[128];
    OSSL_STORE_CTX *store = NULL;
    OSSL_STORE_INFO *info = NULL;
    EVP_PKEY *key = NULL;

    snprintf(uri, sizeof(uri), "warprsa:key%u?socket=%s", number, socket_path);
    store = OSSL_STORE_open_ex(uri, libctx, NULL, NULL, NULL, NULL, NULL, NULL);
    assert_non_null(store);
    info = OSSL_STORE_load(store);
    assert_non_null(info);
    key = OSSL_STORE_INFO_get1_PKEY(info);
    OSSL_STORE_INFO_free(info);
    OSSL_STORE_close(store);
    assert_non_null(key);
    return key;
}

EVP_PKEY *vault_daemon_reference(OSSL_LIB_CTX *libctx, EVP_PKEY *key,
                                 unsigned *number)
{
    char name[32], added[64], refused[64];

    *number = keys++;
    snprintf(name, sizeof(name), "key%u", *number);
    snprintf(added, sizeof(added), "key %s: added", name);
    snprintf(refused, sizeof(refused), "key %s: refused", name);
    write_key(name, key);
    assert_int_equal(kill(daemon_pid, SIGHUP), 0);
    WAIT_UNTIL(is_logged(added) || is_logged(refused));
    return is_logged(added) ? vault_daemon_load(libctx, *number) : NULL;
}

void vault_daemon_remove(unsigned number)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/keys/key%u.pem", directory, number);
    assert_int_equal(unlink(path), 0);
}

int vault_daemon_stop(void)
{
    char command[128];
    int status = -1;

    if (kill(daemon_pid, SIGTERM) != 0 ||
        waitpid(daemon_pid, &status, 0) != daemon_pid)
        return -1;
    snprintf(command, sizeof(command), "rm -r %s", directory);
    return system(command) != 0 ? -1 : status;
}
