/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How long the operations of honest clients of a running daemon take: alone,
 * and beside others of the lowest priority:
 *
 *   burners   use the CPU and never speak to the daemon
 *   protocol  hostile clients whose keys no engine takes: they use the CPU, and
 *             what the daemon itself can lose
 *   hostile   the same with keys that cost the device's time as well, RSA-4096
 *
 * Each client is a thread with a connection of its own. Every honest result is
 * verified. Run as root, hostile clients are of other users.
 *
 *   hostile_clients SOCKET [SECONDS [HONEST [HOSTILE]]]
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "batching/base/clock.h"
#include "batching/daemon/client/client.h"
#include "batching/queue/counters.h"
#include "bench/programs/made_up_key.h"
#include "tests/unit/support/hostile_client.h"

enum {
    CLIENTS_MAX = 512,
    KEYS = 8, /* of the honest clients together */
    SAMPLES_MAX = 1 << 16,
    DEADLINE_MS = 2000,
    USERS = 8, /* of the hostile clients */
    FIRST_USER = 64000,
};

static const warprsa_backend_ops *const backend = &warprsa_backend_daemon;
static _Atomic bool stop;

typedef struct honest_key {
    warprsa_private_key numbers;
    BIGNUM *n, *e;
} honest_key;

typedef struct honest_client {
    pthread_t thread;
    warprsa_control_connection control_connection;
    warprsa_counters *counters;
    warprsa_client *client;
    const honest_key *key;
    warprsa_backend_key *added;
    uint64_t ns[SAMPLES_MAX];
    size_t count, refused, wrong;
    unsigned seed;
} honest_client;

typedef struct attacker {
    pthread_t thread;
    hostile_client client;
    uid_t uid;
    size_t attacks; /* in this run */
} attacker;

static void fail(const char *why)
{
    fprintf(stderr, "hostile_clients: %s\n", why);
    exit(1);
}

static BIGNUM *get(const EVP_PKEY *key, const char *name, uint8_t *to, int size)
{
    BIGNUM *number = NULL;

    if (!EVP_PKEY_get_bn_param(key, name, &number) ||
        BN_bn2binpad(number, to, size) != size)
        fail("a key without its numbers");
    return number;
}

static void new_key(honest_key *made)
{
    EVP_PKEY *key = EVP_RSA_gen(2048);
    warprsa_private_key *k = &made->numbers;

    if (key == NULL)
        fail("no key");
    k->modulus_bytes = 256;
    made->n = get(key, OSSL_PKEY_PARAM_RSA_N, k->n, sizeof(k->n));
    made->e = get(key, OSSL_PKEY_PARAM_RSA_E, k->e, sizeof(k->e));
    BN_free(get(key, OSSL_PKEY_PARAM_RSA_FACTOR1, k->p, sizeof(k->p)));
    BN_free(get(key, OSSL_PKEY_PARAM_RSA_FACTOR2, k->q, sizeof(k->q)));
    BN_free(get(key, OSSL_PKEY_PARAM_RSA_EXPONENT1, k->dp, sizeof(k->dp)));
    BN_free(get(key, OSSL_PKEY_PARAM_RSA_EXPONENT2, k->dq, sizeof(k->dq)));
    BN_free(
        get(key, OSSL_PKEY_PARAM_RSA_COEFFICIENT1, k->qinv, sizeof(k->qinv)));
    EVP_PKEY_free(key);
}

/* Whether output^e mod n is the input. */
static bool is_right(const honest_key *key, const uint8_t *input,
                     const uint8_t *output)
{
    const int bytes = (int)key->numbers.modulus_bytes;
    BN_CTX *ctx = BN_CTX_new();
    BIGNUM *s = BN_bin2bn(output, bytes, NULL);
    BIGNUM *m = BN_bin2bn(input, bytes, NULL);
    bool right = ctx != NULL && s != NULL && m != NULL &&
                 BN_mod_exp(s, s, key->e, key->n, ctx) && BN_cmp(s, m) == 0;

    BN_free(s);
    BN_free(m);
    BN_CTX_free(ctx);
    return right;
}

static void operate(honest_client *me)
{
    const warprsa_notify none = {0};
    uint8_t input[WARPRSA_MODULUS_BYTES_MAX] = {0};
    uint8_t output[WARPRSA_MODULUS_BYTES_MAX];
    uint64_t from_ns;
    warprsa_ticket ticket;

    for (size_t i = 1; i < me->key->numbers.modulus_bytes; i++)
        input[i] = (uint8_t)rand_r(&me->seed);
    from_ns = warprsa_clock_ns();
    if (backend->submit(me->client, me->added, input, none, 0, &ticket) !=
            WARPRSA_DONE ||
        backend->wait(me->client, ticket, output) != WARPRSA_DONE) {
        me->refused++;
        (void)backend->wait_ready(me->client, 100);
        return;
    }
    me->ns[me->count++] = warprsa_clock_ns() - from_ns;
    me->wrong += !is_right(me->key, input, output);
}

static void *be_honest(void *arg)
{
    honest_client *me = arg;

    while (!atomic_load(&stop) && me->count < SAMPLES_MAX)
        operate(me);
    return NULL;
}

static void have_lowest_priority(void)
{
    (void)setpriority(PRIO_PROCESS, 0, 19); /* on Linux: of this thread */
}

static void *use_cpu(void *arg)
{
    (void)arg;
    have_lowest_priority();
    while (!atomic_load(&stop))
        ;
    return NULL;
}

static void *be_hostile(void *arg)
{
    attacker *me = arg;

    have_lowest_priority();
    me->attacks = hostile_client_run(&me->client, me->uid, &stop);
    return NULL;
}

static void open_client(honest_client *c, const char *path,
                        const honest_key *key)
{
    warprsa_client_config config = {.control_connection =
                                        &c->control_connection,
                                    .slots = 64,
                                    .deadline_ms = DEADLINE_MS};
    uint8_t id[WARPRSA_KEY_ID_BYTES];
    char why[256];

    if (!warprsa_control_connection_open(&c->control_connection, path, why,
                                         sizeof(why)))
        fail(why);
    c->counters = config.counters = warprsa_counters_new();
    c->client = c->counters != NULL ? warprsa_client_open(&config) : NULL;
    if (c->client == NULL ||
        backend->wait_ready(c->client, 60000) != WARPRSA_QUEUE_READY)
        fail("the daemon is not ready");
    c->key = key;
    memcpy(id, key->numbers.n + sizeof(key->numbers.n) - sizeof(id),
           sizeof(id));
    c->added = backend->key(c->client, id, &key->numbers);
    if (c->added == NULL)
        fail("no memory");
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Prints how long the operations took; returns the 99th percentile in
 * milliseconds. Wrong results end the program. */
static double report(const char *what, const honest_client *honest,
                     unsigned count, size_t attacks)
{
    uint64_t *all = calloc((size_t)count * SAMPLES_MAX, sizeof(*all));
    size_t samples = 0, refused = 0;
    double p99;

    for (unsigned i = 0; all != NULL && i < count; i++) {
        memcpy(all + samples, honest[i].ns, honest[i].count * sizeof(*all));
        samples += honest[i].count;
        refused += honest[i].refused;
        if (honest[i].wrong != 0)
            fail("a result is wrong");
    }
    if (samples == 0)
        fail("no operation ended");
    qsort(all, samples, sizeof(*all), by_value);
    p99 = (double)all[samples * 99 / 100] / 1e6;
    printf("%-8s %10zu %8zu %8.2f %8.2f %8.2f %8zu\n", what, samples, refused,
           (double)all[samples / 2] / 1e6, p99, (double)all[samples - 1] / 1e6,
           attacks);
    free(all);
    return p99;
}

static void start(pthread_t *thread, void *(*main)(void *), void *arg)
{
    if (pthread_create(thread, NULL, main, arg) != 0)
        fail("no thread");
}

/* Honest clients, and others that do what `other` does. */
static double run(const char *what, honest_client *honest, unsigned count,
                  void *(*other)(void *), attacker *hostile, unsigned attackers,
                  unsigned seconds)
{
    struct timespec time = {seconds, 0};
    size_t attacks = 0;

    atomic_store(&stop, false);
    for (unsigned i = 0; i < count; i++) {
        honest[i].count = honest[i].refused = 0;
        start(&honest[i].thread, be_honest, &honest[i]);
    }
    for (unsigned i = 0; i < attackers; i++) {
        hostile[i].attacks = 0;
        start(&hostile[i].thread, other, &hostile[i]);
    }
    nanosleep(&time, NULL);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < count; i++)
        pthread_join(honest[i].thread, NULL);
    for (unsigned i = 0; i < attackers; i++) {
        pthread_join(hostile[i].thread, NULL);
        attacks += hostile[i].attacks;
    }
    return report(what, honest, count, attacks);
}

/* A key with p = q. */
static void make_useless_key(uint32_t number, warprsa_private_key *key)
{
    made_up_key(number, key);
    memcpy(key->q, key->p, sizeof(key->q));
}

static void give_keys(attacker *hostile, unsigned attackers,
                      void (*make_key)(uint32_t number,
                                       warprsa_private_key *key))
{
    for (unsigned i = 0; i < attackers; i++)
        hostile[i].client.make_key = make_key;
}

static unsigned argument(int argc, char **argv, int which, unsigned otherwise)
{
    unsigned value =
        argc > which ? (unsigned)strtoul(argv[which], NULL, 10) : otherwise;

    if (value < 1 || value > CLIENTS_MAX)
        fail("SECONDS, HONEST and HOSTILE are 1 to 512");
    return value;
}

int main(int argc, char **argv)
{
    static honest_key keys[KEYS];
    unsigned seconds = argument(argc, argv, 2, 10);
    unsigned count = argument(argc, argv, 3, 64);
    unsigned attackers = argument(argc, argv, 4, 64);
    honest_client *honest = calloc(count, sizeof(*honest));
    attacker *hostile = calloc(attackers, sizeof(*hostile));
    double alone, burners, protocol, beside;

    if (argc < 2 || honest == NULL || hostile == NULL)
        fail("usage: hostile_clients SOCKET [SECONDS [HONEST [HOSTILE]]]");
    for (unsigned i = 0; i < KEYS; i++)
        new_key(&keys[i]);
    for (unsigned i = 0; i < count; i++) {
        honest[i].seed = i;
        open_client(&honest[i], argv[1], &keys[i % KEYS]);
    }
    for (unsigned i = 0; i < attackers; i++) {
        hostile[i].client =
            (hostile_client){.path = argv[1], .seed = i, .keys_made = i << 16};
        hostile[i].uid = geteuid() == 0 ? FIRST_USER + i % USERS : 0;
    }
    printf("%-8s %10s %8s %8s %8s %8s %8s\n", "", "operations", "refused",
           "p50_ms", "p99_ms", "max_ms", "attacks");
    alone = run("alone", honest, count, NULL, hostile, 0, seconds);
    burners =
        run("burners", honest, count, use_cpu, hostile, attackers, seconds);
    give_keys(hostile, attackers, make_useless_key);
    protocol =
        run("protocol", honest, count, be_hostile, hostile, attackers, seconds);
    give_keys(hostile, attackers, made_up_key);
    beside =
        run("hostile", honest, count, be_hostile, hostile, attackers, seconds);
    printf("p99 over that of alone: burners %.2f, protocol %.2f, hostile "
           "%.2f\n",
           burners / alone, protocol / alone, beside / alone);
    return 0;
}
