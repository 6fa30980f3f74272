/* Opens the dataset of a verb. The examples are read from files, or the task makes them while a progress bar is shown.
 * Verbs that read examples have the flags --data, --eval-data and --validation, or only --validation if the task makes
 * the examples. */
#ifndef LONGHAND_DATA_FILES_H
#define LONGHAND_DATA_FILES_H

#include "base/files.h"
#include "cli/cli.h"

typedef struct lh_data_files {
    lh_spec spec; /* the spec bound to its data */
    lh_corpus corpus;
    char path[LH_SETS][LH_PATH_MAX]; /* found paths of files that no flag gives */
    char **argv;                     /* the arguments without the data flags; lh_data_files_close frees the list */
    bool is_open;                    /* whether the corpus is open */
} lh_data_files;

/* If cli->spec has a fixed set of examples: removes the data flags from cli's arguments, reads or makes the examples,
 * and replaces cli->spec by the spec bound to them. Does nothing if --help is requested. Call lh_data_files_close also
 * after an error. */
lh_status lh_data_files_open(lh_data_files *files, lh_cli *cli, lh_error *error);
void lh_data_files_close(lh_data_files *files);

/* Reports on stderr three kinds of test and validation examples: examples that are also training examples, examples
 * whose input is in the training set only with other targets, and duplicates within a file. Prints nothing if there are
 * no such examples. LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_data_files_compare(const lh_spec *spec, lh_error *error);

/* Prints the data flags of a spec for --help. */
void lh_data_files_print_help(FILE *out, const lh_spec *spec);

/* The dataset that the value of --split names; NULL: the flag is absent. LH_ERR_USAGE: there is no such set. */
lh_status lh_data_files_find_set(const lh_spec *spec, const char *name, const lh_dataset **set, lh_error *error);

/* Reads the value `word` of the flag --order: "hash", "file", or NULL for the spec's order. *in_order: whether examples
 * have the order of the file. LH_ERR_USAGE: another word, or the spec has no dataset. */
lh_status lh_data_files_read_order(const lh_spec *spec, const char *word, bool *in_order, lh_error *error);

/* With a dataset, replaces the requested task lengths by shapes, which are pairs of input and output length.
 * is_given: whether the lengths come from a flag. If so, each is an input length and becomes the shape with this
 * input length that has the most training examples. If not, the first and the last shape of training are requested.
 * LH_ERR_INPUT: there is no training example of a given length; LH_ERR_USAGE: more than LH_OPTION_MAX_LENGTHS are
 * given. */
lh_status lh_data_files_choose_shapes(const lh_spec *spec, lh_option_lengths *requested, bool is_given,
                                      lh_error *error);

/* With a dataset, removes requested input lengths of which the set has no example. set NULL: the test set, or the
 * training set if there is no test set. LH_ERR_INPUT: no length is left. */
lh_status lh_data_files_select(const lh_spec *spec, const lh_dataset *set, lh_lengths *requested, lh_error *error);

#endif
