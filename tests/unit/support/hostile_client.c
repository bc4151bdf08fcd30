/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client that attacks the daemon; see hostile_client.h.
 */
#include "tests/unit/support/hostile_client.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/daemon/wire/message.h"
#include "batching/daemon/wire/shm.h"
#include "tests/unit/support/emulator.h"

#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76
#endif

enum {
    SLOTS = 16,
    REPLY_MS = 200,
    LINGER_S = 20, /* that a closing thread would stand still */
    UNREAD_CONNECTS = 40,
    UNREAD_NOTIFIERS = 200,
    CHURNED_KEYS = 64,
    NOTIFICATIONS = 1000,
};

/* What a client has of one session. */
typedef struct session {
    int control;
    int fds[WARPRSA_MESSAGE_FDS]; /* socket, memory, eventfd */
    warprsa_shm shm;
    uint32_t number, ring_offset, messages_offset;
} session;

static int open_control(const hostile_client *c)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    strncpy(address.sun_path, c->path, sizeof(address.sun_path) - 1);
    if (fd < 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

static void send_connect(int control)
{
    warprsa_message wanted = {.type = WARPRSA_MESSAGE_CONNECT,
                              .slots = SLOTS,
                              .keys = 65536,
                              .notifiers = 65536};

    (void)warprsa_message_send(control, &wanted, NULL, 0);
}

static void close_fds(int fds[WARPRSA_MESSAGE_FDS])
{
    for (unsigned i = 0; i < WARPRSA_MESSAGE_FDS; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
}

static void leave(session *s)
{
    warprsa_shm_unmap(&s->shm);
    close_fds(s->fds);
    if (s->control >= 0)
        close(s->control);
}

/* Asks for a session and maps its memory. False: there is none to be had. */
static bool offered(const hostile_client *c, session *s)
{
    struct pollfd one = {.events = POLLIN};
    warprsa_message reply;

    memset(s, 0, sizeof(*s));
    memset(s->fds, 0xff, sizeof(s->fds));
    s->control = one.fd = open_control(c);
    if (s->control < 0)
        return false;
    send_connect(s->control);
    if (poll(&one, 1, REPLY_MS) == 1 &&
        warprsa_message_receive(s->control, &reply, s->fds) ==
            WARPRSA_RECEIVED &&
        reply.type == WARPRSA_MESSAGE_WELCOME &&
        warprsa_shm_map(&s->shm, reply.slots, reply.uses != 0, s->fds[1])) {
        s->number = reply.number;
        return true;
    }
    leave(s);
    return false;
}

static bool enter(const hostile_client *c, session *s)
{
    warprsa_message attached = {.type = WARPRSA_MESSAGE_ATTACHED};

    if (!offered(c, s))
        return false;
    attached.number = s->number;
    if (warprsa_message_send(s->control, &attached, NULL, 0))
        return true;
    leave(s);
    return false;
}

static void notify(const session *s)
{
    static const uint64_t one = 1;

    atomic_store(&s->shm.head->notify_flags,
                 WARPRSA_NOTIFY_RING | WARPRSA_NOTIFY_MESSAGE);
    (void)!write(s->fds[2], &one, sizeof(one));
}

static void pause_us(unsigned us)
{
    struct timespec t = {0, (long)us * 1000};

    nanosleep(&t, NULL);
}

static int choose(hostile_client *c, int below)
{
    return rand_r(&c->seed) % below;
}

/* Brings a key as number `number`, and asks for an operation with it. */
static void use_new_key(hostile_client *c, session *s, uint32_t number)
{
    warprsa_shm_message message = {
        .type = WARPRSA_SHM_KEY, .number = number, .generation = 1};
    uint32_t slot = number % s->shm.slots;
    warprsa_shm_request *r = &s->shm.slot[slot].request;
    warprsa_ring_cell *cell = &s->shm.cell[s->ring_offset & s->shm.mask];

    c->make_key(++c->keys_made, &message.key);
    if (!warprsa_shm_send(&s->shm, &s->messages_offset, &message))
        return;
    memset(r, 0, sizeof(*r));
    r->generation = number + 1;
    r->key = number;
    r->key_generation = 1;
    r->bytes = message.key.modulus_bytes;
    r->number[r->bytes - 1] = 2;
    atomic_store(&cell->slot, slot);
    atomic_store(&cell->sequence, ++s->ring_offset);
    notify(s);
}

/* Key after key, each for one request. */
static void churn_keys(hostile_client *c)
{
    session s;

    if (!enter(c, &s))
        return;
    for (uint32_t i = 0; i < CHURNED_KEYS; i++) {
        uint32_t slot = i % s.shm.slots;

        /* A slot under way twice would end the session. */
        for (int wait = 0;
             i >= s.shm.slots && wait < 100 &&
             atomic_load(&s.shm.slot[slot].answered) != i + 1 - s.shm.slots;
             wait++)
            pause_us(100);
        use_new_key(c, &s, i);
    }
    leave(&s); /* in the middle, mostly */
}

/* Requests under way whose client has gone. */
static void vanish(hostile_client *c)
{
    session s;

    if (!enter(c, &s))
        return;
    for (uint32_t i = 0; i < s.shm.slots; i++)
        use_new_key(c, &s, i);
    leave(&s);
}

/* Random bytes all over the memory, again and again. */
static void scribble(hostile_client *c)
{
    session s;
    uint8_t *at;

    if (!enter(c, &s))
        return;
    use_new_key(c, &s, 0);
    at = (uint8_t *)s.shm.head;
    for (unsigned round = 0; round < 8; round++) {
        size_t step = 1 + (size_t)choose(c, 31);

        for (size_t i = (size_t)choose(c, 64); i < s.shm.size; i += step)
            at[i] = (uint8_t)rand_r(&c->seed);
        for (uint32_t i = 0; i <= s.shm.mask; i++) {
            atomic_store(&s.shm.cell[i].slot, (uint32_t)choose(c, SLOTS + 1));
            atomic_store(&s.shm.cell[i].sequence, i + 1);
        }
        notify(&s);
        pause_us(200);
    }
    leave(&s);
}

/* The memory's file: cut, punched, mapped once more. */
static void cut_memory(hostile_client *c)
{
    session s;

    if (choose(c, 2) == 0 ? !enter(c, &s) : !offered(c, &s))
        return;
    (void)!ftruncate(s.fds[1], 0);
    (void)fallocate(s.fds[1], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                    (off_t)s.shm.size);
    (void)madvise(s.shm.head, s.shm.size, MADV_REMOVE);
    (void)fcntl(s.fds[1], F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL);
    use_new_key(c, &s, 0);
    leave(&s);
}

/* Notifiers that it never takes. */
static void ask_for_notifiers(hostile_client *c)
{
    session s;

    if (!enter(c, &s))
        return;
    for (uint32_t i = 0; i < UNREAD_NOTIFIERS; i++) {
        warprsa_shm_message asked = {.type = WARPRSA_SHM_NOTIFIER,
                                     .number = 1 + i % 64,
                                     .generation = i};

        if (!warprsa_shm_send(&s.shm, &s.messages_offset, &asked))
            pause_us(100);
        notify(&s);
    }
    leave(&s);
}

static void notify_for_nothing(hostile_client *c)
{
    session s;

    if (!enter(c, &s))
        return;
    for (unsigned i = 0; i < NOTIFICATIONS; i++)
        notify(&s);
    leave(&s);
}

/* Sessions that it never attaches, and does not even receive. */
static void leave_offers_unread(hostile_client *c)
{
    int control = open_control(c), one = 1;

    if (control < 0)
        return;
    (void)setsockopt(control, SOL_SOCKET, SO_PASSPIDFD, &one, sizeof(one));
    for (unsigned i = 0; i < UNREAD_CONNECTS; i++)
        send_connect(control);
    pause_us(5000);
    close(control);
}

/* A TCP socket whose last close waits for LINGER_S seconds, and its peer. */
static int lingering(int *peer)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    const struct linger linger = {1, LINGER_S};
    static const char junk[65536];
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *peer = -1;
    if (bind(listening, (struct sockaddr *)&address, length) == 0 &&
        listen(listening, 1) == 0 &&
        getsockname(listening, (struct sockaddr *)&address, &length) == 0 &&
        connect(fd, (struct sockaddr *)&address, length) == 0)
        *peer = accept(listening, NULL, NULL);
    while (*peer >= 0 &&
           send(fd, junk, sizeof(junk), MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
        ;
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    close(listening);
    return fd;
}

/* Keeps a peer, so that the other end lingers, in place of an earlier one. */
static void keep_peer(hostile_client *c, int peer)
{
    int *place = &c->peers[c->peers_kept++ % HOSTILE_CLIENT_PEERS];

    if (*place > 0)
        close(*place);
    *place = peer;
}

static void close_peers(hostile_client *c)
{
    for (unsigned i = 0; i < HOSTILE_CLIENT_PEERS; i++)
        keep_peer(c, -1);
}

/* Descriptors that nobody has asked for, of the kind that is slow to close. Not
 * to a daemon under QEMU's user mode: that gives the kernel twice the room that
 * the daemon left for them, and neither tells it of those that are too many nor
 * closes them. */
static void send_descriptors(hostile_client *c)
{
    warprsa_message message = {.type = 1 + (uint32_t)choose(c, 5)};
    int control, peer, fds[2];

    if (emulator()[0] != '\0')
        return;
    control = open_control(c);
    if (control < 0)
        return;
    fds[0] = lingering(&peer);
    fds[1] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (!warprsa_message_send(control, &message, fds,
                              1 + (unsigned)choose(c, 2)) &&
        peer >= 0) {
        close(peer); /* or this thread would linger */
        peer = -1;
    }
    close(fds[1]);
    /* The daemon's socket has the last reference to it now. */
    close(fds[0]);
    close(control);
    keep_peer(c, peer);
}

static void send_rubbish(hostile_client *c)
{
    char bytes[sizeof(warprsa_message) + 8];
    int control = open_control(c);

    if (control < 0)
        return;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)rand_r(&c->seed);
    (void)send(control, bytes, 1 + (size_t)choose(c, sizeof(bytes)),
               MSG_NOSIGNAL | MSG_DONTWAIT);
    pause_us(200);
    close(control);
}

/* One attack from its first connection to its last. */
static void attack(hostile_client *c)
{
    static void (*const attacks[])(hostile_client *) = {
        churn_keys,
        vanish,
        scribble,
        cut_memory,
        ask_for_notifiers,
        notify_for_nothing,
        leave_offers_unread,
        send_descriptors,
        send_rubbish,
    };

    attacks[choose(c, sizeof(attacks) / sizeof(attacks[0]))](c);
}

size_t hostile_client_run(hostile_client *c, uid_t uid,
                          const _Atomic bool *stop)
{
    size_t attacks = 0;

    /* libc would change all threads. */
    if (uid != 0)
        (void)syscall(SYS_setresuid, uid, uid, uid);
    do {
        attack(c);
        attacks++;
    } while (!atomic_load(stop));
    close_peers(c);
    return attacks;
}
