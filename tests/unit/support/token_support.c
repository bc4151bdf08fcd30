/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The module and its daemon; see token_support.h.
 */
#include "tests/unit/support/token_support.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include "tests/unit/support/emulator.h"
#include "tests/unit/support/sanitizers.h"

enum {
    PATH_SIZE = 128,
    DEADLINE_MS = 600000,
};

test_token token;
static pid_t daemon_pid;

/* ---- files ---- */

static void path_of(char path[PATH_SIZE], const char *name, const char *suffix)
{
    snprintf(path, PATH_SIZE, "%s/%s%s", token.directory, name, suffix);
}

static FILE *create(const char *name, const char *suffix)
{
    char path[PATH_SIZE];
    FILE *file = NULL;

    path_of(path, name, suffix);
    file = fopen(path, "w");
    assert_non_null(file);
    return file;
}

/* The key is there at once. */
static void write_key(const char *name, EVP_PKEY *key)
{
    char path[PATH_SIZE], hidden[PATH_SIZE];
    FILE *file = create("keys/.new", "");

    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL),
                     1);
    assert_int_equal(fclose(file), 0);
    snprintf(hidden, sizeof(hidden), "%s/keys/.new", token.directory);
    snprintf(path, sizeof(path), "%s/keys/%s.pem", token.directory, name);
    assert_int_equal(chmod(hidden, 0600), 0);
    assert_int_equal(rename(hidden, path), 0);
}

static void write_rules(void)
{
    FILE *file = create("keys.conf", "");
    const int me = (int)getuid();

    fprintf(file,
            "www user=%d sign padding=pkcs1,pss digest=any\n"
            "www user=%d decrypt padding=pkcs1\n"
            "www user=%d decrypt padding=oaep digest=any\n"
            "raw user=%d sign decrypt padding=none\n"
            "pss user=%d sign padding=pss digest=sha256\n"
            "new user=%d sign padding=pkcs1 digest=sha256\n",
            me, me, me, me, me, me);
    assert_int_equal(fclose(file), 0);
}

/* ---- keys and certificates ---- */

static EVP_PKEY *make_key(const char *type, unsigned bits)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *key = NULL;

    assert_int_equal(EVP_PKEY_keygen_init(context), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_keygen_bits(context, (int)bits), 1);
    assert_int_equal(EVP_PKEY_keygen(context, &key), 1);
    EVP_PKEY_CTX_free(context);
    return key;
}

static void add_name(X509_NAME *name, const char *text)
{
    assert_int_equal(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                                (const unsigned char *)text, -1,
                                                -1, 0),
                     1);
}

static X509 *make_certificate(EVP_PKEY *key, const char *name, long serial,
                              const char *issuer, EVP_PKEY *issuer_key)
{
    X509 *made = X509_new();

    assert_non_null(made);
    ASN1_INTEGER_set(X509_get_serialNumber(made), serial);
    X509_set_version(made, X509_VERSION_3);
    X509_gmtime_adj(X509_getm_notBefore(made), 0);
    X509_gmtime_adj(X509_getm_notAfter(made), 86400);
    assert_int_equal(X509_set_pubkey(made, key), 1);
    add_name(X509_get_subject_name(made), name);
    add_name(X509_get_issuer_name(made), issuer);
    assert_true(X509_sign(made, issuer_key, EVP_sha256()) > 0);
    return made;
}

static void write_chain(void)
{
    FILE *file = create("keys/www", ".crt");

    assert_int_equal(PEM_write_X509(file, token.certificate), 1);
    assert_int_equal(PEM_write_X509(file, token.authority), 1);
    assert_int_equal(fclose(file), 0);
}

static void make_keys(void)
{
    token.www = make_key("RSA", 2048);
    token.raw = make_key("RSA", 1024);
    token.pss = make_key("RSA-PSS", 2048);
    token.authority_key = make_key("RSA", 1024);
    token.certificate = make_certificate(token.www, "www.example.org", 4711,
                                         "authority", token.authority_key);
    token.authority = make_certificate(token.authority_key, "authority", 1,
                                       "authority", token.authority_key);
    write_key("www", token.www);
    write_key("raw", token.raw);
    write_key("pss", token.pss);
    write_chain();
}

/* ---- the daemon ---- */

static unsigned log_count(const char *what)
{
    char path[PATH_SIZE], line[4096];
    unsigned count = 0;
    FILE *file = NULL;

    path_of(path, "log", "");
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        count += strstr(line, what) != NULL;
    if (file != NULL)
        fclose(file);
    return count;
}

static void run_daemon(void)
{
    char program[512], path[PATH_SIZE];
    char socket[PATH_SIZE], keys[PATH_SIZE], rules[PATH_SIZE];

    snprintf(program, sizeof(program), "%s/batching/daemon/warprsad",
             getenv("BUILD_DIR"));
    snprintf(socket, sizeof(socket), "--socket=%s", token.socket);
    snprintf(keys, sizeof(keys), "--keys-directory=%s/keys", token.directory);
    snprintf(rules, sizeof(rules), "--keys-rules=%s/keys.conf",
             token.directory);
    path_of(path, "log", "");
    if (freopen(path, "a", stderr) == NULL)
        _exit(100);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    exec_emulated((char *[]){NULL, program, "--engine=host",
                             "--deadline-ms=600000", socket, keys, rules,
                             NULL});
    _exit(101);
}

void test_token_start_daemon(void)
{
    const unsigned before = log_count(": ready");
    pid_t ended = 0;

    daemon_pid = fork();
    if (daemon_pid == 0)
        run_daemon();
    assert_true(daemon_pid > 0);
    WAIT_UNTIL(log_count(": ready") > before ||
               (ended = waitpid(daemon_pid, NULL, WNOHANG)) != 0);
    assert_int_equal(ended, 0);
}

void test_token_stop_daemon(void)
{
    assert_int_equal(kill(daemon_pid, SIGTERM), 0);
    assert_int_equal(waitpid(daemon_pid, NULL, 0), daemon_pid);
}

static void reload_until(const char *what)
{
    const unsigned before = log_count(what);

    assert_int_equal(kill(daemon_pid, SIGHUP), 0);
    WAIT_UNTIL(log_count(what) > before);
}

void test_token_add_key(const char *name, EVP_PKEY *key)
{
    char line[PATH_SIZE];

    write_key(name, key);
    snprintf(line, sizeof(line), "key %s: added", name);
    reload_until(line);
}

void test_token_remove_key(const char *name)
{
    char path[PATH_SIZE], line[PATH_SIZE];

    snprintf(path, sizeof(path), "%s/keys/%s.pem", token.directory, name);
    assert_int_equal(unlink(path), 0);
    snprintf(line, sizeof(line), "key %s: removed", name);
    reload_until(line);
}

/* ---- the module ---- */

static void load_module(void)
{
    CK_RV (*get)(CK_UTF8CHAR *, CK_VERSION *, CK_INTERFACE **, CK_FLAGS) = NULL;
    CK_INTERFACE *interface = NULL;
    char path[512];

    snprintf(path, sizeof(path), "%s/pkcs11/warprsa-pkcs11.so",
             getenv("BUILD_DIR"));
    token.module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(token.module);
    *(void **)&get = dlsym(token.module, "C_GetInterface");
    assert_non_null(get);
    assert_int_equal(get(NULL, NULL, &interface, 0), CKR_OK);
    memcpy(&token.p11, &interface->pFunctionList, sizeof(token.p11));
}

int test_token_begin_group(void **state)
{
    char keys[PATH_SIZE];

    (void)state;
#ifdef UNDER_TSAN
    exit(77); /* there is no vault: see vault_daemon.h */
#endif
    snprintf(token.directory, sizeof(token.directory),
             "/tmp/warprsa-token.XXXXXX");
    assert_non_null(mkdtemp(token.directory));
    snprintf(token.socket, sizeof(token.socket), "%s/socket", token.directory);
    path_of(keys, "keys", "");
    assert_int_equal(mkdir(keys, 0700), 0);
    make_keys();
    write_rules();
    test_token_start_daemon();
    load_module();
    return 0;
}

int test_token_end_group(void **state)
{
    char command[PATH_SIZE];

    (void)state;
    test_token_stop_daemon();
    assert_int_equal(dlclose(token.module), 0);
    X509_free(token.certificate);
    X509_free(token.authority);
    EVP_PKEY_free(token.www);
    EVP_PKEY_free(token.raw);
    EVP_PKEY_free(token.pss);
    EVP_PKEY_free(token.authority_key);
    snprintf(command, sizeof(command), "rm -rf %s", token.directory);
    return system(command);
}

CK_C_INITIALIZE_ARGS *test_token_arguments(unsigned deadline_ms)
{
    static CK_C_INITIALIZE_ARGS arguments;
    static char text[PATH_SIZE];

    snprintf(text, sizeof(text), "socket=%s deadline_ms=%u", token.socket,
             deadline_ms);
    arguments = (CK_C_INITIALIZE_ARGS){
        .flags = CKF_OS_LOCKING_OK,
        .pReserved = text,
    };
    return &arguments;
}

int test_token_begin(void **state)
{
    (void)state;
    assert_int_equal(token.p11->C_Initialize(test_token_arguments(DEADLINE_MS)),
                     CKR_OK);
    return 0;
}

int test_token_end(void **state)
{
    (void)state;
    assert_int_equal(token.p11->C_Finalize(NULL), CKR_OK);
    return 0;
}

CK_SESSION_HANDLE test_token_session(void)
{
    CK_SESSION_HANDLE session = CK_INVALID_HANDLE;

    assert_int_equal(
        token.p11->C_OpenSession(0, CKF_SERIAL_SESSION, NULL, NULL, &session),
        CKR_OK);
    return session;
}

CK_OBJECT_HANDLE test_token_find(CK_SESSION_HANDLE session,
                                 CK_OBJECT_CLASS class, const char *label)
{
    CK_ATTRIBUTE template[] = {
        {CKA_CLASS, &class, sizeof(class)},
        {CKA_LABEL, (void *)label, strlen(label)},
    };
    CK_OBJECT_HANDLE object = CK_INVALID_HANDLE;
    CK_ULONG count = 0;

    assert_int_equal(token.p11->C_FindObjectsInit(session, template, 2),
                     CKR_OK);
    assert_int_equal(token.p11->C_FindObjects(session, &object, 1, &count),
                     CKR_OK);
    assert_int_equal(token.p11->C_FindObjectsFinal(session), CKR_OK);
    return count == 0 ? CK_INVALID_HANDLE : object;
}

CK_OBJECT_HANDLE test_token_private(CK_SESSION_HANDLE session,
                                    const char *label)
{
    return test_token_find(session, CKO_PRIVATE_KEY, label);
}

CK_OBJECT_HANDLE test_token_public(CK_SESSION_HANDLE session, const char *label)
{
    return test_token_find(session, CKO_PUBLIC_KEY, label);
}
