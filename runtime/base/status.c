/* Formats error messages; see longhand/status.h. */
#include "longhand/status.h"

#include <stdarg.h>
#include <stdio.h>

/* Replaces control characters by question marks: they may come from names and values in files, and a terminal would
 * execute them. */
static void replace_control_characters(char *text) {
    for (; *text; text++)
        if (((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') || *text == 0x7f) *text = '?';
}

lh_status lh_fail(lh_error *error, lh_status status, const char *format, ...) {
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
        replace_control_characters(error->text);
    }
    return status;
}
