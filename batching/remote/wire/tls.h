/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * TLS of the network: version 1.3 alone, certificates on both sides. Its
 * library context has only the default provider and no configuration file, so
 * that its own private operations never go through warprsa.
 */
#ifndef WARPRSA_BATCHING_REMOTE_WIRE_TLS_H
#define WARPRSA_BATCHING_REMOTE_WIRE_TLS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/ssl.h>

enum {
    WARPRSA_TLS_WHY = 256,
    WARPRSA_TLS_NAME = 256, /* an identity, with its final zero */
};

/* Files in PEM: a certificate with its chain, its private key, the authorities
 * of peers' certificates, and their revocation lists (CRLs; empty: none are
 * used). */
typedef struct warprsa_tls_files {
    const char *certificate, *key, *ca, *crl;
} warprsa_tls_files;

/* The input of a connection. Inside one SSL_read() libssl processes messages
 * without data, such as key updates (RFC 8446, 4.6.3), for as long as they
 * come. This structure limits the bytes that libssl finds in a turn, and the
 * number of messages without data to what a peer needs that also sends data. */
typedef struct warprsa_tls_input {
    int socket;
    size_t allowed;    /* bytes that may still be read; its user's to set */
    bool stopped;      /* there may be more, but no more were allowed */
    bool flooded;      /* too many messages without data: it has ended */
    bool ended;        /* the peer has closed its end */
    uint64_t received; /* bytes */
    unsigned messages; /* after the handshake */
} warprsa_tls_input;

typedef struct warprsa_tls {
    bool is_server;
    BIO_METHOD *input; /* that reads by a warprsa_tls_input */
    OSSL_LIB_CTX *libctx;
    OSSL_PROVIDER *provider;
    pthread_mutex_t lock;
    SSL_CTX *context;    /* under the lock */
    atomic_uint reloads; /* how often it was another one */
} warprsa_tls;

/* Reads the files. False: `why` says which file is wrong, and how. A private
 * key that others than its owner and group may use is refused. */
bool warprsa_tls_open(warprsa_tls *tls, bool is_server,
                      const warprsa_tls_files *files, char *why,
                      size_t why_size);

/* Reads the files again, for later connections; existing ones ask by
 * still_valid(). False: as for open(), and nothing is changed. Any thread. */
bool warprsa_tls_reload(warprsa_tls *tls, const warprsa_tls_files *files,
                        char *why, size_t why_size);

/* Whether the peer's certificate would still be accepted: no certificate of its
 * chain has expired, and if the files were reloaded since `*checked` reloads,
 * its authority is still among them and has not revoked it. `*checked` is 0 for
 * a new connection, and set here. False: `why` says why. The connection's
 * thread. */
bool warprsa_tls_still_valid(warprsa_tls *tls, SSL *ssl, unsigned *checked,
                             char why[WARPRSA_TLS_WHY]);

/* Frees everything; no connection may be left. Threads that have used a
 * connection and go on, other than the caller, have called
 * warprsa_tls_leave(). */
void warprsa_tls_close(warprsa_tls *tls);

/* Frees libcrypto's random generators of this thread. Otherwise a handler would
 * free them when the thread ends, and would read the library context even after
 * it is gone (OPENSSL_thread_stop_ex(3)). The thread may use connections
 * again. */
void warprsa_tls_leave(warprsa_tls *tls);

/*
 * Makes TLS for a connected socket, which stays the caller's and is set in
 * `input`; NULL: no memory. `input` outlives the connection. `name` is the name
 * or address that the server's certificate must have in its subjectAltName,
 * without wildcards (RFC 9525); NULL for a server. The peer's certificate must
 * have the extended key usage of its role, serverAuth or clientAuth (RFC 5280,
 * 4.2.1.12). `why` outlives the connection; if the peer's certificate is
 * refused, it says whose it is and what is wrong. Any thread.
 */
SSL *warprsa_tls_connection(warprsa_tls *tls, warprsa_tls_input *input,
                            const char *name, char why[WARPRSA_TLS_WHY]);

/* After a failed handshake or read: fills `why`, unless it is already filled.
 * Takes the errors off libcrypto's queue. */
void warprsa_tls_explain(SSL *ssl, int returned, char why[WARPRSA_TLS_WHY]);

/* The identities of the peer in turn: "dns:NAME" and "uri:NAME" for each
 * subjectAltName of these kinds. Calls `use` with each until it returns true. A
 * name with a zero or control character in it is left out. Returns whether one
 * was used. */
bool warprsa_tls_identities(SSL *ssl, bool (*use)(void *arg, const char *name),
                            void *arg);

#endif
