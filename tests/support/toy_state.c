/* See toy_state.h. */
#include "toy_state.h"

#include "lh_test.h"

#include <stdlib.h>

#include "base/safetensors.h"

const lh_checkpoint_facts toy_facts = {
    .level = "x86-64-v3", .compiler = "gcc 12.2.0", .step = 10, .seed = UINT64_MAX, .learning_rate = 3e-4};

static bool covers(const lh_tensor *tensor, int64_t index) {
    int64_t rows = tensor->rank == 2 ? tensor->shape[0] : 1, columns = tensor->shape[tensor->rank - 1];
    int64_t row = (index - tensor->offset) / tensor->stride, column = (index - tensor->offset) % tensor->stride;
    return index >= tensor->offset && row < rows && column < columns;
}

/* Whether a tensor covers this element. is_learned: tensors that are not learned are left out. */
static bool is_covered(int64_t index, bool is_learned) {
    for (int t = 0; t < TOY_TENSORS; t++)
        if (covers(&lh_toy_spec.tensors[t], index) && (!is_learned || lh_toy_spec.tensors[t].learned)) return true;
    return false;
}

toy_state *toy_make_state(void) {
    toy_state *v = calloc(1, sizeof *v);
    assert_non_null(v);
    v->state = (lh_state){.real_bytes = 4, .parameters = v->values[0], .optimizer = {v->values[1], v->values[2]}};
    return v;
}

toy_state *toy_make_filled_state(float shift) {
    toy_state *v = toy_make_state();
    for (int i = 0; i < 3; i++)
        for (int64_t index = 0; index < TOY_STORAGE; index++)
            if (is_covered(index, i > 0)) v->values[i][index] = shift + (float)(i * TOY_STORAGE + (int)index + 1);
    return v;
}

void toy_write_parameters(const char *path, int skip, int change, const char *extra) {
    static const float zeros[256];
    lh_error error;
    lh_st_tensor list[TOY_TENSORS + 1];
    int count = 0;
    for (int t = 0; t < TOY_TENSORS; t++) {
        const lh_tensor *tensor = &lh_toy_spec.tensors[t];
        if (t == skip) continue;
        lh_st_tensor *entry = &list[count++];
        *entry = (lh_st_tensor){.name = tensor->name, .dtype = "F32", .rank = tensor->rank, .data = zeros};
        for (int i = 0; i < tensor->rank; i++) entry->shape[i] = tensor->shape[i];
        if (t == change) entry->shape[0]--;
        entry->bytes = 4;
        for (int i = 0; i < tensor->rank; i++) entry->bytes *= (size_t)entry->shape[i];
    }
    if (extra) list[count++] = (lh_st_tensor){.name = extra, .dtype = "F32", .data = zeros, .bytes = 4};
    lh_assert_ok(lh_st_write(path, list, count, NULL, 0, &error), &error);
}
