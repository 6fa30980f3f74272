/* Random score formulas (tests/expressions) in generated code, compared with plain Lua: values, and gradients with
 * respect to the logit and the parameters. */
#include "support/lh_test.h"

#include "expressions/cases.h"

static void run_part(const expression_case *cases) {
    int failed = 0, count = 0;
    for (; cases->run; cases++, count++) {
        char message[200] = "";
        if (cases->run(message, sizeof message)) continue;
        print_message("           formula %s\n           %s\n", cases->text, message);
        failed++;
    }
    assert_true(count > 0);
    assert_int_equal(failed, 0);
}

#define DECLARE_PART(n) \
    static void test_formulas_part_##n##_match_plain_lua(void **state) { run_part(expression_part_##n); }
DECLARE_PART(0)
DECLARE_PART(1)
DECLARE_PART(2)
DECLARE_PART(3)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas_part_0_match_plain_lua),
        cmocka_unit_test(test_formulas_part_1_match_plain_lua),
        cmocka_unit_test(test_formulas_part_2_match_plain_lua),
        cmocka_unit_test(test_formulas_part_3_match_plain_lua),
    };
    return cmocka_run_group_tests_name("expressions", tests, NULL, NULL);
}
