/* Formats error messages; see longhand/status.h. */
#include "longhand/status.h"

#include <stdarg.h>
#include <stdio.h>

lh_status lh_fail(lh_error *error, lh_status status, const char *format, ...) {
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return status;
}
