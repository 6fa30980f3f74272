/* The command line of a trainer. runtime/main.c calls lh_main with the spec that the program was built for. */
#ifndef LONGHAND_MAIN_H
#define LONGHAND_MAIN_H

#include "longhand/spec.h"

/* Runs the verb in argv[1] and returns the exit code, an lh_status. */
int lh_main(const lh_spec *spec, int argc, char **argv);

#endif
