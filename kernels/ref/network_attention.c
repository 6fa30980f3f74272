/* Attention of reference networks; see network.h and tape.h. */
#include <math.h>
#include <stdlib.h>

#include "kernels/ref/tape.h"

static const lh_ref_family *get_family(const run *r, const tape_entry *entry) {
    return &r->model->network->families[entry->op->family];
}

static int count_keys(const tape_entry *entry) { return get_input(entry, 1)->rows; }

/* Returns the positions of the attention's family; NULL: the batch's positions and distances apply. */
static const lh_ref_family_positions *get_family_positions(const run *r, const tape_entry *entry) {
    return r->batch->family_positions ? &r->batch->family_positions[entry->op->family] : NULL;
}

/* Returns the row of `positions` for an attention: the index of the block's repetition, or 0 if all layers share a
 * row. */
static int choose_row(const lh_ref_family_positions *positions, const tape_entry *entry) {
    return positions->layers > 1 ? entry->repetition : 0;
}

/* Returns distances [query][key]; NULL: every distance is key - query. */
static const int32_t *get_distances(const run *r, const tape_entry *entry) {
    const lh_ref_family_positions *positions = get_family_positions(r, entry);
    if (!positions) return r->batch->distances;
    return positions->distances
               ? positions->distances + choose_row(positions, entry) * get_output(entry)->rows * count_keys(entry)
               : NULL;
}

static int get_distance(const run *r, const tape_entry *entry, int query, int key) {
    const int32_t *distances = get_distances(r, entry);
    return distances ? distances[query * count_keys(entry) + key] : key - query;
}

/* Returns the row of Shaw's table for a pair: the row of its distance, limited to -clip .. farthest. */
static int choose_table_row(const run *r, const tape_entry *entry, int query, int key) {
    int clip = get_family(r, entry)->clip, farthest = get_family(r, entry)->farthest;
    int distance = get_distance(r, entry, query, key);
    return (int)fmin(fmax(distance, -clip), farthest) + clip;
}

/* Sets attention.relative, the vectors of all pairs. */
static void make_relative(const run *r, tape_entry *entry) {
    const lh_ref_family *family = get_family(r, entry);
    int T = get_output(entry)->rows, S = count_keys(entry), C = get_output(entry)->width, D = C / family->heads;
    double *sinusoid = allocate_doubles((size_t)C);
    const double *table = get_parameter(entry, LH_REF_RELATIVE);
    entry->attention.relative = allocate_doubles((size_t)T * (size_t)S * (size_t)C);
    for (int pair = 0; pair < T * S; pair++) {
        double *row = entry->attention.relative + (size_t)pair * (size_t)C;
        if (family->relative == LH_REF_TRANSFORMER_XL) {
            lh_ref_sinusoid(C, get_distance(r, entry, pair / S, pair % S), sinusoid);
            lh_ref_matmul(1, C, C, sinusoid, table, NULL, row);
        } else {
            for (int c = 0; c < C; c++) row[c] = table[choose_table_row(r, entry, pair / S, pair % S) * D + c % D];
        }
    }
    free(sinusoid);
}

/* Adds the gradients of all pairs' vectors to the gradient of Transformer-XL's projection or of Shaw's table. */
static void add_relative_grad(const run *r, const tape_entry *entry, const double *drelative) {
    const lh_ref_family *family = get_family(r, entry);
    int T = get_output(entry)->rows, S = count_keys(entry), C = get_output(entry)->width, D = C / family->heads;
    double *sinusoid = allocate_doubles((size_t)C), *table = get_gradient(entry, LH_REF_RELATIVE);
    for (int pair = 0; pair < T * S; pair++) {
        const double *drow = drelative + (size_t)pair * (size_t)C;
        if (family->relative == LH_REF_TRANSFORMER_XL) {
            lh_ref_sinusoid(C, get_distance(r, entry, pair / S, pair % S), sinusoid);
            lh_ref_matmul_weight_grad(1, C, C, sinusoid, drow, table, NULL);
        } else {
            for (int c = 0; c < C; c++) table[choose_table_row(r, entry, pair / S, pair % S) * D + c % D] += drow[c];
        }
    }
    free(sinusoid);
}

/* Whether the limits `left` and `right` let a query see a key. */
static bool is_in_window(const lh_ref_family *family, int query, int key) {
    return (family->left < 0 || query - key <= family->left) && (family->right < 0 || key - query <= family->right);
}

/* Whether the mask of an anti-diagonal (lh_ref_family.stride) lets a query see a key. */
static bool is_near_antidiagonal(const lh_ref_family *family, int query, int key, int S) {
    if (family->stride == 0) return true;
    int first = S - family->stride * (query + 1), last = S - 1 - family->stride * query;
    return key >= first - family->width && key <= last + (family->left_only ? 0 : family->width);
}

static bool is_on_line(const lh_ref_family *family, const lh_ref_line *line, int query, int key, int S) {
    if (line->direction == 1) return key - query == line->number;
    if (line->direction == -1) return S - 1 - (query + key) == line->number;
    return (family->from_right ? S - 1 - key : key) == line->number;
}

/* Whether the head's mask has the corner: the pair of the first query and the last key. */
static bool has_corner(const lh_ref_family *family, int head) {
    int head_lines = 0;
    for (int e = 0; e < family->line_count; e++) head_lines += family->lines[e].head == head;
    return family->corner == LH_REF_ALL_HEADS || (family->corner == LH_REF_WITH_LINES && head_lines > 0);
}

/* Whether the family's mask consists of lines or a corner. */
static bool has_lines(const lh_ref_family *family) {
    return family->line_count > 0 || family->corner == LH_REF_ALL_HEADS;
}

/* Returns the value that lines add to the logit of a pair; -infinity: the pair is on no line. */
static double get_line_value(const lh_ref_family *family, int head, int query, int key, int S) {
    double value = -INFINITY;
    if (query == 0 && key == S - 1 && has_corner(family, head)) return 0;
    for (int e = 0; e < family->line_count; e++) {
        const lh_ref_line *line = &family->lines[e];
        if (line->head == head && is_on_line(family, line, query, key, S)) value = fmax(value, line->value);
    }
    return value;
}

/* Whether a key is open for a query: each part of the mask shows the key. */
static bool is_open(const lh_ref_family *family, int head, int query, int key, int S) {
    return is_in_window(family, query, key) && is_near_antidiagonal(family, query, key, S) &&
           !(family->causal && key > query) &&
           !(has_lines(family) && get_line_value(family, head, query, key, S) == -INFINITY);
}

/* Returns the value that the mask adds to the logit of a pair. A query without open keys sees all keys, or with
 * `causal` all keys up to its own. */
static double get_mask_value(const lh_ref_family *family, int head, int query, int key, int S) {
    int open_keys = 0;
    for (int j = 0; j < S; j++) open_keys += is_open(family, head, query, j, S);
    if (open_keys == 0) return family->causal && key > query ? -INFINITY : 0;
    if (!is_open(family, head, query, key, S)) return -INFINITY;
    return has_lines(family) ? get_line_value(family, head, query, key, S) : 0;
}

/* Returns the batch's score [heads][query][key] for an attention, or NULL. */
static const double *get_batch_score(const run *r, const tape_entry *entry) {
    const lh_ref_family_positions *positions = get_family_positions(r, entry);
    if (!get_family(r, entry)->has_score) return NULL;
    if (positions && positions->score)
        return positions->score +
               choose_row(positions, entry) * get_family(r, entry)->heads * get_output(entry)->rows * count_keys(entry);
    return r->batch->scores ? r->batch->scores[entry->op->family] : r->batch->score;
}

static lh_ref_cope describe_cope(const run *r, const tape_entry *entry) {
    const lh_ref_family *family = get_family(r, entry);
    return (lh_ref_cope){.tokens = get_output(entry)->rows,
                         .heads = family->heads,
                         .head_width = get_output(entry)->width / family->heads,
                         .rows = get_tensor(entry, LH_REF_RELATIVE)->rows,
                         .divided = family->divided,
                         .table = get_parameter(entry, LH_REF_RELATIVE),
                         .mistake = family->cope_mistake};
}

static lh_ref_grape describe_grape(const run *r, const tape_entry *entry) {
    const lh_ref_family *family = get_family(r, entry);
    return (lh_ref_grape){.tokens = get_output(entry)->rows,
                          .heads = family->heads,
                          .head_width = get_output(entry)->width / family->heads,
                          .key_vector = get_parameter(entry, LH_REF_KEY_VECTOR),
                          .query_vector = get_parameter(entry, LH_REF_QUERY_VECTOR),
                          .strength = get_parameter(entry, LH_REF_STRENGTH),
                          .mistake = family->grape_mistake};
}

static lh_ref_row_sums describe_row_sums(const run *r, const tape_entry *entry) {
    const lh_ref_family *family = get_family(r, entry);
    return (lh_ref_row_sums){.tokens = get_output(entry)->rows,
                             .heads = family->heads,
                             .head_width = get_output(entry)->width / family->heads,
                             .sharpness = get_parameter(entry, LH_REF_SHARPNESS),
                             .slope = get_parameter(entry, LH_REF_SLOPE),
                             .mistake = family->sums_mistake};
}

/* Whether the logits of the family contain terms that are computed from queries, keys or gates. */
static bool has_terms(const lh_ref_family *family) {
    return family->gate_sign != 0 || family->relative == LH_REF_COPE || family->has_grape || family->sums_rows;
}

/* Sets attention.score to the sum of the batch's score, the mask's values and the terms. Without these,
 * attention.score stays NULL. */
static void make_score(const run *r, tape_entry *entry) {
    const lh_ref_family *family = get_family(r, entry);
    int T = get_output(entry)->rows, S = count_keys(entry);
    const double *score = get_batch_score(r, entry);
    bool has_mask = family->left >= 0 || family->right >= 0 || family->stride > 0 || has_lines(family);
    if (!score && !has_mask && !has_terms(family)) return;
    entry->attention.score = allocate_doubles((size_t)family->heads * (size_t)T * (size_t)S);
    for (int pair = 0; pair < family->heads * T * S; pair++)
        entry->attention.score[pair] =
            get_mask_value(family, pair / S / T, pair / S % T, pair % S, S) + (score ? score[pair] : 0);
    if (family->gate_sign != 0)
        lh_ref_forget(T, family->heads, family->gate_sign, get_input(entry, 2)->x, entry->attention.score);
    if (family->relative == LH_REF_COPE) {
        lh_ref_cope cope = describe_cope(r, entry);
        lh_ref_cope_terms(&cope, entry->attention.q, entry->attention.k, entry->attention.score);
    }
    if (family->has_grape) {
        lh_ref_grape grape = describe_grape(r, entry);
        lh_ref_grape_terms(&grape, entry->attention.q, entry->attention.k, entry->attention.score);
    }
    if (family->sums_rows) {
        lh_ref_row_sums sums = describe_row_sums(r, entry);
        lh_ref_row_sum_terms(&sums, entry->attention.q, entry->attention.k, entry->attention.score);
    }
}

/* Sets attention.keep if weights have dropout. */
static void make_keep(const run *r, tape_entry *entry, size_t pairs) {
    if (entry->op->rate <= 0) return;
    entry->attention.keep = allocate_doubles(pairs);
    for (size_t i = 0; i < pairs; i++) entry->attention.keep[i] = 1;
    lh_ref_apply_dropout(r, entry, pairs, entry->attention.keep, entry->attention.keep);
}

static lh_ref_attention describe_softmax(const run *r, const tape_entry *entry) {
    const lh_ref_family *family = get_family(r, entry);
    const attention_values *values = &entry->attention;
    return (lh_ref_attention){.tokens = get_output(entry)->rows,
                              .keys = count_keys(entry),
                              .heads = family->heads,
                              .head_width = get_output(entry)->width / family->heads,
                              .cosine = values->cosine,
                              .sine = values->sine,
                              .rotated_heads = family->rotated_heads,
                              .key_cosine = values->key_cosine,
                              .key_sine = values->key_sine,
                              .relative = values->relative,
                              .content_bias = get_parameter(entry, LH_REF_CONTENT_BIAS),
                              .position_bias = get_parameter(entry, LH_REF_POSITION_BIAS),
                              .score = values->score,
                              .undivided = family->gate_sign < 0, /* CABLE */
                              .temperature = family->temperature,
                              .keep = values->keep,
                              .logits = values->logits};
}

static lh_ref_geometric describe_geometric(const run *r, const tape_entry *entry) {
    const lh_ref_family *family = get_family(r, entry);
    const double *direction_scale = get_parameter(entry, LH_REF_DIRECTION_SCALE);
    return (lh_ref_geometric){.tokens = get_output(entry)->rows,
                              .heads = family->heads,
                              .head_width = get_output(entry)->width / family->heads,
                              .normalised = family->normalised,
                              .content_bias = get_parameter(entry, LH_REF_CONTENT_BIAS),
                              .direction = get_input(entry, 2) ? get_input(entry, 2)->x : NULL,
                              .scale = *get_parameter(entry, LH_REF_LOGIT_SCALE),
                              .direction_scale = direction_scale ? *direction_scale : 0,
                              .offset = *get_parameter(entry, LH_REF_LOGIT_OFFSET),
                              .logits = entry->attention.logits};
}

static lh_ref_stick describe_stick(const run *r, const tape_entry *entry) {
    const lh_ref_family *family = get_family(r, entry);
    return (lh_ref_stick){.tokens = get_output(entry)->rows,
                          .heads = family->heads,
                          .head_width = get_output(entry)->width / family->heads,
                          .own_key = family->own_key,
                          .own_value = family->own_value,
                          .cosine = entry->attention.cosine,
                          .sine = entry->attention.sine,
                          .rotated_heads = family->rotated_heads,
                          .mistake = family->stick_mistake};
}

/* Returns the first column of keys in input 1: behind the queries if input 0 is the same value. */
static int get_first_key_column(const tape_entry *entry) {
    return entry->op->x[0] == entry->op->x[1] ? get_output(entry)->width : 0;
}

/* Allocates and writes the rotation table of positions[rows]. */
static void compute_rotation(const run *r, const tape_entry *entry, int rows, const int32_t *positions, double **cosine,
                             double **sine) {
    const lh_ref_family *family = get_family(r, entry);
    int D = get_output(entry)->width / family->heads;
    size_t count = (size_t)rows * (size_t)(D / 2); /* one rotation for each pair of channels */
    *cosine = allocate_doubles(count);
    *sine = allocate_doubles(count);
    int32_t *cyclic = malloc((size_t)rows * sizeof *cyclic);
    if (!cyclic) abort();
    for (int t = 0; t < rows; t++) cyclic[t] = family->period > 0 ? positions[t] % family->period : positions[t];
    lh_ref_rotation(rows, D, &family->rotation, cyclic, *cosine, *sine);
    free(cyclic);
}

static void make_rotation(const run *r, tape_entry *entry) {
    const lh_ref_family_positions *positions = get_family_positions(r, entry);
    attention_values *values = &entry->attention;
    int T = get_output(entry)->rows, S = count_keys(entry);
    if (positions) {
        int row = choose_row(positions, entry);
        compute_rotation(r, entry, T, positions->query + row * T, &values->cosine, &values->sine);
        compute_rotation(r, entry, S, positions->key + row * S, &values->key_cosine, &values->key_sine);
    } else {
        int row = r->batch->position_rows > 1 ? entry->layer : 0;
        compute_rotation(r, entry, T > S ? T : S, r->batch->positions + row * r->batch->tokens, &values->cosine,
                         &values->sine);
    }
}

void lh_ref_attention_forward(run *r, tape_entry *entry) {
    const lh_ref_family *family = get_family(r, entry);
    node *q = get_input(entry, 0), *kv = get_input(entry, 1), *out = get_output(entry);
    attention_values *values = &entry->attention;
    int C = out->width, key = get_first_key_column(entry);
    size_t pairs = (size_t)family->heads * (size_t)q->rows * (size_t)kv->rows;
    values->q = take_columns(q->rows, q->width, 0, C, q->x);
    values->k = take_columns(kv->rows, kv->width, key, C, kv->x);
    values->v = take_columns(kv->rows, kv->width, key + C, C, kv->x);
    values->weights = allocate_doubles(pairs);
    values->logits = allocate_doubles(pairs);
    if (family->is_geometric) {
        lh_ref_geometric settings = describe_geometric(r, entry);
        lh_ref_geometric_attend(&settings, values->q, values->k, values->v, values->weights, out->x);
        return;
    }
    if (family->rotated_heads > 0) make_rotation(r, entry);
    if (family->breaks_stick) {
        lh_ref_stick settings = describe_stick(r, entry);
        lh_ref_stick_attend(&settings, values->q, values->k, values->v, values->logits, values->weights, out->x);
        return;
    }
    if (family->relative == LH_REF_TRANSFORMER_XL || family->relative == LH_REF_SHAW) make_relative(r, entry);
    make_score(r, entry);
    make_keep(r, entry, pairs);
    lh_ref_attention settings = describe_softmax(r, entry);
    lh_ref_attend(&settings, values->q, values->k, values->v, values->weights, out->x);
}

static void compute_geometric_grad(run *r, tape_entry *entry, double *dq, double *dk, double *dv) {
    const attention_values *values = &entry->attention;
    lh_ref_geometric settings = describe_geometric(r, entry);
    lh_ref_geometric_grad grad = {.content_bias = get_gradient(entry, LH_REF_CONTENT_BIAS),
                                  .direction = get_input(entry, 2) ? get_input(entry, 2)->d : NULL};
    lh_ref_geometric_attend_grad(&settings, values->q, values->k, values->v, get_output(entry)->d, dq, dk, dv, &grad);
    *get_gradient(entry, LH_REF_LOGIT_SCALE) += grad.scale;
    *get_gradient(entry, LH_REF_LOGIT_OFFSET) += grad.offset;
    if (grad.direction) *get_gradient(entry, LH_REF_DIRECTION_SCALE) += grad.direction_scale;
}

static void compute_softmax_grad(run *r, tape_entry *entry, double *dq, double *dk, double *dv) {
    const attention_values *values = &entry->attention;
    lh_ref_attention settings = describe_softmax(r, entry);
    size_t pairs = (size_t)settings.tokens * (size_t)settings.keys;
    const lh_ref_family *family = get_family(r, entry);
    double *dscore = has_terms(family) ? allocate_doubles((size_t)settings.heads * pairs) : NULL;
    lh_ref_pair_grad grad = {.relative =
                                 settings.relative ? allocate_doubles(pairs * (size_t)get_output(entry)->width) : NULL,
                             .content_bias = get_gradient(entry, LH_REF_CONTENT_BIAS),
                             .position_bias = get_gradient(entry, LH_REF_POSITION_BIAS),
                             .score = family->has_score ? r->batch->score_gradient : dscore};
    lh_ref_attend_grad(&settings, values->q, values->k, values->v, values->weights, get_output(entry)->d, dq, dk, dv,
                       &grad);
    if (settings.relative) add_relative_grad(r, entry, grad.relative);
    if (family->gate_sign != 0)
        lh_ref_forget_grad(settings.tokens, settings.heads, family->gate_sign, get_input(entry, 2)->x, dscore,
                           get_input(entry, 2)->d);
    if (family->relative == LH_REF_COPE) {
        lh_ref_cope cope = describe_cope(r, entry);
        lh_ref_cope_grad(&cope, values->q, values->k, dscore, dq, dk, get_gradient(entry, LH_REF_RELATIVE));
    }
    if (family->has_grape) {
        lh_ref_grape grape = describe_grape(r, entry);
        lh_ref_grape_grad grape_grad = {.q = dq,
                                        .k = dk,
                                        .key_vector = get_gradient(entry, LH_REF_KEY_VECTOR),
                                        .query_vector = get_gradient(entry, LH_REF_QUERY_VECTOR),
                                        .strength = get_gradient(entry, LH_REF_STRENGTH)};
        lh_ref_grape_terms_grad(&grape, values->q, values->k, dscore, &grape_grad);
    }
    if (family->sums_rows) {
        lh_ref_row_sums sums = describe_row_sums(r, entry);
        lh_ref_row_sum_grad(&sums, values->q, values->k, dscore, dq, dk, get_gradient(entry, LH_REF_SHARPNESS),
                            get_gradient(entry, LH_REF_SLOPE));
    }
    free(grad.relative);
    free(dscore);
}

void lh_ref_attention_backward(run *r, tape_entry *entry) {
    node *q = get_input(entry, 0), *kv = get_input(entry, 1), *out = get_output(entry);
    int C = out->width, key = get_first_key_column(entry);
    size_t keys = (size_t)kv->rows * (size_t)C;
    double *dq = allocate_doubles(count_elements(out)), *dk = allocate_doubles(keys), *dv = allocate_doubles(keys);
    const attention_values *values = &entry->attention;
    if (get_family(r, entry)->is_geometric) {
        compute_geometric_grad(r, entry, dq, dk, dv);
    } else if (get_family(r, entry)->breaks_stick) {
        lh_ref_stick stick = describe_stick(r, entry);
        lh_ref_stick_attend_grad(&stick, values->q, values->k, values->v, out->d, dq, dk, dv);
    } else {
        compute_softmax_grad(r, entry, dq, dk, dv);
    }
    add_columns(q->rows, q->width, 0, C, dq, q->d);
    add_columns(kv->rows, kv->width, key, C, dk, kv->d);
    add_columns(kv->rows, kv->width, key + C, C, dv, kv->d);
    free(dq);
    free(dk);
    free(dv);
}
