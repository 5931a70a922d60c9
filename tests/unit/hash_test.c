/* hash_test.c - HMAC-SHA256 gives the vectors of RFC 4231. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#include <cmocka.h>

static void gives(const char *key, size_t key_len, const char *text, const char *hex) {
    char got[SHA256_HEX];
    struct sha256 sum = hash_hmac((struct tl_span){key, key_len}, span_of(text));
    assert_string_equal(hash_hex(sum.byte, SHA256_BYTES, got), hex);
}

static void vectors(void **state) {
    (void)state;
    char key[131];
    memset(key, 0x0b, sizeof key);
    gives(key, 20, "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    gives("Jefe", 4, "what do ya want for nothing?",
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key); /* longer than a block */
    gives(key, sizeof key, "Test Using Larger Than Block-Size Key - Hash Key First",
          "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    gives(key, sizeof key,
          "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be "
          "hashed before being used by the HMAC algorithm.",
          "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
    gives("", 0, "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"); /* of no key and no text */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(vectors)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
