/* Formats of files of examples other than JSON lines. Each line becomes the JSON object that a file of JSON lines would
 * have in its place:
 *
 *     1 0 +<tab>1                      two columns, input and target. A first line may name other columns after these
 *                                      two: input<tab>target<tab>digits. A column `positions` has numbers separated
 *                                      by blanks
 *     IN: jump twice OUT: JUMP JUMP    the format of SCAN (Lake and Baroni 2018)
 */
#ifndef LONGHAND_LINE_FORMATS_H
#define LONGHAND_LINE_FORMATS_H

#include <stdbool.h>

#include "data/symbols/token.h"

typedef enum lh_line_format { LH_LINES_UNKNOWN, LH_LINES_JSON, LH_LINES_TABS, LH_LINES_SCAN } lh_line_format;

enum { LH_MAX_COLUMNS = 16, LH_COLUMN_NAME = 64 };

/* The format of a file's lines, which its first line determines. All 0 before the first line. */
typedef struct lh_line_reader {
    lh_line_format format;
    int columns;                               /* number of columns of a file with tabs */
    char name[LH_MAX_COLUMNS][LH_COLUMN_NAME]; /* [columns] */
} lh_line_reader;

/* Determines the format of a file by its first line that is not blank; location: file and line, for messages.
 * *is_header: the line names the columns, and has no example. LH_ERR_INPUT: the line has no known format, too many
 * columns, or a too long name of a column. */
lh_status lh_line_reader_start(lh_line_reader *reader, const char *text, size_t bytes, const char *location,
                               bool *is_header, lh_error *error);

/* Makes the object of a line that is not JSON; the caller drops the reference. LH_ERR_INPUT: the number of columns is
 * wrong, IN: or OUT: is missing, or the text is not UTF-8. */
lh_status lh_line_reader_read(const lh_line_reader *reader, const char *text, size_t bytes, const lh_alphabet *input,
                              const lh_alphabet *output, const char *location, json_t **object, lh_error *error);

/* Makes a list of symbols from text: its words, if the text has blanks and the blank is not a symbol; else one symbol,
 * if the text is the name of a symbol; else its characters. NULL: the text is not UTF-8, or there is no memory. */
json_t *lh_split_symbols(const lh_alphabet *alphabet, const char *text, size_t bytes);

#endif
