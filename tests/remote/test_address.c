/* Addresses of servers, as people write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <intaglio/remote.h>

static void takes(const char *text, const char *host, const char *port, const char *name,
                  const char *user, const char *password, bool tls)
{
    itg_remote_address a;
    itg_error err = {.message = ""};
    if (itg_remote_parse(text, NULL, &a, &err) != ITG_OK) fail_msg("%s: %s", text, err.message);
    assert_string_equal(a.host, host);
    assert_string_equal(a.port, port);
    assert_string_equal(a.name, name);
    assert_string_equal(a.user, user);
    assert_string_equal(a.password, password);
    assert_true(a.tls == tls);
}

static void addresses_have_parts(void **state)
{
    (void)state;
    takes("redis://machine/run", "machine", "6379", "run", "", "", false);
    takes("redis://10.0.0.1:7000/a.b-c_d", "10.0.0.1", "7000", "a.b-c_d", "", "", false);
    takes("rediss://:se%40c%2Fret@m/n", "m", "6379", "n", "", "se@c/ret", true);
    takes("redis://me:pass:word@[::1]:80/n", "::1", "80", "n", "me", "pass:word", false);
    takes("redis://[fe80::2]/n", "fe80::2", "6379", "n", "", "", false);
    takes("redis://:a@b@m/n", "m", "6379", "n", "", "a@b", false);
}

static void what_is_no_address_is_refused(void **state)
{
    static const char *const texts[] = {"",
                                        "machine",
                                        "redis:machine/x",
                                        "http://m/n",
                                        "redis://",
                                        "redis://m",
                                        "redis://m/",
                                        "redis:///n",
                                        "redis://m/a b",
                                        "redis://m:/n",
                                        "redis://m:0/n",
                                        "redis://m:65536/n",
                                        "redis://m:12x/n",
                                        "redis://user@m/n",
                                        "redis://:%0@m/n",
                                        "redis://:%00@m/n",
                                        "redis://:%zz@m/n",
                                        "redis://[::1/n",
                                        "redis://[::1]x/n",
                                        "redis://:%4@m/n"};
    char longer[600];
    itg_remote_address a = {.name = "kept"};
    itg_error err;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (itg_remote_parse(texts[i], NULL, &a, &err) != ITG_BAD_ARGUMENT)
            fail_msg("'%s' is taken", texts[i]);
        assert_non_null(strstr(err.message, "redis://HOST/NAME"));
        assert_null(strstr(err.message, "user@"));
    }
    snprintf(longer, sizeof longer, "redis://%0300d/n", 1);
    assert_int_equal(itg_remote_parse(longer, NULL, &a, &err), ITG_BAD_ARGUMENT);
    snprintf(longer, sizeof longer, "redis://:%0400d@m/n", 1);
    assert_int_equal(itg_remote_parse(longer, NULL, &a, &err), ITG_BAD_ARGUMENT);
    snprintf(longer, sizeof longer, "redis://m/%0100d", 1);
    assert_int_equal(itg_remote_parse(longer, NULL, &a, &err), ITG_BAD_ARGUMENT);
    assert_string_equal(a.name, "kept");
}

/* The environment's is for addresses without one. */
static void a_password_may_come_from_elsewhere(void **state)
{
    itg_remote_address a;
    (void)state;
    assert_int_equal(itg_remote_parse("redis://m/n", "other", &a, NULL), ITG_OK);
    assert_string_equal(a.password, "other");
    assert_int_equal(itg_remote_parse("redis://:own@m/n", "other", &a, NULL), ITG_OK);
    assert_string_equal(a.password, "own");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(addresses_have_parts),
                                       cmocka_unit_test(what_is_no_address_is_refused),
                                       cmocka_unit_test(a_password_may_come_from_elsewhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
