/* The table lh_number_names; see longhand/spec.h. Each macro lists the numbers that begin with given digits. */
#include "longhand/spec.h"

/* clang-format off */
#define TEN(d) d "0", d "1", d "2", d "3", d "4", d "5", d "6", d "7", d "8", d "9"
#define HUNDRED(d) TEN(d "0"), TEN(d "1"), TEN(d "2"), TEN(d "3"), TEN(d "4"), TEN(d "5"), TEN(d "6"), TEN(d "7"), \
    TEN(d "8"), TEN(d "9")
#define THOUSAND(d) HUNDRED(d "0"), HUNDRED(d "1"), HUNDRED(d "2"), HUNDRED(d "3"), HUNDRED(d "4"), HUNDRED(d "5"), \
    HUNDRED(d "6"), HUNDRED(d "7"), HUNDRED(d "8"), HUNDRED(d "9")
#define MYRIAD(d) THOUSAND(d "0"), THOUSAND(d "1"), THOUSAND(d "2"), THOUSAND(d "3"), THOUSAND(d "4"), \
    THOUSAND(d "5"), THOUSAND(d "6"), THOUSAND(d "7"), THOUSAND(d "8"), THOUSAND(d "9")
#define NINE(list) list("1"), list("2"), list("3"), list("4"), list("5"), list("6"), list("7"), list("8"), list("9")

const char *const lh_number_names[LH_NUMBER_NAMES] = {
    TEN(""), NINE(TEN), NINE(HUNDRED), NINE(THOUSAND),
    MYRIAD("1"), MYRIAD("2"), MYRIAD("3"), MYRIAD("4"), MYRIAD("5"),
    THOUSAND("60"), THOUSAND("61"), THOUSAND("62"), THOUSAND("63"), THOUSAND("64"),
};
/* clang-format on */
