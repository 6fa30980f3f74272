/* base/sha256.h: the standard's examples, and messages that fill the last block in every way. */
#include "lh_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"

static void check_digest(const void *data, size_t bytes, const char *expected) {
    char text[LH_SHA256_TEXT];
    lh_sha256(data, bytes, text);
    assert_string_equal(text, expected);
}

/* FIPS 180-4's example messages (NIST, "Examples with Intermediate Values"). */
static void test_sha256_of_standard_messages_matches_the_standard(void **state) {
    check_digest("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_digest("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *million = malloc(1000000);
    assert_non_null(million);
    memset(million, 'a', 1000000);
    check_digest(million, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

/* 55, 56, 63, 64 and 65 bytes: lengths with and without another block of padding. Digests are from sha256sum. */
static void test_sha256_at_edges_of_a_block_is_right(void **state) {
    char text[65];
    memset(text, 'x', sizeof text);
    check_digest(text, 55, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
    check_digest(text, 56, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
    check_digest(text, 63, "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2");
    check_digest(text, 64, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
    check_digest(text, 65, "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256_of_standard_messages_matches_the_standard),
        cmocka_unit_test(test_sha256_at_edges_of_a_block_is_right),
    };
    return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
