/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * warprsa-key, the program: shows which keys of warprsad's vault this user may
 * use, and writes references to them.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/provider.h>
#include <openssl/x509.h>

#include "batching/base/clock.h"
#include "batching/base/own_fd.h"
#include "batching/daemon/client/key_lookup.h"
#include "batching/vault/wire/reference.h"

enum {
    EXIT_NONE = 1,      /* no such key, or an error: stderr says which */
    EXIT_USAGE = 2,     /* bad command line */
    TIMEOUT_MS = 10000, /* of a question to the daemon */
    WHY_SIZE = 500,
};

typedef struct command command;

/* What the command line asks for. */
typedef struct request {
    const command *command;
    const char *name;   /* of a key; NULL: of none */
    const char *socket; /* NULL: not given */
} request;

struct command {
    const char *word;
    bool has_name;
    bool (*run)(const request *wanted, warprsa_key_lookup *lookup);
};

static void complain(const char *what)
{
    fprintf(stderr, "warprsa-key: %s\n", what);
}

/* The daemon's time for the next answer begins now. */
static uint64_t until_ns(void)
{
    return warprsa_clock_ns() + TIMEOUT_MS * WARPRSA_NS_PER_MS;
}

/* ---- public keys ---- */

/* The public key, in a library context without a configuration: warprsa itself
 * would only be in the way. NULL: it is none. */
static EVP_PKEY *public_key(const warprsa_key_message *key)
{
    static OSSL_LIB_CTX *libctx;
    const unsigned char *at = key->spki;

    if (libctx == NULL)
        libctx = OSSL_LIB_CTX_new();
    return libctx == NULL
               ? NULL
               : d2i_PUBKEY_ex(NULL, &at, key->spki_bytes, libctx, NULL);
}

static const char *type_of(const EVP_PKEY *key)
{
    return key == NULL                     ? "?"
           : EVP_PKEY_is_a(key, "RSA-PSS") ? "RSA-PSS"
                                           : "RSA";
}

static int bits_of(const EVP_PKEY *key)
{
    return key == NULL ? 0 : EVP_PKEY_get_bits(key);
}

static void print_digest(const warprsa_key_message *key)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;

    printf("spki-sha256: ");
    if (EVP_Digest(key->spki, key->spki_bytes, digest, &length, EVP_sha256(),
                   NULL))
        for (unsigned i = 0; i < length; i++)
            printf("%02x", digest[i]);
    printf("\n");
}

/* The line by which keys.conf of another machine calls the key one of this
 * host's: base64 has four characters for three bytes. */
static void print_remote(const warprsa_key_message *key)
{
    static unsigned char text[(sizeof(key->spki) + 2) / 3 * 4 + 1];

    if (key->spki_bytes <= sizeof(key->spki) &&
        EVP_EncodeBlock(text, key->spki, (int)key->spki_bytes) > 0)
        printf("remote: %s remote spki=%s\n", key->name, (const char *)text);
}

/* ---- list ---- */

static void print_line(const warprsa_key_message *key)
{
    EVP_PKEY *public = public_key(key);

    printf("%-24s %-8s %5d  %s\n", key->name, type_of(public), bits_of(public),
           key->allowed);
    EVP_PKEY_free(public);
}

static bool list(const request *wanted, warprsa_key_lookup *lookup)
{
    static warprsa_key_message key;
    warprsa_key_found found;
    char why[WHY_SIZE];
    char name[WARPRSA_KEY_NAME_SIZE] = "";
    unsigned printed = 0;

    (void)wanted;
    while ((found = warprsa_key_lookup_next(
                lookup, name, &key, why, sizeof(why))) == WARPRSA_KEY_FOUND) {
        if (printed++ == 0)
            printf("%-24s %-8s %5s  %s\n", "KEY", "TYPE", "BITS", "ALLOWED");
        print_line(&key); /* which may wait for whoever reads the list */
        memcpy(name, key.name, sizeof(name));
        lookup->until_ns = until_ns();
    }
    if (found == WARPRSA_KEY_UNKNOWN)
        complain(why);
    else if (printed == 0)
        fprintf(stderr,
                "warprsa-key: warprsad at %s has no key that this user may "
                "use\n",
                lookup->control.path);
    return found == WARPRSA_KEY_NOT_FOUND && printed > 0;
}

/* ---- show and reference ---- */

/* Asks for the key that is wanted. False: an error was printed. */
static bool find(const request *wanted, warprsa_key_lookup *lookup,
                 warprsa_key_message *key)
{
    char why[WHY_SIZE];

    switch (
        warprsa_key_lookup_name(lookup, wanted->name, key, why, sizeof(why))) {
    case WARPRSA_KEY_FOUND:
        return true;
    case WARPRSA_KEY_NOT_FOUND:
        fprintf(stderr,
                "warprsa-key: warprsad at %s has no key %s that this user may "
                "use\n",
                lookup->control.path, wanted->name);
        return false;
    default:
        complain(why);
        return false;
    }
}

static bool show(const request *wanted, warprsa_key_lookup *lookup)
{
    static warprsa_key_message key;
    EVP_PKEY *public = NULL;
    bool ok = false;

    if (!find(wanted, lookup, &key))
        return false;
    public = public_key(&key);
    printf("key: %s\ntype: %s\nbits: %d\nallowed: %s\n", key.name,
           type_of(public), bits_of(public), key.allowed);
    print_digest(&key);
    print_remote(&key);
    ok = public != NULL && PEM_write_PUBKEY(stdout, public);
    if (!ok)
        complain("the public key that warprsad has sent is not in DER");
    EVP_PKEY_free(public);
    return ok;
}

/* With the socket, if it was given: then the reference does not depend on the
 * configuration of the provider. */
static bool reference(const request *wanted, warprsa_key_lookup *lookup)
{
    static warprsa_key_message key;
    static warprsa_reference out;
    char text[WARPRSA_REFERENCE_PEM_MAX];

    if (wanted->socket != NULL &&
        !warprsa_reference_socket_is_valid(wanted->socket)) {
        complain("a reference can name no socket whose path has characters "
                 "other than printable ASCII");
        return false;
    }
    if (!find(wanted, lookup, &key))
        return false;
    memcpy(out.name, key.name, sizeof(out.name));
    if (wanted->socket != NULL)
        snprintf(out.socket, sizeof(out.socket), "%s", wanted->socket);
    if (key.spki_bytes <= sizeof(out.spki)) {
        memcpy(out.spki, key.spki, key.spki_bytes);
        out.spki_bytes = key.spki_bytes;
    }
    if (warprsa_reference_write_pem(&out, text, sizeof(text)) == 0) {
        complain("warprsad has sent a key of which no reference can be made");
        return false;
    }
    fputs(text, stdout);
    return true;
}

/* ---- the command line ---- */

static const command commands[] = {
    {"list", false, list},
    {"show", true, show},
    {"reference", true, reference},
};

static void usage(FILE *to)
{
    fputs("Usage: warprsa-key [--socket PATH] list\n"
          "       warprsa-key [--socket PATH] show NAME\n"
          "       warprsa-key [--socket PATH] reference NAME\n"
          "Shows the keys of warprsad that this user may use, or one of them, "
          "or writes\n"
          "a reference to one: a file that programs load as a private key.\n"
          "\n"
          "  -s, --socket PATH  where warprsad listens "
          "(" WARPRSA_SOCKET_DEFAULT ");\n"
          "                     the reference then names it, too\n"
          "  -h, --help         print this text\n"
          "  -V, --version      print the version\n",
          to);
}

static int wrong(const char *what)
{
    complain(what);
    return EXIT_USAGE;
}

/* Reads the command and its key. Returns -1 to go on, or the exit status. */
static int parse_command(int count, char **words, request *wanted)
{
    if (count < 1)
        return wrong("list, show NAME or reference NAME is wanted");
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
        if (strcmp(words[0], commands[i].word) == 0)
            wanted->command = &commands[i];
    if (wanted->command == NULL)
        return wrong("no such command; list, show NAME or reference NAME is "
                     "wanted");
    if (count != (wanted->command->has_name ? 2 : 1))
        return wrong(wanted->command->has_name ? "the name of one key is wanted"
                                               : "list goes with no name");
    if (!wanted->command->has_name)
        return -1;
    wanted->name = words[1];
    if (!warprsa_key_name_is_valid(wanted->name, strlen(wanted->name)))
        return wrong("expected " WARPRSA_KEY_NAME_ALLOWED);
    return -1;
}

/* Reads the command line. Returns -1 to go on, or the exit status. */
static int parse(int argc, char **argv, request *wanted)
{
    static const struct option options[] = {
        {"socket", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "s:hV", options, NULL)) != -1) {
        if (option == 's') {
            wanted->socket = optarg;
        } else if (option == 'h') {
            usage(stdout);
            return EXIT_SUCCESS;
        } else if (option == 'V') {
            puts("warprsa-key " WARPRSA_VERSION);
            return EXIT_SUCCESS;
        } else {
            usage(stderr);
            return EXIT_USAGE;
        }
    }
    if (wanted->socket != NULL &&
        (wanted->socket[0] != '/' ||
         strlen(wanted->socket) >= WARPRSA_SOCKET_PATH_SIZE))
        return wrong("--socket: a path from the root of at most 107 bytes is "
                     "wanted");
    return parse_command(argc - optind, argv + optind, wanted);
}

static bool run(const request *wanted)
{
    warprsa_key_lookup lookup;
    char why[WHY_SIZE];
    bool good = false;

    if (warprsa_key_lookup_open(&lookup,
                                wanted->socket != NULL ? wanted->socket
                                                       : WARPRSA_SOCKET_DEFAULT,
                                until_ns(), why, sizeof(why)))
        good = wanted->command->run(wanted, &lookup);
    else
        complain(why);
    warprsa_key_lookup_close(&lookup);
    return good;
}

int main(int argc, char **argv)
{
    request wanted = {0};
    int status = 0;
    bool good = false;

    warprsa_open_stdio();
    status = parse(argc, argv, &wanted);
    if (status >= 0)
        return status;
    good = run(&wanted);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "warprsa-key: standard output: %s\n", strerror(errno));
        return EXIT_NONE;
    }
    return good ? EXIT_SUCCESS : EXIT_NONE;
}
