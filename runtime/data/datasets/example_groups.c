/* See example_groups.h. */
#define _GNU_SOURCE /* qsort_r */
#include "data/datasets/example_groups.h"

#include <stdlib.h>
#include <string.h>

#include "data/datasets/corpus.h"
#include "data/lengths.h"

const char lh_trained_axis[] = "trained";
const char *const lh_set_name[LH_SETS] = {"train", "test", "validation"};

/* A requested example. */
typedef struct candidate {
    lh_set set;
    int32_t value[LH_MAX_AXES];     /* value on each requested axis */
    uint32_t index, index_in_shape; /* index: in its set */
} candidate;

typedef struct selection {
    lh_groups *groups;
    const lh_corpus *corpus;
    const lh_task *task;
    const lh_by *by;
    candidate *candidates; /* [count] */
    int64_t count;
    bool has_value;          /* some example has a value on a requested axis */
    int32_t lowest, highest; /* range of values on the first axis */
} selection;

unsigned lh_sets_parse(const char *text) {
    unsigned sets = 0;
    for (size_t bytes; *text != 0; text += bytes + (text[bytes] != 0)) {
        int set = 0;
        bytes = strcspn(text, ",");
        while (set < LH_SETS && (strlen(lh_set_name[set]) != bytes || strncmp(text, lh_set_name[set], bytes) != 0))
            set++;
        if (set == LH_SETS) return 0;
        sets |= 1u << set;
    }
    return sets;
}

static int compare_candidates(const void *a, const void *b, void *axes) {
    const candidate *x = a, *y = b;
    if (x->set != y->set) return x->set < y->set ? -1 : 1;
    for (int i = 0; i < *(const int *)axes; i++)
        if (x->value[i] != y->value[i]) return x->value[i] < y->value[i] ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static int32_t get_value(const selection *s, const lh_dataset *set, int n, int64_t index, int axis) {
    if (axis == LH_BY_LENGTH) return s->corpus->sizes[n - 1].input;
    if (axis == LH_BY_TRAINED) return set->trained != NULL ? set->trained[index] : set == &s->corpus->train;
    return set->values[index * s->task->axes + axis];
}

/* Reads the values of an example. Returns whether all are requested. A missing value counts as requested. */
static bool is_requested(selection *s, const lh_dataset *set, int n, int64_t index, int32_t value[LH_MAX_AXES]) {
    bool is_match = true;
    for (int i = 0; i < s->by->count; i++) {
        int axis = s->by->axes[i].axis;
        value[i] = get_value(s, set, n, index, axis);
        if (value[i] == LH_NO_VALUE) continue;
        s->has_value = true;
        if (i == 0 && value[i] < s->lowest) s->lowest = value[i];
        if (i == 0 && value[i] > s->highest) s->highest = value[i];
        is_match = is_match && (s->by->axes[i].all || lh_lengths_have(&s->by->axes[i].values, value[i]));
    }
    return is_match;
}

/* Returns false if an example has a value on an exclusive axis that is not requested (lh_dataset.exclusive_axes). */
static bool is_eligible(const selection *s, const lh_dataset *set, int64_t index) {
    const int32_t *value = set->values + index * s->task->axes;
    unsigned excluded_axes = set->exclusive_axes;
    for (int i = 0; i < s->by->count; i++)
        if (s->by->axes[i].axis >= 0 && s->by->axes[i].axis < s->task->axes)
            excluded_axes &= ~(1u << s->by->axes[i].axis);
    for (int axis = 0; excluded_axes != 0 && axis < s->task->axes; axis++)
        if (excluded_axes >> axis & 1 && value[axis] != LH_NO_VALUE) return false;
    return true;
}

static bool is_trained(const lh_groups *groups, lh_set set, int64_t index) {
    return groups->trained[set] != NULL && groups->trained[set][index * groups->stride] == 1;
}

/* Appends the requested examples of a set to the candidates. */
static void gather_set(selection *s, lh_set set_index) {
    const lh_dataset *set = lh_corpus_get_set(s->corpus, set_index);
    for (int n = 1; n <= s->corpus->shapes; n++)
        for (int64_t index = set->first[n - 1]; index < set->first[n]; index++) {
            candidate *c = &s->candidates[s->count];
            *c = (candidate){
                .set = set_index, .index = (uint32_t)index, .index_in_shape = (uint32_t)(index - set->first[n - 1])};
            s->count += is_eligible(s, set, index) && is_requested(s, set, n, index, c->value);
        }
}

/* Divides the sorted candidates into groups that are not empty. */
static void divide_into_groups(selection *s) {
    lh_groups *groups = s->groups;
    int64_t written = 0;
    for (int64_t i = 0; i < s->count; i++) {
        const candidate *c = &s->candidates[i];
        lh_group *last = groups->count > 0 ? &groups->group[groups->count - 1] : NULL;
        if (last == NULL || last->set != c->set || memcmp(last->value, c->value, sizeof c->value) != 0) {
            /* A new group overwrites an empty last group. */
            if (last == NULL || last->count > 0) last = &groups->group[groups->count++];
            *last = (lh_group){.set = c->set, .first = written};
            memcpy(last->value, c->value, sizeof c->value);
        }
        if (groups->leaves_out_trained && is_trained(groups, c->set, c->index)) {
            last->left_out++;
            continue;
        }
        last->total = ++last->count;
        groups->indices[written] = c->index;
        groups->indices_in_shape[written++] = c->index_in_shape;
    }
    if (groups->count > 0 && groups->group[groups->count - 1].count == 0) groups->count--;
}

/* The path of the first requested set, for messages. */
static const char *get_first_path(const selection *s) {
    int set = 0;
    while (!(s->groups->sets >> set & 1)) set++;
    return lh_corpus_get_set(s->corpus, (lh_set)set)->path;
}

static lh_status check_found(const selection *s, lh_error *error) {
    if (s->count == 0 && s->by->count == 1 && s->by->axes[0].axis == LH_BY_LENGTH)
        return lh_fail(error, LH_ERR_INPUT,
                       "lengths: %s has no example with an input of these lengths\n  expected: lengths from %d to %d",
                       get_first_path(s), s->lowest, s->highest);
    if (s->count == 0)
        return lh_fail(error, LH_ERR_INPUT, "eval.by: no example of %s has any of these values", get_first_path(s));
    if (s->groups->count == 0)
        return lh_fail(error, LH_ERR_INPUT,
                       "eval.novel: every example of %s that eval.by requests is also a training example\n"
                       "  hint: eval.novel = false evaluates these examples",
                       get_first_path(s));
    if (s->has_value) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT, "eval.by: no example of these sets has a value on %s", s->groups->name[0]);
}

static lh_status group_candidates(selection *s, lh_error *error) {
    lh_groups *groups = s->groups;
    int64_t capacity = 1;
    for (int set = 0; set < LH_SETS; set++)
        if (groups->sets >> set & 1) capacity += lh_corpus_get_set(s->corpus, (lh_set)set)->count;
    s->candidates = calloc((size_t)capacity, sizeof *s->candidates);
    groups->group = calloc((size_t)capacity, sizeof *groups->group);
    groups->indices = calloc((size_t)capacity, sizeof *groups->indices);
    groups->indices_in_shape = calloc((size_t)capacity, sizeof *groups->indices_in_shape);
    if (s->candidates == NULL || groups->group == NULL || groups->indices == NULL || groups->indices_in_shape == NULL)
        return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for the groups of examples");
    for (int set = 0; set < LH_SETS; set++)
        if (groups->sets >> set & 1) gather_set(s, (lh_set)set);
    qsort_r(s->candidates, (size_t)s->count, sizeof *s->candidates, compare_candidates, &groups->axes);
    divide_into_groups(s);
    return check_found(s, error);
}

/* Chooses the requested sets; by default the held-out sets or, if there are none, the training set. */
static lh_status choose_sets(lh_groups *groups, const lh_corpus *corpus, unsigned requested, lh_error *error) {
    unsigned available = 0;
    for (int set = 0; set < LH_SETS; set++)
        available |= (unsigned)(lh_corpus_get_set(corpus, (lh_set)set) != NULL) << set;
    unsigned held_out = available & ~(1u << LH_SET_TRAIN);
    groups->sets = requested != 0 ? requested : held_out != 0 ? held_out : available;
    for (int set = 0; set < LH_SETS; set++)
        if (groups->sets >> set & 1 && !(available >> set & 1))
            return lh_fail(error, LH_ERR_INPUT,
                           "eval.splits: there are no examples for %s\n  expected: a file of such examples (task.%s)",
                           lh_set_name[set], set == LH_SET_VALIDATION ? "validation" : "eval");
    return LH_OK;
}

/* The greatest value of a training example on an axis. */
static int32_t find_max_value(const lh_corpus *corpus, int axes, int axis) {
    const lh_dataset *set = &corpus->train;
    int32_t max_value = LH_NO_VALUE;
    for (int i = 0; axis == LH_BY_LENGTH && i < corpus->train_shape_count; i++) {
        int32_t input = corpus->sizes[corpus->train_shapes[i] - 1].input;
        if (input > max_value) max_value = input;
    }
    for (int64_t i = 0; axis >= 0 && axis < axes && i < set->count; i++)
        if (set->values[i * axes + axis] > max_value) max_value = set->values[i * axes + axis];
    return max_value;
}

/* Finds the values of held-out sets on the task's axis `trained`, if the task has this axis.
 * with_trained: groups include examples with the value 1 (eval.novel = false). */
static void find_trained_values(lh_groups *groups, const lh_corpus *corpus, const lh_task *task, bool with_trained) {
    groups->stride = task->axes;
    for (int axis = 0; axis < task->axes; axis++) {
        if (strcmp(task->axis[axis], lh_trained_axis) != 0) continue;
        for (int set = LH_SET_TEST; set < LH_SETS; set++)
            if (lh_corpus_get_set(corpus, (lh_set)set) != NULL) {
                groups->trained[set] = lh_corpus_get_set(corpus, (lh_set)set)->values + axis;
                groups->leaves_out_trained = !with_trained;
            }
    }
}

static const char *get_axis_name(const lh_spec *spec, int axis) {
    return axis == LH_BY_LENGTH ? spec->eval.axis : axis == LH_BY_TRAINED ? lh_trained_axis : spec->task->axis[axis];
}

lh_status lh_groups_open(lh_groups *groups, const lh_corpus *corpus, const lh_spec *spec, const lh_by *by,
                         unsigned sets, lh_error *error) {
    static const lh_by length = {.count = 1, .axes = {{.axis = LH_BY_LENGTH, .all = true}}};
    selection s = {
        .groups = groups,
        .corpus = corpus,
        .task = spec->task,
        .by = by->count > 0 ? by : &length,
        .lowest = INT32_MAX,
    };
    memset(groups, 0, sizeof *groups);
    groups->axes = s.by->count;
    for (int i = 0; i < s.by->count; i++) {
        groups->name[i] = get_axis_name(spec, s.by->axes[i].axis);
        groups->reach[i] = find_max_value(corpus, spec->task->axes, s.by->axes[i].axis);
    }
    find_trained_values(groups, corpus, spec->task, spec->eval.with_trained);
    lh_status status = choose_sets(groups, corpus, sets, error);
    if (status == LH_OK) status = group_candidates(&s, error);
    free(s.candidates);
    return status;
}

void lh_groups_close(lh_groups *groups) {
    free(groups->group);
    free(groups->indices);
    free(groups->indices_in_shape);
    memset(groups, 0, sizeof *groups);
}

double lh_group_compute_trained_share(const lh_groups *groups, const lh_group *group) {
    int64_t count = 0;
    if (groups->trained[group->set] == NULL) return -1;
    if (groups->leaves_out_trained) return (double)group->left_out / (double)(group->left_out + group->total);
    for (int64_t i = group->first; i < group->first + group->count; i++)
        count += is_trained(groups, group->set, groups->indices[i]);
    return (double)count / (double)group->count;
}

bool lh_is_group_beyond(const lh_groups *groups, const lh_group *group, int axis) {
    return groups->reach[axis] != LH_NO_VALUE && group->value[axis] > groups->reach[axis];
}

uint32_t lh_group_compute_number(const lh_groups *groups, const lh_group *group) {
    uint32_t number = (uint32_t)group->value[0];
    for (int i = 1; i < groups->axes; i++) number = number * 0x9e3779b1u + (uint32_t)group->value[i];
    return number;
}
