/* Attention of reference networks; see network.h and tape.h. */
#include <math.h>
#include <stdlib.h>

#include "kernels/ref/tape.h"

static const lh_ref_family *family_of(const run *r, const record *at) {
    return &r->model->network->families[at->op->family];
}

/* The number of keys. */
static int keys_of(const record *at) { return read(at, 1)->rows; }

/* The positions of the attention's family; NULL: the batch has positions for all families. */
static const lh_ref_places *places_of(const run *r, const record *at) {
    return r->batch->places ? &r->batch->places[at->op->family] : NULL;
}

/* The row of `places` for an attention. */
static int row_of(const lh_ref_places *places, const record *at) { return places->layers > 1 ? at->use : 0; }

/* Distances [query][key]; NULL: key - query. */
static const int32_t *distances_of(const run *r, const record *at) {
    const lh_ref_places *places = places_of(r, at);
    if (!places) return r->batch->distances;
    return places->distances ? places->distances + row_of(places, at) * out_of(at)->rows * keys_of(at) : NULL;
}

static int distance_of(const run *r, const record *at, int query, int key) {
    const int32_t *distances = distances_of(r, at);
    return distances ? distances[query * keys_of(at) + key] : key - query;
}

/* The row of Shaw's table. */
static int table_row(const run *r, const record *at, int query, int key) {
    int clip = family_of(r, at)->clip, farthest = family_of(r, at)->farthest;
    int distance = distance_of(r, at, query, key);
    return (int)fmin(fmax(distance, -clip), farthest) + clip;
}

/* Sets kept.relative, the vector of every pair. */
static void make_relative(const run *r, record *at) {
    const lh_ref_family *family = family_of(r, at);
    int T = out_of(at)->rows, S = keys_of(at), C = out_of(at)->width, D = C / family->heads;
    double *sinusoid = doubles((size_t)C);
    const double *table = value_of(at, LH_REF_RELATIVE);
    at->kept.relative = doubles((size_t)T * (size_t)S * (size_t)C);
    for (int pair = 0; pair < T * S; pair++) {
        double *row = at->kept.relative + (size_t)pair * (size_t)C;
        if (family->relative == LH_REF_TRANSFORMER_XL) {
            lh_ref_sinusoid(C, distance_of(r, at, pair / S, pair % S), sinusoid);
            lh_ref_matmul(1, C, C, sinusoid, table, NULL, row);
        } else {
            for (int c = 0; c < C; c++) row[c] = table[table_row(r, at, pair / S, pair % S) * D + c % D];
        }
    }
    free(sinusoid);
}

/* Converts the gradients of all pairs' vectors to gradients of the map or the table. */
static void relative_grad(const run *r, const record *at, const double *drelative) {
    const lh_ref_family *family = family_of(r, at);
    int T = out_of(at)->rows, S = keys_of(at), C = out_of(at)->width, D = C / family->heads;
    double *sinusoid = doubles((size_t)C), *table = gradient_of(at, LH_REF_RELATIVE);
    for (int pair = 0; pair < T * S; pair++) {
        const double *drow = drelative + (size_t)pair * (size_t)C;
        if (family->relative == LH_REF_TRANSFORMER_XL) {
            lh_ref_sinusoid(C, distance_of(r, at, pair / S, pair % S), sinusoid);
            lh_ref_matmul_weight_grad(1, C, C, sinusoid, drow, table, NULL);
        } else {
            for (int c = 0; c < C; c++) table[table_row(r, at, pair / S, pair % S) * D + c % D] += drow[c];
        }
    }
    free(sinusoid);
}

static bool in_window(const lh_ref_family *family, int query, int key) {
    return !(family->left >= 0 && query - key > family->left) && !(family->right >= 0 && key - query > family->right);
}

static bool near_antidiagonal(const lh_ref_family *family, int query, int key, int S) {
    if (family->stride == 0) return true;
    int first = S - family->stride * (query + 1), last = S - 1 - family->stride * query;
    return key >= first - family->width && key <= last + (family->left_only ? 0 : family->width);
}

static bool on_line(const lh_ref_family *family, const lh_ref_line *line, int query, int key, int S) {
    if (line->direction == 1) return key - query == line->line;
    if (line->direction == -1) return S - 1 - (query + key) == line->line;
    return (family->from_right ? S - 1 - key : key) == line->line;
}

static bool has_corner(const lh_ref_family *family, int head) {
    int own = 0;
    for (int e = 0; e < family->line_count; e++) own += family->lines[e].head == head;
    return family->corner == LH_REF_ALL_HEADS || (family->corner == LH_REF_WITH_LINES && own > 0);
}

/* Whether the family's mask consists of lines or a corner. */
static bool has_lines(const lh_ref_family *family) {
    return family->line_count > 0 || family->corner == LH_REF_ALL_HEADS;
}

/* The value that lines add to the logit of a pair; minus infinity: no line opens the pair. */
static double line_value(const lh_ref_family *family, int head, int query, int key, int S) {
    double value = -INFINITY;
    if (query == 0 && key == S - 1 && has_corner(family, head)) return 0;
    for (int e = 0; e < family->line_count; e++) {
        const lh_ref_line *line = &family->lines[e];
        if (line->head == head && on_line(family, line, query, key, S)) value = fmax(value, line->value);
    }
    return value;
}

/* Whether the mask opens a pair, before a query without open keys gets all keys. */
static bool opened(const lh_ref_family *family, int head, int query, int key, int S) {
    return in_window(family, query, key) && near_antidiagonal(family, query, key, S) &&
           !(family->causal && key > query) &&
           !(has_lines(family) && line_value(family, head, query, key, S) == -INFINITY);
}

/* The value that the mask adds to the logit of a pair: a query sees its open keys, or all keys if none is open. */
static double mask_value(const lh_ref_family *family, int head, int query, int key, int S) {
    int open_keys = 0;
    for (int j = 0; j < S; j++) open_keys += opened(family, head, query, j, S);
    if (open_keys == 0) return family->causal && key > query ? -INFINITY : 0;
    if (!opened(family, head, query, key, S)) return -INFINITY;
    return has_lines(family) ? line_value(family, head, query, key, S) : 0;
}

static const double *given_score(const run *r, const record *at) {
    const lh_ref_places *places = places_of(r, at);
    if (!family_of(r, at)->scored) return NULL;
    if (places && places->score)
        return places->score + row_of(places, at) * family_of(r, at)->heads * out_of(at)->rows * keys_of(at);
    return r->batch->scores ? r->batch->scores[at->op->family] : r->batch->score;
}

/* Sets kept.score: the batch's score, and -infinity where the mask hides a key. */
static void make_score(const run *r, record *at) {
    const lh_ref_family *family = family_of(r, at);
    int T = out_of(at)->rows, S = keys_of(at);
    const double *score = given_score(r, at);
    bool masked = family->left >= 0 || family->right >= 0 || family->stride > 0 || has_lines(family);
    if (!score && !masked) return;
    at->kept.score = doubles((size_t)family->heads * (size_t)T * (size_t)S);
    for (int pair = 0; pair < family->heads * T * S; pair++)
        at->kept.score[pair] = mask_value(family, pair / S / T, pair / S % T, pair % S, S) + (score ? score[pair] : 0);
}

/* Sets kept.keep if weights have dropout; the element of a head's query and key is its index in [heads][query][key]. */
static void make_keep(const run *r, record *at, size_t pairs) {
    if (at->op->rate <= 0) return;
    at->kept.keep = doubles(pairs);
    for (size_t i = 0; i < pairs; i++) at->kept.keep[i] = 1;
    lh_ref_drop_at(r, at, pairs, at->kept.keep, at->kept.keep);
}

static lh_ref_attention softmax_of(const run *r, const record *at) {
    const lh_ref_family *family = family_of(r, at);
    const attended *kept = &at->kept;
    return (lh_ref_attention){.tokens = out_of(at)->rows,
                              .keys = keys_of(at),
                              .heads = family->heads,
                              .head_width = out_of(at)->width / family->heads,
                              .cosine = kept->cosine,
                              .sine = kept->sine,
                              .key_cosine = kept->key_cosine,
                              .key_sine = kept->key_sine,
                              .relative = kept->relative,
                              .content_bias = value_of(at, LH_REF_CONTENT_BIAS),
                              .position_bias = value_of(at, LH_REF_POSITION_BIAS),
                              .score = kept->score,
                              .temperature = family->temperature,
                              .keep = kept->keep,
                              .logits = kept->logits};
}

static lh_ref_geometric geometric_of(const run *r, const record *at) {
    const lh_ref_family *family = family_of(r, at);
    const double *direction_scale = value_of(at, LH_REF_DIRECTION_SCALE);
    return (lh_ref_geometric){.tokens = out_of(at)->rows,
                              .heads = family->heads,
                              .head_width = out_of(at)->width / family->heads,
                              .normalised = family->normalised,
                              .content_bias = value_of(at, LH_REF_CONTENT_BIAS),
                              .direction = read(at, 2) ? read(at, 2)->x : NULL,
                              .scale = *value_of(at, LH_REF_LOGIT_SCALE),
                              .direction_scale = direction_scale ? *direction_scale : 0,
                              .offset = *value_of(at, LH_REF_LOGIT_OFFSET),
                              .logits = at->kept.logits};
}

/* The column of the first key channel: keys follow the queries if both are in the same rows. */
static int first_key(const record *at) { return at->op->x[0] == at->op->x[1] ? out_of(at)->width : 0; }

static void rotation_at(const run *r, const record *at, int rows, const int32_t *positions, double **cosine,
                        double **sine) {
    const lh_ref_family *family = family_of(r, at);
    int D = out_of(at)->width / family->heads;
    *cosine = doubles((size_t)rows * (size_t)D);
    *sine = doubles((size_t)rows * (size_t)D);
    int32_t *cyclic = malloc((size_t)rows * sizeof *cyclic);
    if (!cyclic) abort();
    for (int t = 0; t < rows; t++) cyclic[t] = family->period > 0 ? positions[t] % family->period : positions[t];
    lh_ref_rotation(rows, D, &family->rotation, cyclic, *cosine, *sine);
    free(cyclic);
}

static void make_rotation(const run *r, record *at) {
    const lh_ref_places *places = places_of(r, at);
    attended *kept = &at->kept;
    int T = out_of(at)->rows, S = keys_of(at);
    if (places) {
        int row = row_of(places, at);
        rotation_at(r, at, T, places->query + row * T, &kept->cosine, &kept->sine);
        rotation_at(r, at, S, places->key + row * S, &kept->key_cosine, &kept->key_sine);
    } else {
        const int32_t *positions = r->batch->positions + (r->batch->draws > 1 ? at->layer * r->batch->tokens : 0);
        rotation_at(r, at, T > S ? T : S, positions, &kept->cosine, &kept->sine);
    }
}

void lh_ref_attention_forward(run *r, record *at) {
    const lh_ref_family *family = family_of(r, at);
    node *q = read(at, 0), *kv = read(at, 1), *out = out_of(at);
    attended *kept = &at->kept;
    int C = out->width, key = first_key(at);
    size_t pairs = (size_t)family->heads * (size_t)q->rows * (size_t)kv->rows;
    kept->q = take_columns(q->rows, q->width, 0, C, q->x);
    kept->k = take_columns(kv->rows, kv->width, key, C, kv->x);
    kept->v = take_columns(kv->rows, kv->width, key + C, C, kv->x);
    kept->weights = doubles(pairs);
    kept->logits = doubles(pairs);
    if (family->geometric) {
        lh_ref_geometric shape = geometric_of(r, at);
        lh_ref_geometric_attend(&shape, kept->q, kept->k, kept->v, kept->weights, out->x);
        return;
    }
    if (family->rotates) make_rotation(r, at);
    if (family->relative != LH_REF_NO_RELATIVE) make_relative(r, at);
    make_score(r, at);
    make_keep(r, at, pairs);
    lh_ref_attention shape = softmax_of(r, at);
    lh_ref_attend(&shape, kept->q, kept->k, kept->v, kept->weights, out->x);
}

static void geometric_grad(run *r, record *at, double *dq, double *dk, double *dv) {
    const attended *kept = &at->kept;
    lh_ref_geometric shape = geometric_of(r, at);
    lh_ref_geometric_grad grad = {.content_bias = gradient_of(at, LH_REF_CONTENT_BIAS),
                                  .direction = read(at, 2) ? read(at, 2)->d : NULL};
    lh_ref_geometric_attend_grad(&shape, kept->q, kept->k, kept->v, out_of(at)->d, dq, dk, dv, &grad);
    *gradient_of(at, LH_REF_LOGIT_SCALE) += grad.scale;
    *gradient_of(at, LH_REF_LOGIT_OFFSET) += grad.offset;
    if (grad.direction) *gradient_of(at, LH_REF_DIRECTION_SCALE) += grad.direction_scale;
}

static void softmax_grad(run *r, record *at, double *dq, double *dk, double *dv) {
    const attended *kept = &at->kept;
    lh_ref_attention shape = softmax_of(r, at);
    size_t pairs = (size_t)shape.tokens * (size_t)shape.keys;
    lh_ref_pair_grad grad = {.relative = shape.relative ? doubles(pairs * (size_t)out_of(at)->width) : NULL,
                             .content_bias = gradient_of(at, LH_REF_CONTENT_BIAS),
                             .position_bias = gradient_of(at, LH_REF_POSITION_BIAS),
                             .score = family_of(r, at)->scored ? r->batch->score_gradient : NULL};
    lh_ref_attend_grad(&shape, kept->q, kept->k, kept->v, kept->weights, out_of(at)->d, dq, dk, dv, &grad);
    if (shape.relative) relative_grad(r, at, grad.relative);
    free(grad.relative);
}

void lh_ref_attention_backward(run *r, record *at) {
    node *q = read(at, 0), *kv = read(at, 1), *out = out_of(at);
    int C = out->width, key = first_key(at);
    size_t keys = (size_t)kv->rows * (size_t)C;
    double *dq = doubles(count_of(out)), *dk = doubles(keys), *dv = doubles(keys);
    if (family_of(r, at)->geometric) geometric_grad(r, at, dq, dk, dv);
    else softmax_grad(r, at, dq, dk, dv);
    add_columns(q->rows, q->width, 0, C, dq, q->d);
    add_columns(kv->rows, kv->width, key, C, dk, kv->d);
    add_columns(kv->rows, kv->width, key + C, C, dv, kv->d);
    free(dq);
    free(dk);
    free(dv);
}
