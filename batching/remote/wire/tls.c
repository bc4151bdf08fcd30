/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * TLS of the network; see tls.h. What a peer's certificate says is believed
 * once libssl has verified it.
 */
#include "batching/remote/wire/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/provider.h>
#include <openssl/x509v3.h>

enum {
    /* How many TLS messages without data a peer may send, and one more for each
     * so many bytes that it has sent. */
    MESSAGES_MAX = 16,
    BYTES_A_MESSAGE = 1024 * 1024,
};

static const unsigned char h2[] = {2, 'h', '2'};

static int choose_h2(SSL *ssl, const unsigned char **out, unsigned char *length,
                     const unsigned char *in, unsigned int in_length, void *arg)
{
    unsigned char *chosen = NULL;

    (void)ssl;
    (void)arg;
    if (SSL_select_next_proto(&chosen, length, h2, sizeof(h2), in, in_length) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* Says whose certificate is refused, and why. */
static void refused(X509 *certificate, const char *what,
                    char why[WARPRSA_TLS_WHY])
{
    char name[128] = "";

    if (certificate != NULL)
        X509_NAME_oneline(X509_get_subject_name(certificate), name,
                          sizeof(name));
    snprintf(why, WARPRSA_TLS_WHY, "certificate of %s refused: %s", name, what);
}

/* libssl checks the extended key usage only if a certificate has one. Here it
 * is required, so that a certificate for another role, as a web server's of the
 * same authority, is refused. */
static bool has_usage(X509 *certificate, uint32_t usage)
{
    return (X509_get_extension_flags(certificate) & EXFLAG_XKUSAGE) != 0 &&
           (X509_get_extended_key_usage(certificate) & usage) != 0;
}

static int verified(int good, X509_STORE_CTX *store)
{
    SSL *ssl =
        X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    X509 *certificate = X509_STORE_CTX_get_current_cert(store);
    char *why = SSL_get_app_data(ssl);
    const bool of_client = SSL_is_server(ssl) == 1;

    if (!good) {
        refused(certificate,
                X509_verify_cert_error_string(X509_STORE_CTX_get_error(store)),
                why);
        return 0;
    }
    if (X509_STORE_CTX_get_error_depth(store) > 0 ||
        has_usage(certificate, of_client ? XKU_SSL_CLIENT : XKU_SSL_SERVER))
        return 1;
    refused(certificate,
            of_client ? "it has no extendedKeyUsage clientAuth"
                      : "it has no extendedKeyUsage serverAuth",
            why);
    X509_STORE_CTX_set_error(store, X509_V_ERR_INVALID_PURPOSE);
    return 0;
}

/* Takes libcrypto's errors off its queue; the first one says what happened. */
static const char *library_error(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_error());

    ERR_clear_error();
    return text != NULL ? text : "no reason given";
}

static bool complain(const char *file, char *why, size_t why_size)
{
    snprintf(why, why_size, "%s: %s", file, library_error());
    return false;
}

/* Never asks for a passphrase: nobody is there to answer. */
static int no_passphrase(char *buffer, int size, int writing, void *arg)
{
    (void)buffer;
    (void)size;
    (void)writing;
    (void)arg;
    return -1;
}

/* Reads the private key from a file that was opened and checked, so that no
 * other file takes its place in between. */
static bool read_key(SSL_CTX *context, const warprsa_tls *tls, FILE *file,
                     const char *path, char *why, size_t why_size)
{
    struct stat status;
    EVP_PKEY *key;
    bool done;

    if (fstat(fileno(file), &status) != 0) {
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
        return false;
    }
    if ((status.st_mode & S_IRWXO) != 0) {
        snprintf(why, why_size,
                 "%s: mode %04o: a private key is for its owner and group "
                 "alone, as by chmod o=",
                 path, (unsigned)(status.st_mode & ALLPERMS));
        return false;
    }
    key = PEM_read_PrivateKey_ex(file, NULL, no_passphrase, NULL, tls->libctx,
                                 NULL);
    done = key != NULL && SSL_CTX_use_PrivateKey(context, key) == 1;
    EVP_PKEY_free(key);
    return done || complain(path, why, why_size);
}

static bool use_key(SSL_CTX *context, const warprsa_tls *tls, const char *path,
                    char *why, size_t why_size)
{
    FILE *file = fopen(path, "re");
    bool done;

    if (file == NULL) {
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
        return false;
    }
    /* No copy of the key stays in a buffer. */
    (void)setvbuf(file, NULL, _IONBF, 0);
    done = read_key(context, tls, file, path, why, why_size);
    fclose(file);
    return done;
}

/* Each certificate of a chain is looked up in the list of its authority. */
static bool use_crl(SSL_CTX *context, const char *path)
{
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    X509_LOOKUP *lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());

    return lookup != NULL &&
           X509_load_crl_file(lookup, path, X509_FILETYPE_PEM) > 0 &&
           X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK |
                                           X509_V_FLAG_CRL_CHECK_ALL) == 1;
}

static bool read_files(SSL_CTX *context, const warprsa_tls *tls,
                       const warprsa_tls_files *files, char *why,
                       size_t why_size)
{
    if (SSL_CTX_use_certificate_chain_file(context, files->certificate) != 1)
        return complain(files->certificate, why, why_size);
    if (!use_key(context, tls, files->key, why, why_size))
        return false;
    if (SSL_CTX_load_verify_file(context, files->ca) != 1)
        return complain(files->ca, why, why_size);
    if (files->crl[0] != '\0' && !use_crl(context, files->crl))
        return complain(files->crl, why, why_size);
    return true;
}

static bool set_up(SSL_CTX *context, bool is_server)
{
    /* A resumed session would not be verified again. */
    const uint64_t options =
        SSL_OP_NO_TICKET | SSL_OP_CLEANSE_PLAINTEXT | SSL_OP_NO_COMPRESSION;

    SSL_CTX_set_options(context, options);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_verify(
        context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, verified);
    if (SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_num_tickets(context, 0) != 1)
        return false;
    if (is_server) {
        SSL_CTX_set_alpn_select_cb(context, choose_h2, NULL);
        return true;
    }
    return SSL_CTX_set_alpn_protos(context, h2, sizeof(h2)) == 0;
}

static SSL_CTX *new_context(const warprsa_tls *tls,
                            const warprsa_tls_files *files, char *why,
                            size_t why_size)
{
    SSL_CTX *context = SSL_CTX_new_ex(tls->libctx, NULL,
                                      tls->is_server ? TLS_server_method()
                                                     : TLS_client_method());

    ERR_clear_error();
    if (context == NULL || !set_up(context, tls->is_server))
        (void)complain("TLS", why, why_size);
    else if (read_files(context, tls, files, why, why_size))
        return context;
    SSL_CTX_free(context);
    return NULL;
}

/* ---- Reading ---- */

static int read_input(BIO *bio, char *to, int size)
{
    warprsa_tls_input *in = BIO_get_data(bio);
    ssize_t got;

    BIO_clear_retry_flags(bio);
    if (in->flooded || size <= 0)
        return -1;
    in->stopped = in->allowed == 0;
    if (in->stopped) {
        BIO_set_retry_read(bio);
        return -1;
    }
    got = recv(in->socket, to,
               in->allowed < (size_t)size ? in->allowed : (size_t)size, 0);
    if (got > 0) {
        in->allowed -= (size_t)got;
        in->received += (size_t)got;
    } else if (got == 0) {
        in->ended = true;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
        BIO_set_retry_read(bio);
    }
    return (int)got;
}

static long control_input(BIO *bio, int command, long number, void *pointer)
{
    const warprsa_tls_input *in = BIO_get_data(bio);

    (void)number;
    (void)pointer;
    return command == BIO_CTRL_EOF ? in->ended : command == BIO_CTRL_FLUSH;
}

static int create_input(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

static BIO_METHOD *new_input_method(void)
{
    BIO_METHOD *method =
        BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "warprsa");

    if (method == NULL)
        return NULL;
    if (BIO_meth_set_read(method, read_input) == 1 &&
        BIO_meth_set_ctrl(method, control_input) == 1 &&
        BIO_meth_set_create(method, create_input) == 1)
        return method;
    BIO_meth_free(method);
    return NULL;
}

/* libssl calls this for each message. An honest peer updates its keys after
 * some 2^24 records; a server's two tickets come right after the handshake. */
static void count_message(int writing, int version, int type, const void *bytes,
                          size_t size, SSL *ssl, void *arg)
{
    warprsa_tls_input *in = arg;

    (void)version;
    (void)ssl;
    if (writing || type != SSL3_RT_HANDSHAKE || size == 0 ||
        (*(const uint8_t *)bytes != SSL3_MT_KEY_UPDATE &&
         *(const uint8_t *)bytes != SSL3_MT_NEWSESSION_TICKET))
        return;
    in->messages++;
    in->flooded = in->messages > MESSAGES_MAX + in->received / BYTES_A_MESSAGE;
}

bool warprsa_tls_open(warprsa_tls *tls, bool is_server,
                      const warprsa_tls_files *files, char *why,
                      size_t why_size)
{
    memset(tls, 0, sizeof(*tls));
    tls->is_server = is_server;
    snprintf(why, why_size, "TLS: no memory");
    if (pthread_mutex_init(&tls->lock, NULL) != 0)
        return false;
    tls->input = new_input_method();
    tls->libctx = tls->input != NULL ? OSSL_LIB_CTX_new() : NULL;
    if (tls->libctx != NULL)
        tls->provider = OSSL_PROVIDER_load(tls->libctx, "default");
    if (tls->provider != NULL)
        tls->context = new_context(tls, files, why, why_size);
    if (tls->context != NULL)
        return true;
    warprsa_tls_close(tls);
    return false;
}

bool warprsa_tls_reload(warprsa_tls *tls, const warprsa_tls_files *files,
                        char *why, size_t why_size)
{
    SSL_CTX *context = new_context(tls, files, why, why_size), *old;

    if (context == NULL)
        return false;
    pthread_mutex_lock(&tls->lock);
    old = tls->context;
    tls->context = context;
    atomic_fetch_add(&tls->reloads, 1);
    pthread_mutex_unlock(&tls->lock);
    SSL_CTX_free(old); /* connections have references of their own */
    return true;
}

void warprsa_tls_close(warprsa_tls *tls)
{
    SSL_CTX_free(tls->context);
    if (tls->provider != NULL)
        OSSL_PROVIDER_unload(tls->provider);
    OSSL_LIB_CTX_free(tls->libctx);
    pthread_mutex_destroy(&tls->lock);
    BIO_meth_free(tls->input);
    /* After a failed open() nothing is left to close. */
    memset(tls, 0, sizeof(*tls));
}

void warprsa_tls_leave(warprsa_tls *tls)
{
    OPENSSL_thread_stop_ex(tls->libctx);
}

/* Has the server's certificate checked to be for this name or address. */
static bool expect_name(SSL *ssl, const char *name)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    unsigned char address[16];

    if (inet_pton(AF_INET, name, address) == 1 ||
        inet_pton(AF_INET6, name, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1;
    /* A common name is free text: an authority need not have looked at it. */
    X509_VERIFY_PARAM_set_hostflags(param,
                                    X509_CHECK_FLAG_NO_WILDCARDS |
                                        X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return X509_VERIFY_PARAM_set1_host(param, name, 0) == 1 &&
           SSL_set_tlsext_host_name(ssl, name) == 1;
}

/* Sets the socket below TLS. */
static bool set_socket(const warprsa_tls *tls, SSL *ssl,
                       warprsa_tls_input *input)
{
    BIO *in = BIO_new(tls->input);
    BIO *out = BIO_new_socket(input->socket, BIO_NOCLOSE);

    if (in == NULL || out == NULL) {
        BIO_free(in);
        BIO_free(out);
        return false;
    }
    BIO_set_data(in, input);
    SSL_set_bio(ssl, in, out);
    SSL_set_msg_callback(ssl, count_message);
    return SSL_set_msg_callback_arg(ssl, input) == 1;
}

SSL *warprsa_tls_connection(warprsa_tls *tls, warprsa_tls_input *input,
                            const char *name, char why[WARPRSA_TLS_WHY])
{
    SSL *ssl;

    pthread_mutex_lock(&tls->lock);
    ssl = SSL_new(tls->context);
    pthread_mutex_unlock(&tls->lock);
    why[0] = '\0';
    if (ssl != NULL && set_socket(tls, ssl, input) &&
        SSL_set_app_data(ssl, why) == 1 &&
        (name == NULL || expect_name(ssl, name))) {
        if (name == NULL)
            SSL_set_accept_state(ssl);
        else
            SSL_set_connect_state(ssl);
        return ssl;
    }
    ERR_clear_error();
    SSL_free(ssl);
    return NULL;
}

/* Verifies a chain once more, with the present authorities and lists. */
static bool verify_again(const warprsa_tls *tls, X509_STORE *store, SSL *ssl,
                         char why[WARPRSA_TLS_WHY])
{
    STACK_OF(X509) *chain = SSL_get_peer_cert_chain(ssl);
    X509 *certificate = SSL_get1_peer_certificate(ssl);
    X509_STORE_CTX *context = X509_STORE_CTX_new_ex(tls->libctx, NULL);
    bool good = false;

    if (context != NULL && certificate != NULL &&
        X509_STORE_CTX_init(context, store, certificate, chain) == 1 &&
        X509_STORE_CTX_set_default(context, tls->is_server ? "ssl_client"
                                                           : "ssl_server") == 1)
        good = X509_verify_cert(context) == 1;
    if (!good)
        refused(certificate,
                context != NULL ? X509_verify_cert_error_string(
                                      X509_STORE_CTX_get_error(context))
                                : "no memory",
                why);
    X509_STORE_CTX_free(context);
    X509_free(certificate);
    ERR_clear_error();
    return good;
}

/* Whether a certificate of the verified chain has expired, the authority's own
 * included. */
static bool has_expired(SSL *ssl, char why[WARPRSA_TLS_WHY])
{
    const STACK_OF(X509) *chain = SSL_get0_verified_chain(ssl);

    for (int i = 0; i < sk_X509_num(chain); i++) {
        X509 *certificate = sk_X509_value(chain, i);

        if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) {
            refused(certificate, "certificate has expired", why);
            return true;
        }
    }
    return false;
}

bool warprsa_tls_still_valid(warprsa_tls *tls, SSL *ssl, unsigned *checked,
                             char why[WARPRSA_TLS_WHY])
{
    unsigned reloads = atomic_load(&tls->reloads);
    SSL_CTX *context;
    bool valid;

    if (has_expired(ssl, why))
        return false;
    if (reloads == *checked)
        return true;
    pthread_mutex_lock(&tls->lock);
    context = tls->context;
    reloads = atomic_load(&tls->reloads);
    SSL_CTX_up_ref(context);
    pthread_mutex_unlock(&tls->lock);
    valid = verify_again(tls, SSL_CTX_get_cert_store(context), ssl, why);
    SSL_CTX_free(context);
    *checked = reloads;
    return valid;
}

void warprsa_tls_explain(SSL *ssl, int returned, char why[WARPRSA_TLS_WHY])
{
    int error = SSL_get_error(ssl, returned);
    int number = errno;
    const char *text = library_error();

    if (why[0] != '\0')
        return;
    if (error == SSL_ERROR_ZERO_RETURN)
        text = "the peer has closed the connection";
    else if (error == SSL_ERROR_SYSCALL)
        text = number != 0 ? strerror(number) : "the connection has ended";
    snprintf(why, WARPRSA_TLS_WHY, "%s", text);
}

/* Calls `use` with "KIND:TEXT", if the text is a valid name. */
static bool use_name(const char *kind, const unsigned char *text, int length,
                     bool (*use)(void *arg, const char *name), void *arg)
{
    char name[WARPRSA_TLS_NAME];
    int written;

    for (int i = 0; i < length; i++)
        if (text[i] <= ' ' && text[i] != ' ')
            return false;
    written = snprintf(name, sizeof(name), "%s:%.*s", kind, length, text);
    return written > 0 && (size_t)written < sizeof(name) && use(arg, name);
}

static bool use_alternatives(const GENERAL_NAMES *names,
                             bool (*use)(void *arg, const char *name),
                             void *arg)
{
    bool used = false;

    for (int i = 0; i < sk_GENERAL_NAME_num(names) && !used; i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        const ASN1_IA5STRING *text = NULL;

        if (name->type == GEN_DNS)
            text = name->d.dNSName;
        else if (name->type == GEN_URI)
            text = name->d.uniformResourceIdentifier;
        if (text != NULL)
            used = use_name(name->type == GEN_DNS ? "dns" : "uri",
                            ASN1_STRING_get0_data(text),
                            ASN1_STRING_length(text), use, arg);
    }
    return used;
}

bool warprsa_tls_identities(SSL *ssl, bool (*use)(void *arg, const char *name),
                            void *arg)
{
    X509 *certificate = SSL_get1_peer_certificate(ssl);
    GENERAL_NAMES *names;
    bool used;

    if (certificate == NULL)
        return false;
    names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    used = use_alternatives(names, use, arg);
    GENERAL_NAMES_free(names);
    X509_free(certificate);
    ERR_clear_error();
    return used;
}
