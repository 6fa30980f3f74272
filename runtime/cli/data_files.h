/* Finite data for a verb: the flags --data, --eval-data and --validation, which every verb that reads examples has, and
 * the examples: read from files, or made by the task with a bar of progress. */
#ifndef LONGHAND_DATA_FILES_H
#define LONGHAND_DATA_FILES_H

#include "base/files.h"
#include "cli/cli.h"

typedef struct lh_data_files {
    lh_spec spec; /* with its data */
    lh_corpus corpus;
    char path[LH_SETS][LH_PATH_MAX]; /* of the files */
    char **argv;                     /* the words that are left, for free() */
    bool open;
} lh_data_files;

/* For a cli->spec with a fixed set of examples: takes the flags out of cli's words, reads or makes the examples, and
 * puts the spec that has them in place of cli->spec. Does nothing when --help is asked for. For lh_data_files_close in
 * any case. */
lh_status lh_data_files_open(lh_data_files *files, lh_cli *cli, lh_error *error);
void lh_data_files_close(lh_data_files *files);

/* Says on stderr what held-out examples of files have in common with those of training and with each other; nothing where
 * they have nothing in common. LH_ERR_ENVIRONMENT without memory. */
lh_status lh_data_files_compare(const lh_spec *spec, lh_error *error);

/* Prints the part of --help on the flags that a spec has. */
void lh_data_files_help(FILE *out, const lh_spec *spec);

/* The set that a flag --split names; NULL where it was not given. LH_ERR_USAGE: there is no such set. */
lh_status lh_data_files_set(const lh_spec *spec, const char *name, const lh_dataset **set, lh_error *error);

/* In place of `wanted`, task lengths that a flag gave, or a verb's standard ones (given: false): with finite data, the
 * shapes with these input lengths, or else the shortest and the longest. LH_ERR_INPUT where training examples of a given
 * length are missing. */
lh_status lh_data_files_shapes(const lh_spec *spec, lh_option_lengths *wanted, bool given, lh_error *error);

/* In place of `wanted`, input lengths that a flag gave or the spec's: with finite data, those that the set has, or where it
 * is NULL what the spec evaluates. LH_ERR_INPUT where it has none of them. */
lh_status lh_data_files_select(const lh_spec *spec, const lh_dataset *set, lh_lengths *wanted, lh_error *error);

#endif
