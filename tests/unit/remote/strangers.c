/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who has to go when too many knock at the network's server, and how many lines
 * of the log they may cause.
 */
#include "tests/unit/support/unit_test.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"
#include "batching/remote/server/strangers.h"

enum {
    MANY = 2000,
};

static warprsa_strangers strangers;
static warprsa_stranger crowd[MANY];

static const struct sockaddr *v4(uint32_t number)
{
    static struct sockaddr_in address;

    address = (struct sockaddr_in){.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(number)};
    return (const struct sockaddr *)&address;
}

/* Of prefix `high`, host `low`. */
static const struct sockaddr *v6(uint8_t high, uint8_t low)
{
    static struct sockaddr_in6 address;

    memset(&address, 0, sizeof(address));
    address.sin6_family = AF_INET6;
    address.sin6_addr.s6_addr[0] = 0x20;
    address.sin6_addr.s6_addr[7] = high;
    address.sin6_addr.s6_addr[15] = low;
    return (const struct sockaddr *)&address;
}

static void start(void)
{
    memset(crowd, 0, sizeof(crowd));
    warprsa_strangers_init(&strangers);
}

static warprsa_stranger *add(unsigned i, const struct sockaddr *from)
{
    return warprsa_strangers_add(&strangers, &crowd[i], from);
}

/* Of one address the first that is silent goes, then the first of all. */
TEST(one_address)
{
    const unsigned most = WARPRSA_STRANGERS_OF_ADDRESS;

    start();
    for (unsigned i = 0; i < most; i++)
        assert_null(add(i, v4(1)));
    assert_null(add(most, v4(2)));
    crowd[0].has_spoken = true;
    assert_ptr_equal(add(most + 1, v4(1)), &crowd[1]);
    for (unsigned i = 0; i < most + 2; i++)
        crowd[i].has_spoken = true;
    assert_ptr_equal(add(most + 2, v4(1)), &crowd[0]);
    assert_int_equal(strangers.count, most + 1);
    assert_true(crowd[most].listed);
}

/* The hosts of a prefix are one; an IPv4 address in IPv6 is itself. */
TEST(addresses)
{
    static struct sockaddr_in6 mapped = {
        .sin6_family = AF_INET6,
        .sin6_addr.s6_addr = {[10] = 0xff, [11] = 0xff, [15] = 1}};
    const unsigned most = WARPRSA_STRANGERS_OF_ADDRESS;

    start();
    for (unsigned i = 0; i < most; i++)
        assert_null(add(i, v6(1, (uint8_t)i)));
    assert_null(add(most, v6(2, 0)));
    assert_ptr_equal(add(most + 1, v6(1, 200)), &crowd[0]);
    start();
    for (unsigned i = 0; i < most; i++)
        assert_null(add(i, v4(1)));
    assert_ptr_equal(add(most, (const struct sockaddr *)&mapped), &crowd[0]);
}

/* An honest peer that shakes hands while others flood: it stays, whether they
 * come from one address or from many. */
TEST(a_flood)
{
    for (unsigned addresses_of_flood = 1; addresses_of_flood <= 16;
         addresses_of_flood *= 2) {
        warprsa_stranger honest = {0};

        start();
        for (unsigned i = 0; i < MANY; i++) {
            const warprsa_stranger *goes = add(i, v4(i % addresses_of_flood));

            assert_ptr_not_equal(goes, &honest);
            assert_true(strangers.count <= WARPRSA_STRANGERS_MAX);
            if (i == MANY / 2) {
                assert_ptr_not_equal(
                    warprsa_strangers_add(&strangers, &honest, v4(1000)),
                    &honest);
                honest.has_spoken = true;
            }
        }
        assert_true(honest.listed);
        warprsa_strangers_remove(&strangers, &honest);
        warprsa_strangers_remove(&strangers, &honest);
        assert_false(honest.listed);
    }
}

/* More addresses than places: somebody goes, and the limit holds. */
TEST(everybody)
{
    start();
    for (unsigned i = 0; i < MANY; i++) {
        assert_true((add(i, v4(i)) != NULL) == (i >= WARPRSA_STRANGERS_MAX));
        assert_true(strangers.count <= WARPRSA_STRANGERS_MAX);
    }
}

RUN_TESTS(NULL, NULL)
