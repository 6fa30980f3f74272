/* The entry point of a trainer. LH_MAIN_SPEC names the spec, e.g. -DLH_MAIN_SPEC=longhand_spec_reverse_rope. */
#include "longhand/main.h"

extern const lh_spec LH_MAIN_SPEC;

int main(int argc, char **argv) { return lh_main(&LH_MAIN_SPEC, argc, argv); }
