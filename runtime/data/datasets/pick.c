/* See pick.h. */
#include "data/datasets/pick.h"

#include <stdlib.h>

#include "data/datasets/corpus.h"
#include "longhand/rng.h"

/* An example and its rank; examples of the lowest ranks are chosen. */
typedef struct ranked_example {
    uint64_t rank;
    uint32_t index;
} ranked_example;

static uint64_t rank_line(const lh_pick *choice, uint32_t line) {
    uint32_t word[4], counter[4] = {0, lh_site(LH_DOMAIN_EVAL, 0, LH_PLACE_CHOICE), line, LH_SHARED};
    if (choice->in_order) return line;
    lh_philox(counter, lh_key_of_seed(choice->seed), word);
    return (uint64_t)word[0] << 32 | word[1];
}

static int compare_ranks(const void *a, const void *b) {
    const ranked_example *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static int compare_indices(const void *a, const void *b) {
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : 1;
}

lh_status lh_pick_sort(const lh_dataset *set, const lh_pick *choice, uint32_t *indices, int64_t count,
                       lh_error *error) {
    ranked_example *list = malloc((size_t)count * sizeof *list + 1);
    if (list == NULL)
        return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory to choose among %lld examples", (long long)count);
    for (int64_t i = 0; i < count; i++)
        list[i] = (ranked_example){rank_line(choice, set->line[indices[i]]), indices[i]};
    qsort(list, (size_t)count, sizeof *list, compare_ranks);
    for (int64_t i = 0; i < count; i++) indices[i] = list[i].index;
    free(list);
    return LH_OK;
}

lh_status lh_pick_example_indices(const lh_dataset *set, const lh_pick *choice, uint32_t *indices, int64_t *count,
                                  lh_error *error) {
    if (choice->limit == 0 || *count <= choice->limit) return LH_OK;
    lh_status status = lh_pick_sort(set, choice, indices, *count, error);
    if (status != LH_OK) return status;
    *count = choice->limit;
    qsort(indices, (size_t)*count, sizeof *indices, compare_indices);
    return LH_OK;
}

/* Sorts indices of chosen examples: first the preferred_count examples of lowest rank, then the others; both parts are
 * in ascending order. */
static lh_status sort_preferred_first(const lh_dataset *set, const lh_pick *choice, uint32_t *indices, int64_t count,
                                      lh_error *error) {
    if (choice->preferred_count == 0 || count <= choice->preferred_count) return LH_OK;
    lh_status status = lh_pick_sort(set, choice, indices, count, error);
    if (status != LH_OK) return status;
    qsort(indices, (size_t)choice->preferred_count, sizeof *indices, compare_indices);
    qsort(indices + choice->preferred_count, (size_t)(count - choice->preferred_count), sizeof *indices,
          compare_indices);
    return LH_OK;
}

/* Moves the chosen examples to the front of the group's part of `indices`, and sets their `indices_in_shape`. */
static lh_status choose_in_group(const lh_corpus *corpus, const lh_pick *choice, const lh_groups *groups,
                                 lh_group *group, lh_error *error) {
    const lh_dataset *set = lh_corpus_get_set(corpus, group->set);
    uint32_t *indices = groups->indices + group->first, *indices_in_shape = groups->indices_in_shape + group->first;
    lh_status status = lh_pick_example_indices(set, choice, indices, &group->count, error);
    if (status == LH_OK) status = sort_preferred_first(set, choice, indices, group->count, error);
    for (int64_t i = 0; status == LH_OK && i < group->count; i++)
        indices_in_shape[i] =
            indices[i] - (uint32_t)set->first[lh_dataset_find_shape(set, corpus->shapes, indices[i]) - 1];
    return status;
}

lh_status lh_pick_examples(lh_groups *groups, const lh_corpus *corpus, const lh_pick *choice, lh_error *error) {
    lh_status status = LH_OK;
    groups->in_order = choice->in_order;
    for (int i = 0; status == LH_OK && i < groups->count; i++)
        status = choose_in_group(corpus, choice, groups, &groups->group[i], error);
    return status;
}
