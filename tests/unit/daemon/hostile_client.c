/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Clients that send descriptors, or leave messages behind, so that the daemon
 * keeps something of theirs or waits for them: it has as many descriptors and
 * threads as before, and serves others at once.
 */
#include "tests/unit/support/daemon_support.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "batching/base/clock.h"
#include "batching/base/log_budget.h"
#include "batching/daemon/server/server_context.h"
#include "tests/unit/support/emulator.h"
#include "tests/unit/support/open_files.h"
#include "tests/unit/support/sanitizers.h"

#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76 /* Linux 6.5 */
#endif
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16 */
#endif

enum {
    ATTACKS = 30, /* more than the control connections of a user */
    LINGER_S = 20,
    /* Far less than one of them lingers, and more than a machine with too much
     * to do needs. */
    AT_ONCE_MS = 10000,
    SAME_NAPS = 5, /* in a row, until nothing is taken to change any more */
    NOBODY = 65534,
    LINES = 1000,
};

#define LARGE_UID ((uid_t)4000000000)

static test_server s;
static unsigned fds_before, threads_before;

static unsigned threads_now(void)
{
    return count_entries("/proc/self/task");
}

/* Lets clients send descriptors over control connections to come, as kernels
 * before 6.16 do. */
static void let_descriptors_through(void)
{
    static const int on = 1;

    (void)setsockopt(s.config.listeners[0], SOL_SOCKET, SO_PASSRIGHTS, &on,
                     sizeof(on));
}

/* A TCP socket whose last close() takes LINGER_S, since what was sent is never
 * read; -1: there is none. */
static int lingering(const struct sockaddr_in *to)
{
    static char unread[65536];
    const struct linger linger = {1, LINGER_S};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) != 0)
        return -1;
    while (send(fd, unread, sizeof(unread), MSG_DONTWAIT) > 0)
        ;
    return fd;
}

/* Listens for sockets that linger. */
static int listen_for_them(struct sockaddr_in *address)
{
    socklen_t length = sizeof(*address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    *address = (struct sockaddr_in){.sin_family = AF_INET};
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)address, length), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)address, &length), 0);
    return fd;
}

/* Sends CONNECT with a descriptor. False: see errno. */
static bool send_with(int socket, int fd)
{
    warprsa_message message = {.type = WARPRSA_MESSAGE_CONNECT};

    return warprsa_message_send(socket, &message, &fd, 1);
}

/* Another client is served, and nobody has waited for a socket that lingers. */
static void others_are_served(uint64_t since_ns)
{
    warprsa_backend_key *key;
    test_client g;

    test_client_open(&g, &s, LONG_MS);
    WAIT_UNTIL(test_client_is_ready(&g));
    key = test_client_key(&g, WARPRSA_CLASS_1024, 1);
    test_client_operate(&g, key, WARPRSA_CLASS_1024, 1, 1);
    assert_true(warprsa_clock_ns() - since_ns < AT_ONCE_MS * WARPRSA_NS_PER_MS);
    backend->key_release(key);
    test_client_close(&g);
}

/* What is there once a client has come and gone, and all threads have begun,
 * which shows by nothing that changes any more, even on a busy machine. */
static int setup(void **state)
{
    const struct timespec nap = {0, 50000000};
    unsigned same = 0;

    fake_reset();
    test_server_open(&s, 16, LONG_MS);
    others_are_served(warprsa_clock_ns());
    WAIT_UNTIL(warprsa_server_clients(s.server) == 0);
    while (same < SAME_NAPS) {
        fds_before = count_descriptors();
        threads_before = threads_now();
        nanosleep(&nap, NULL);
        same =
            count_descriptors() == fds_before && threads_now() == threads_before
                ? same + 1
                : 0;
    }
    assert_true(fds_before > 0 && threads_before > 0);
    return 0;
}

static int teardown(void **state)
{
    WAIT_UNTIL(count_descriptors() <=
               fds_before); /* which may have had one too many */
    WAIT_UNTIL(threads_now() == threads_before);
    test_server_close(&s);
    return 0;
}

/* QEMU's user mode can't set SO_PASSRIGHTS, and where descriptors come that the
 * daemon left no room for, it neither tells the daemon nor closes them. */
static void skip_under_emulator(void)
{
    if (emulator()[0] != '\0')
        skip();
}

/* Where the kernel can keep descriptors out, the client can't send any. */
TEST_IN(descriptors_kept_out, setup, teardown)
{
    warprsa_control_connection control;
    socklen_t length = sizeof(int);
    char why[256];
    int on = 1;

    skip_under_emulator();
    if (getsockopt(s.config.listeners[0], SOL_SOCKET, SO_PASSRIGHTS, &on,
                   &length) != 0)
        skip();
    assert_int_equal(on, 0);
    assert_true(
        warprsa_control_connection_open(&control, s.path, why, sizeof(why)));
    assert_false(send_with(control.socket.fd, 0));
    assert_int_equal(errno, EPERM);
    warprsa_control_connection_close(&control);
}

/* All that a client has of the daemon's but the control connection. */
TEST_IN(nothing_can_be_sent_to_a_session, setup, teardown)
{
    static const int on = 1;
    raw_client x;
    int ends[2];

    WAIT_UNTIL(raw_client_connect(&x, s.path, 16));
    raw_client_attach(&x);
    ends[0] = x.socket;
    ends[1] = raw_client_notifier(&x, 1);
    for (unsigned i = 0; i < 2; i++) {
        (void)setsockopt(ends[i], SOL_SOCKET, SO_PASSPIDFD, &on, sizeof(on));
        (void)setsockopt(ends[i], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
        assert_false(send_with(ends[i], 0));
        assert_int_equal(errno, EPIPE);
        assert_int_equal(send(ends[i], "", 1, MSG_NOSIGNAL), -1);
        assert_int_equal(errno, EPIPE);
    }
    close(ends[1]);
    raw_client_leave(&x);
}

/* A descriptor more than the protocol has: the control connection ends with one
 * line of the log, and nothing is received. */
TEST_IN(a_descriptor_too_many, setup, teardown)
{
    warprsa_control_connection control;
    char why[256];

    skip_under_emulator();
    let_descriptors_through();
    assert_true(
        warprsa_control_connection_open(&control, s.path, why, sizeof(why)));
    assert_true(send_with(control.socket.fd, 0));
    assert_true(becomes_readable(control.socket.fd));
    WAIT_UNTIL(test_server_broken(&s) == 1);
    assert_true(test_server_logged(&s, "or with descriptors"));
    warprsa_control_connection_close(&control);
}

/* In a process of its own, whose end closes nothing slowly: leaves a socket
 * that lingers to the daemon. Returns the exit status. */
static int leave_one(const struct sockaddr_in *to, bool waits)
{
    warprsa_control_connection control;
    struct pollfd end = {.events = POLLIN};
    int fd = lingering(to);
    char why[256];

    if (fd < 0 ||
        !warprsa_control_connection_open(&control, s.path, why, sizeof(why)))
        return 1;
    end.fd = control.socket.fd;
    if (!send_with(control.socket.fd, fd))
        return errno == EPIPE || errno == ECONNRESET ? 2 : 1;
    if (waits)
        (void)poll(&end, 1, 1000);
    return 0;
}

/* Returns the other end of the socket. *left: the daemon has been given it. */
static int have_one_left(int listener, const struct sockaddr_in *to, bool waits,
                         bool *left)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        _exit(leave_one(to, waits));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2);
    *left = WEXITSTATUS(status) == 0;
    return accept(listener, NULL, NULL);
}

/* More of them than there are seats: some connections are refused, and closed
 * with the message still unread. */
TEST_IN(sockets_that_linger, setup, teardown)
{
    const uint64_t since_ns = warprsa_clock_ns();
    struct sockaddr_in address;
    int peers[ATTACKS];
    unsigned sent = 0;
    int listener;

    skip_under_emulator();
#ifdef UNDER_TSAN
    skip();
#endif
    listener = listen_for_them(&address);
    let_descriptors_through();
    for (unsigned i = 0; i < ATTACKS; i++) {
        bool left;

        peers[i] = have_one_left(listener, &address, i % 2 == 0, &left);
        assert_true(peers[i] >= 0);
        sent += left;
        assert_true(threads_now() <= threads_before + 1);
    }
    close(listener);
    assert_true(sent > ATTACKS / 4);
    others_are_served(since_ns);
    /* And all of them are closed before one has lingered. */
    WAIT_UNTIL(count_descriptors() == fds_before + ATTACKS);
    assert_true(warprsa_clock_ns() - since_ns < LINGER_S * WARPRSA_NS_PER_SEC);
    for (unsigned i = 0; i < ATTACKS; i++)
        close(peers[i]);
}

/* Notifiers that are asked for, again and again, and never received. */
TEST_IN(notifiers_not_received, setup, teardown)
{
    warprsa_shm_message asked = {.type = WARPRSA_SHM_NOTIFIER, .number = 1};
    raw_client x;

    WAIT_UNTIL(raw_client_connect(&x, s.path, 16));
    raw_client_attach(&x);
    for (unsigned i = 0; i < 1000; i++) {
        if (!warprsa_shm_send(&x.shm, &x.messages_offset, &asked))
            WAIT_UNTIL(warprsa_shm_send(&x.shm, &x.messages_offset, &asked) ||
                       test_server_logged(&s, "does not receive them"));
        raw_client_notify(&x);
    }
    WAIT_UNTIL(test_server_logged(&s, "does not receive them"));
    WAIT_UNTIL(warprsa_server_clients(s.server) == 0);
    raw_client_leave(&x);
    others_are_served(warprsa_clock_ns());
}

/* A process that has died leaves its WELCOME behind, to others of its program,
 * who get it in place of their own; or, after a while, find it ended. */
TEST_IN(replies_left_behind, setup, teardown)
{
    const struct timespec longer_than_an_offer = {6, 0};
    warprsa_message wanted = {.slots = 16, .keys = 16, .notifiers = 64};
    warprsa_backend_key *key;
    test_client g;
    char why[256];

    for (unsigned i = 0; i < 2; i++) {
        test_client_open(&g, &s, LONG_MS);
        assert_true(warprsa_control_connection_request(
            &g.control_connection, &wanted, why, sizeof(why)));
        assert_true(becomes_readable(g.control_connection.socket.fd));
        if (i == 1) {
            nanosleep(&longer_than_an_offer, NULL);
            WAIT_UNTIL(warprsa_server_clients(s.server) == 0);
        }
        WAIT_UNTIL(test_client_is_ready(&g));
        key = test_client_key(&g, WARPRSA_CLASS_1024, 1);
        test_client_operate(&g, key, WARPRSA_CLASS_1024, 1, 1);
        backend->key_release(key);
        test_client_close(&g);
        WAIT_UNTIL(warprsa_server_clients(s.server) == 0);
    }
}

/* Makes a control connection as another user. */
static bool open_as(uid_t uid, warprsa_control_connection *control)
{
    char why[256];
    bool opened;

    assert_int_equal(seteuid(uid), 0);
    opened = warprsa_control_connection_open(control, s.path, why, sizeof(why));
    assert_int_equal(seteuid(0), 0);
    return opened;
}

/* Whoever uses a control connection, its maker's seats are taken. */
TEST_IN(the_quota_of_who_connected, setup, teardown)
{
    warprsa_message wanted = {.slots = 16, .keys = 16, .notifiers = 64};
    warprsa_control_connection control;
    warprsa_server_limits limits = s.config.limits;
    warprsa_message reply;
    char why[256];

    if (geteuid() != 0)
        skip();
    limits.user_clients = 1;
    warprsa_server_set_limits(s.server, &limits);
    assert_int_equal(chmod(s.directory, 0755), 0);
    assert_int_equal(chmod(s.path, 0666), 0);
    assert_true(open_as(NOBODY, &control));
    for (unsigned i = 0; i < 2; i++) {
        int fds[WARPRSA_MESSAGE_FDS];

        assert_true(warprsa_control_connection_request(&control, &wanted, why,
                                                       sizeof(why)));
        assert_true(becomes_readable(control.socket.fd));
        assert_int_equal(
            warprsa_control_connection_receive(&control, &reply, fds),
            WARPRSA_RECEIVED);
        assert_int_equal(reply.type, i == 0 ? WARPRSA_MESSAGE_WELCOME
                                            : WARPRSA_MESSAGE_REFUSED);
        for (unsigned j = 0; j < WARPRSA_MESSAGE_FDS; j++)
            if (fds[j] >= 0)
                close(fds[j]);
    }
    assert_true(test_server_logged(&s, "(user 65534) is refused"));
    others_are_served(warprsa_clock_ns());
    warprsa_control_connection_close(&control);
}

/* Asks for a session and goes: before the reply, but for a daemon that is
 * quicker. */
static bool went_before_the_reply(void)
{
    const warprsa_message wanted = {.slots = 1};
    warprsa_control_connection control;
    char why[256];

    assert_true(
        warprsa_control_connection_open(&control, s.path, why, sizeof(why)));
    assert_true(warprsa_control_connection_request(&control, &wanted, why,
                                                   sizeof(why)));
    warprsa_control_connection_close(&control);
    return test_server_logged(&s, "is refused: it has gone");
}

/* The log tells a client that no longer waits from one that gets nothing. */
TEST_IN(gone_before_the_reply, setup, teardown)
{
    WAIT_UNTIL(went_before_the_reply());
    others_are_served(warprsa_clock_ns());
    WAIT_UNTIL(count_descriptors() <= fds_before);
}

/* One line of the log, whatever the daemon has to say: it broke the protocol,
 * or there is no control connection for it. */
static void cause_a_line(uid_t uid)
{
    const warprsa_message wrong = {.version = WARPRSA_PROTOCOL, .type = 77};
    warprsa_control_connection control;

    assert_true(open_as(uid, &control));
    (void)send(control.socket.fd, &wrong, sizeof(wrong), MSG_NOSIGNAL);
    assert_true(becomes_readable(control.socket.fd));
    warprsa_control_connection_close(&control);
}

/* A user id takes all 32 bits. */
TEST_IN(a_line_about_a_large_user_id, setup, teardown)
{
    if (geteuid() != 0 || seteuid(LARGE_UID) != 0)
        skip(); /* a user namespace may have no such id */
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(s.directory, 0755), 0);
    assert_int_equal(chmod(s.path, 0666), 0);
    cause_a_line(LARGE_UID);
    WAIT_UNTIL(test_server_logged(
        &s, "(user 4000000000) loses its control connection"));
    others_are_served(warprsa_clock_ns());
}

/* The log does not grow as fast as a client likes, counts what it lacks, and
 * has what another user does beside that. */
TEST_IN(lines_of_the_log, setup, teardown)
{
    unsigned before;

    if (geteuid() != 0)
        skip();
    test_server_stop(&s);
    unlink(s.path);
    s.config.log_lines = WARPRSA_LOG_LINES_A_SECOND;
    test_server_start(&s);
    assert_int_equal(chmod(s.directory, 0755), 0);
    assert_int_equal(chmod(s.path, 0666), 0);
    before = test_server_log_length(&s);
    test_server_count(&s, "(user 65534)");
    for (unsigned i = 0; i < LINES; i++)
        cause_a_line(NOBODY);
    cause_a_line(0);
    WAIT_UNTIL(test_server_logged(&s, "(user 0) loses its control connection"));
    WAIT_UNTIL(test_server_counted(&s) == LINES);
    assert_true(s.left_out > 0);
    assert_true(test_server_log_length(&s) - before < LINES / 2);
    others_are_served(warprsa_clock_ns());
    WAIT_UNTIL(count_descriptors() <=
               fds_before); /* which may have had one too many */
}

static void keep_line(void *arg, int level, const char *line)
{
    snprintf(arg, 64, "%s", line);
}

/* A name may be the gateway's invention. */
TEST(a_line_in_a_line_of_the_log)
{
    char line[64] = "";
    const warprsa_server_config config = {
        .log_level = 1, .log_lines = 1, .log = keep_line, .log_arg = line};
    warprsa_server_context context = {0};

    assert_true(warprsa_server_context_init(&context, &config));
    warprsa_server_log_about(&context, 1000, 1, "%s connected",
                             "a\nwarprsad: \x1b[2J\x7f");
    assert_string_equal(line, "a?warprsad: ?[2J? connected");
    warprsa_server_context_free(&context);
}

RUN_TESTS(NULL, NULL)
