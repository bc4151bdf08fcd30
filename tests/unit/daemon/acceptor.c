/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the acceptor does between two turns of a user: a bounded part of another
 * one's work, however many connections that one has made and closed. Its rounds
 * are counted, and it is held before one of them where a test wants to. The
 * hostile user is a child of this process, whom the daemon takes for another
 * user.
 *
 * The program is linked with --wrap for the functions that are replaced here.
 */
#include "tests/unit/support/daemon_support.h"

#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <sys/wait.h>

enum {
    HOSTILE_UID = 4242,
    DEAD = 1000,  /* connections, made and closed */
    ACCEPTS = 64, /* in a round */
    OFFERS = 30,
    AT_MOST = 5000, /* messages of one connection: more than may wait */
};

static test_server s;
static pid_t myself;

/* Of the acceptor's thread; under the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_known, hold, is_held;
static pthread_t thread;
static unsigned rounds, clients, most_left; /* in one round */

int __real_epoll_wait(int epoll, struct epoll_event *events, int max,
                      int timeout);
int __wrap_epoll_wait(int epoll, struct epoll_event *events, int max,
                      int timeout);
int __real_accept4(int fd, struct sockaddr *address, socklen_t *length,
                   int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *length,
                   int flags);
int __real_getsockopt(int fd, int level, int name, void *value,
                      socklen_t *length);
int __wrap_getsockopt(int fd, int level, int name, void *value,
                      socklen_t *length);

/* The other end of the next connection; -1: nothing is sent there. */
static atomic_int quick_fd = -1;

/* Has the client ask for a key before the acceptor does anything more. */
static void ask_quickly(void)
{
    const int fd = atomic_exchange(&quick_fd, -1);
    warprsa_message question = {.type = WARPRSA_MESSAGE_LIST, .generation = 1};

    if (fd >= 0)
        (void)warprsa_message_send(fd, &question, NULL, 0);
}

/* The acceptor is the one that accepts. */
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *length,
                   int flags)
{
    int accepted;

    pthread_mutex_lock(&lock);
    thread = pthread_self();
    is_known = true;
    pthread_mutex_unlock(&lock);
    accepted = __real_accept4(fd, address, length, flags);
    if (accepted >= 0)
        ask_quickly();
    return accepted;
}

int __wrap_epoll_wait(int epoll, struct epoll_event *events, int max,
                      int timeout)
{
    pthread_mutex_lock(&lock);
    if (is_known && pthread_equal(thread, pthread_self())) {
        unsigned now = warprsa_server_clients(s.server);

        rounds++;
        if (now < clients && clients - now > most_left)
            most_left = clients - now;
        clients = now;
        is_held = hold;
        pthread_cond_broadcast(&changed);
        while (hold)
            pthread_cond_wait(&changed, &lock);
        is_held = false;
    }
    pthread_mutex_unlock(&lock);
    return __real_epoll_wait(epoll, events, max, timeout);
}

int __wrap_getsockopt(int fd, int level, int name, void *value,
                      socklen_t *length)
{
    int result = __real_getsockopt(fd, level, name, value, length);

    if (level == SOL_SOCKET && name == SO_PEERCRED &&
        ((struct ucred *)value)->pid != myself)
        ((struct ucred *)value)->uid = HOSTILE_UID;
    return result;
}

static void let_go(void)
{
    pthread_mutex_lock(&lock);
    hold = false;
    rounds = most_left = 0;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static unsigned rounds_now(void)
{
    unsigned now;

    pthread_mutex_lock(&lock);
    now = rounds;
    pthread_mutex_unlock(&lock);
    return now;
}

/* It accepts a connection, and stops before the next round. */
static void hold_it(void)
{
    warprsa_control_connection control;
    char why[256];

    pthread_mutex_lock(&lock);
    hold = true;
    pthread_mutex_unlock(&lock);
    assert_true(
        warprsa_control_connection_open(&control, s.path, why, sizeof(why)));
    pthread_mutex_lock(&lock);
    while (!is_held)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    warprsa_control_connection_close(&control);
}

static int setup(void **state)
{
    fake_reset();
    myself = getpid();
    is_known = false;
    test_server_open(&s, 16, LONG_MS);
    s.config.limits.clients = s.config.limits.user_clients = 4 * OFFERS;
    s.config.limits.control_connections = 4 * DEAD;
    s.config.limits.user_control_connections = 2 * DEAD;
    warprsa_server_set_limits(s.server, &s.config.limits);
    return 0;
}

static int teardown(void **state)
{
    test_server_close(&s);
    return 0;
}

/* A socket that is connected, or -1: no more can wait. */
static int connect_once(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

    strcpy(address.sun_path, s.path);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Sends as many CONNECT as the daemon's socket holds, `most` at most. */
static unsigned ask(int fd, unsigned most)
{
    warprsa_message wanted = {
        .type = WARPRSA_MESSAGE_CONNECT, .slots = 16, .keys = 1};
    unsigned sent = 0;

    while (sent < most && warprsa_message_send(fd, &wanted, NULL, 0))
        sent++;
    return sent;
}

/* In a process of its own, with no other thread. Returns whether all could wait
 * to be accepted. */
static bool leave_dead_ones(void)
{
    for (unsigned i = 0; i < DEAD; i++) {
        int fd = connect_once();

        if (fd < 0)
            return false;
        (void)ask(fd, AT_MOST);
        close(fd);
    }
    return true;
}

/* In a child: its exit status. */
static int status_of(pid_t child)
{
    int status = -1;

    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A thousand connections wait that have been closed, each with CONNECT in it as
 * often as there is room. Who comes after them gets a session in the round in
 * which it is accepted. */
TEST_IN(dead_connections, setup, teardown)
{
    pid_t child;
    raw_client x;

    hold_it();
    child = fork();
    if (child == 0)
        _exit(leave_dead_ones() ? 0 : 1);
    if (status_of(child) != 0) {
        let_go();
        skip(); /* net.core.somaxconn is too low */
    }
    let_go();
    WAIT_UNTIL(raw_client_connect(&x, s.path, 16));
    assert_in_range(rounds_now(), 1, DEAD / ACCEPTS + 4);
    raw_client_leave(&x);
}

/* Takes a session, and does not attach. */
static void take_offer(int fd)
{
    warprsa_message message;
    int fds[WARPRSA_MESSAGE_FDS] = {-1, -1, -1};

    if (!becomes_readable(fd) ||
        warprsa_message_receive(fd, &message, fds) != WARPRSA_RECEIVED)
        _exit(1);
    warprsa_message_close_fds(fds);
}

/* Many sessions were offered over a connection that ends: they are freed one in
 * a round. */
TEST_IN(many_offers, setup, teardown)
{
    pid_t child = fork();

    if (child == 0) {
        int fd = connect_once();

        for (unsigned i = 0; i < OFFERS; i++) {
            if (ask(fd, 1) != 1)
                _exit(1);
            take_offer(fd);
        }
        for (;;)
            pause();
    }
    WAIT_UNTIL(warprsa_server_clients(s.server) == OFFERS);
    hold_it();
    let_go();
    assert_int_equal(kill(child, SIGKILL), 0);
    (void)status_of(child);
    WAIT_UNTIL(warprsa_server_clients(s.server) == 0);
    pthread_mutex_lock(&lock);
    assert_int_equal(most_left, 1);
    pthread_mutex_unlock(&lock);
}

/* The kernel names the sender of a message that comes before the acceptor has
 * set anything on the connection. */
TEST_IN(a_quick_question, setup, teardown)
{
    warprsa_key_message key;
    int fd;

    hold_it();
    fd = connect_once();
    assert_true(fd >= 0);
    atomic_store(&quick_fd, fd);
    let_go();
    assert_true(becomes_readable(fd));
    assert_int_equal(warprsa_key_message_receive(fd, &key), WARPRSA_RECEIVED);
    assert_int_equal(key.type, WARPRSA_MESSAGE_KEY);
    assert_int_equal(fake_vault.user.uid, getuid());
    assert_int_equal(fake_vault.user.pid, getpid());
    close(fd);
}

RUN_TESTS(NULL, NULL)
