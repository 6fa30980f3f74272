/* The verb train. */
#ifndef LONGHAND_VERB_TRAIN_H
#define LONGHAND_VERB_TRAIN_H

#include "cli/cli.h"

lh_verb_function lh_verb_train;

#endif
