/* Queries of a corpus; see corpus.h. */
#include <string.h>

#include "data/datasets/corpus.h"
#include "data/lengths.h"

const lh_dataset *lh_corpus_get_set(const lh_corpus *corpus, lh_set set) {
    if (set == LH_SET_TRAIN) return &corpus->train;
    if (set == LH_SET_TEST) return corpus->has_test_set ? &corpus->eval : NULL;
    return corpus->validation.count > 0 ? &corpus->validation : NULL;
}

bool lh_dataset_has_general_examples(const lh_dataset *set, int axes, int n) {
    for (int64_t index = set->first[n - 1]; index < set->first[n]; index++) {
        bool is_exclusive = false;
        for (int axis = 0; axis < axes; axis++)
            is_exclusive =
                is_exclusive || (set->exclusive_axes >> axis & 1 && set->values[index * axes + axis] != LH_NO_VALUE);
        if (!is_exclusive) return true;
    }
    return false;
}

int lh_dataset_find_shape(const lh_dataset *set, int shapes, int64_t index) {
    int low = 1, high = shapes;
    while (low < high) {
        int middle = (low + high) / 2;
        if (index < set->first[middle]) high = middle;
        else low = middle + 1;
    }
    return low;
}

lh_lengths lh_corpus_select(const lh_corpus *corpus, const lh_dataset *set, const lh_lengths *lengths) {
    lh_lengths selection = {.list = corpus->selected};
    for (int n = 1; n <= corpus->shapes; n++) {
        int input = corpus->sizes[n - 1].input;
        if (lh_dataset_count_examples(set, n) == 0 || !lh_lengths_have(lengths, input)) continue;
        if (selection.count == 0 || selection.list[selection.count - 1] != input)
            corpus->selected[selection.count++] = input;
    }
    return selection;
}

int lh_corpus_find_shape(const lh_corpus *corpus, int input) {
    int best = 0;
    for (int n = 1; n <= corpus->shapes; n++) {
        int64_t max_examples = best > 0 ? lh_dataset_count_examples(&corpus->train, best) : 0;
        if (corpus->sizes[n - 1].input == input && lh_dataset_count_examples(&corpus->train, n) > max_examples)
            best = n;
    }
    return best;
}

void lh_dataset_copy(const lh_dataset *set, int n, int64_t index, lh_example *example) {
    int64_t start = set->start[set->first[n - 1] + index];
    if (set->expand != NULL) {
        set->expand(set->seed, set->tokens + start, example);
        return;
    }
    memcpy(example->input, set->tokens + start, (size_t)example->input_length * sizeof *example->input);
    start += example->input_length;
    memcpy(example->target, set->tokens + start, (size_t)example->output_length * sizeof *example->target);
    memcpy(example->mask, set->mask + start, (size_t)example->output_length);
}

int32_t *lh_dataset_get_positions(const lh_dataset *set, int n, int64_t index) {
    return set->positions != NULL ? set->positions + set->start[set->first[n - 1] + index] : NULL;
}
