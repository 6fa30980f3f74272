/* See pick.h. */
#include "data/datasets/pick.h"

#include <stdlib.h>

#include "data/datasets/corpus.h"
#include "longhand/rng.h"

typedef struct ranked {
    uint64_t rank;
    uint32_t place;
} ranked;

static uint64_t rank_line(const lh_pick *choice, uint32_t line) {
    uint32_t word[4], counter[4] = {0, lh_site(LH_DOMAIN_EVAL, 0, LH_PLACE_CHOICE), line, LH_SHARED};
    if (choice->in_order) return line;
    lh_philox(counter, lh_key_of_seed(choice->seed), word);
    return (uint64_t)word[0] << 32 | word[1];
}

static int compare_ranks(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static int compare_places(const void *a, const void *b) {
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : 1;
}

lh_status lh_pick_sort(const lh_dataset *set, const lh_pick *choice, uint32_t *place, int64_t count, lh_error *error) {
    ranked *list = malloc((size_t)count * sizeof *list + 1);
    if (list == NULL)
        return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory to choose among %lld examples", (long long)count);
    for (int64_t i = 0; i < count; i++) list[i] = (ranked){rank_line(choice, set->line[place[i]]), place[i]};
    qsort(list, (size_t)count, sizeof *list, compare_ranks);
    for (int64_t i = 0; i < count; i++) place[i] = list[i].place;
    free(list);
    return LH_OK;
}

lh_status lh_pick_example_indices(const lh_dataset *set, const lh_pick *choice, uint32_t *place, int64_t *count,
                                  lh_error *error) {
    if (choice->most == 0 || *count <= choice->most) return LH_OK;
    lh_status status = lh_pick_sort(set, choice, place, *count, error);
    if (status != LH_OK) return status;
    *count = choice->most;
    qsort(place, (size_t)*count, sizeof *place, compare_places);
    return LH_OK;
}

/* Sorts chosen places so that the `ahead` preferred ones come first; both parts are in ascending order. */
static lh_status sort_preferred_first(const lh_dataset *set, const lh_pick *choice, uint32_t *place, int64_t count,
                                      lh_error *error) {
    if (choice->ahead == 0 || count <= choice->ahead) return LH_OK;
    lh_status status = lh_pick_sort(set, choice, place, count, error);
    if (status != LH_OK) return status;
    qsort(place, (size_t)choice->ahead, sizeof *place, compare_places);
    qsort(place + choice->ahead, (size_t)(count - choice->ahead), sizeof *place, compare_places);
    return LH_OK;
}

/* Moves the chosen examples to the front of the group's part of place and pick, and the others after them. */
static lh_status choose_of_group(const lh_corpus *corpus, const lh_pick *choice, const lh_groups *groups,
                                 lh_group *group, lh_error *error) {
    const lh_dataset *set = lh_corpus_set(corpus, group->set);
    uint32_t *place = groups->place + group->first, *pick = groups->pick + group->first;
    lh_status status = lh_pick_example_indices(set, choice, place, &group->count, error);
    if (status == LH_OK) status = sort_preferred_first(set, choice, place, group->count, error);
    for (int64_t i = 0; status == LH_OK && i < group->count; i++)
        pick[i] = place[i] - (uint32_t)set->first[lh_dataset_shape(set, corpus->shapes, place[i]) - 1];
    return status;
}

lh_status lh_pick_examples(lh_groups *groups, const lh_corpus *corpus, const lh_pick *choice, lh_error *error) {
    lh_status status = LH_OK;
    groups->in_order = choice->in_order;
    for (int i = 0; status == LH_OK && i < groups->count; i++)
        status = choose_of_group(corpus, choice, groups, &groups->group[i], error);
    return status;
}
