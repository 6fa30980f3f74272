/* Texts of the command line: values of flags, numbers, JSON, names of symbols, and the progress line of a terminal. */
#define _GNU_SOURCE
#include "lh_test.h"

#include <jansson.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json_text.h"
#include "cli/cli.h"
#include "data/symbols/symbols.h"
#include "longhand/spec.h"

static void test_options_are_parsed(void **state) {
    lh_error error;
    int64_t steps = 1;
    double rate = 1;
    bool is_on = false, is_given = false, wants_help;
    const char *text = NULL;
    lh_option_lengths lengths;
    const lh_verb verb = {"verb", "", NULL};
    /* name, kind, destination, range, whether the flag is given, name of the value, help */
    const lh_option options[] = {
        {"--steps", LH_OPTION_INTEGER, &steps, 0, 1e9, &is_given, "N", ""},
        {"--rate", LH_OPTION_NUMBER, &rate, 0, 1, NULL, "X", ""},
        {"--on", LH_OPTION_SWITCH, &is_on, 0, 0, NULL, NULL, ""},
        {"--text", LH_OPTION_TEXT, &text, 0, 0, NULL, "T", ""},
        {"--lengths", LH_OPTION_LENGTHS, &lengths, 0, 0, NULL, "L", ""},
    };
    char line[] = "--steps 2e6 --rate=3e-4 --on --text a=b --lengths 10:500:20", *words[8], *cursor = line;
    for (int i = 0; i < 8; i++) words[i] = strsep(&cursor, " ");
    lh_assert_ok(lh_options_parse(&verb, options, 5, 8, words, &wants_help, &error), &error);
    assert_true(steps == 2000000 && rate == 3e-4 && is_on && is_given && !wants_help);
    assert_string_equal(text, "a=b");
    assert_true(lengths.lengths.first == 10 && lengths.lengths.last == 500 && lengths.lengths.step == 20);
    char list[] = "41,50,60";
    words[0] = words[6];
    words[1] = list;
    lh_assert_ok(lh_options_parse(&verb, options, 5, 2, words, &wants_help, &error), &error);
    assert_int_equal(lengths.lengths.count, 3);
    assert_int_equal(lengths.lengths.list[2], 60);
}

static void test_shortest_text_of_a_number_is_read_back(void **state) {
    static const double numbers[] = {0.1, 1.0 / 3.0, 3e-4, 1e-5, 2000000, 1e300, 5e-324, 0.1 + 0.2, -7.25, 0};
    static const char *const texts[] = {"0.1",    "0.3333333333333333",  "0.0003", "1e-05", "2e+06", "1e+300",
                                        "5e-324", "0.30000000000000004", "-7.25",  "0"};
    for (int i = 0; i < 10; i++) {
        char text[LH_NUMBER_TEXT];
        assert_string_equal(lh_write_shortest(numbers[i], text), texts[i]);
        assert_true(strtod(text, NULL) == numbers[i]);
    }
}

/* A path may have any bytes. Its quoted text is JSON; bytes that are not UTF-8 become replacement characters. */
static void test_quoted_text_is_json(void **state) {
    static const char *const cases[][2] = {
        {"a\"b\\\n\x7f", "a\"b\\\n\x7f"},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\xb2", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\xb2"},
        {"a\xff", "a\xef\xbf\xbd"},
        {"\xc3", "\xef\xbf\xbd"},
        {"\xe2\x82z", "\xef\xbf\xbd\xef\xbf\xbdz"},
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                                 /* overlong encoding */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                 /* half of a surrogate pair */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a code point beyond the last one */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lh_text text;
        lh_assert_ok(lh_text_open(&text, NULL), NULL);
        lh_json_quote(text.out, cases[i][0]);
        lh_assert_ok(lh_text_close(&text, NULL), NULL);
        json_t *read = json_loads(text.text, JSON_DECODE_ANY, NULL);
        assert_non_null(read);
        assert_string_equal(json_string_value(read), cases[i][1]);
        json_decref(read);
        free(text.text);
    }
}

static void test_symbols_are_read_by_the_longest_name(void **state) {
    static const char *const names[] = {"+", "1", "10", "push"};
    uint16_t tokens[16];
    assert_int_equal(lh_read_symbols(names, 4, "10+1 push", tokens), 4);
    assert_true(tokens[0] == 2 && tokens[1] == 0 && tokens[2] == 1 && tokens[3] == 3);
    assert_int_equal(lh_read_symbols(names, 4, "1 x", tokens), -3);
    assert_int_equal(lh_read_symbols(names, 4, "", tokens), 0);
}

static void test_numbers_are_names_of_symbols(void **state) {
    for (int i = 0; i < LH_NUMBER_NAMES; i++) {
        char name[12];
        snprintf(name, sizeof name, "%d", i);
        assert_string_equal(lh_number_names[i], name);
    }
}

/* Shows a progress line on a terminal until a signal arrives. catches_signals: the signal is caught, and the line ends
 * in order; otherwise the signal kills the process. */
static int show_progress(bool catches_signals) {
    lh_progress progress;
    signal(SIGINT, SIG_DFL); /* earlier tests may have installed a handler */
    alarm(60);
    const volatile sig_atomic_t *stopped = catches_signals ? lh_catch_signals() : NULL;
    setenv("TERM", "xterm", 1);
    lh_progress_start(&progress);
    lh_progress_print(&progress, "[##..] step 2");
    while (stopped == NULL || !*stopped) usleep(1000);
    lh_progress_erase(&progress);
    fprintf(stderr, "stopped\n");
    return 0;
}

/* Types Ctrl-C when the whole line is shown. expected: the text of the terminal at the end; killed_by: the signal that
 * kills the process; 0: none. */
static void check_line_ends(bool catches_signals, int killed_by, const char *expected) {
    char text[256] = "";
    size_t used = 0;
    bool has_typed = false;
    int terminal, status;
    pid_t child = forkpty(&terminal, NULL, NULL, NULL);
    if (child == 0) _exit(show_progress(catches_signals));
    assert_true(child > 0);
    for (ssize_t actual = 1; actual > 0; used += (size_t)(actual > 0 ? actual : 0)) {
        actual = read(terminal, text + used, sizeof text - 1 - used);
        if (!has_typed && strstr(text, "step 2") != NULL) has_typed = write(terminal, "\003", 1) == 1;
    }
    close(terminal);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, killed_by);
    assert_string_equal(text, expected);
}

static void test_progress_line_is_ended_by_a_signal(void **state) {
    check_line_ends(true, 0, "\r[##..] step 2^C\r\n\r             \rstopped\r\n");
    check_line_ends(false, SIGINT, "\r[##..] step 2^C\r\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_are_parsed),
        cmocka_unit_test(test_shortest_text_of_a_number_is_read_back),
        cmocka_unit_test(test_quoted_text_is_json),
        cmocka_unit_test(test_numbers_are_names_of_symbols),
        cmocka_unit_test(test_symbols_are_read_by_the_longest_name),
        cmocka_unit_test(test_progress_line_is_ended_by_a_signal),
    };
    return cmocka_run_group_tests_name("texts", tests, NULL, NULL);
}
