/* See toy_files.h. */
#include "toy_files.h"

#include "lh_test.h"

static void set_shape(int input, int output, lh_shape *shape) {
    shape->length[0] = input + output;
    shape->labels = output;
}

void toy_make_files(toy_files *f, const char *train, const char *eval) {
    *f = (toy_files){.spec = lh_toy_spec, .format = *lh_toy_spec.format, .task = *lh_toy_spec.task};
    f->format.labels = NULL;
    f->format.stream[0].length = NULL;
    f->format.shape = set_shape;
    f->task.sample = NULL;
    f->task.input_length = f->task.output_length = NULL;
    f->data = (lh_data){.train = train, .eval = eval, .longest = 12};
    f->spec.format = &f->format;
    f->spec.task = &f->task;
    f->spec.data = &f->data;
}

void toy_open_files(toy_files *f, const char *train, const char *eval) {
    lh_error error;
    toy_make_files(f, train, eval);
    lh_assert_ok(lh_corpus_open(&f->corpus, &f->spec, NULL, &error), &error);
}
