/* See lh_fake_cuda.h. */
#define _GNU_SOURCE
#include "lh_fake_cuda.h"

#include <stdio.h>
#include <stdlib.h>

#include "lh_test.h"

void lh_compile_fake_cuda(const char *name, const char *flags, const char *directory, const char *library) {
    const char *compiler = getenv("CC");
    char *command;
    assert_true(asprintf(&command,
                         "mkdir -p '%s' && %s -std=gnu11 -shared -fPIC %s -o '%s/%s' tests/support/fake_cuda/%s.c",
                         directory, compiler && compiler[0] ? compiler : "cc", flags, directory, library, name) > 0);
    assert_int_equal(system(command), 0);
    free(command);
}
