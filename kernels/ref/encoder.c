/* Reference encoder; see encoder.h. One sequence at a time, every intermediate result kept. */
#include "kernels/ref/encoder.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *doubles(size_t count) {
    double *p = calloc(count ? count : 1, sizeof *p);
    if (!p) abort();
    return p;
}

/* ---- tensors ---- */

static void add_tensor(lh_ref_encoder *e, int rows, int columns, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void add_tensor(lh_ref_encoder *e, int rows, int columns, const char *format, ...) {
    lh_ref_tensor *tensor = &e->tensors[e->tensor_count++];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(tensor->name, sizeof tensor->name, format, arguments);
    va_end(arguments);
    tensor->rows = rows;
    tensor->columns = columns;
    tensor->value = doubles((size_t)rows * columns);
    tensor->gradient = doubles((size_t)rows * columns);
}

static void add_relative(lh_ref_encoder *e, int layer) {
    int C = e->sizes.width, H = e->sizes.heads;
    if (e->sizes.relative == LH_REF_TRANSFORMER_XL) {
        add_tensor(e, C, C, "layers.%d.attention.relative.weight", layer);
        add_tensor(e, H, C / H, "layers.%d.attention.relative.content_bias", layer);
        add_tensor(e, H, C / H, "layers.%d.attention.relative.position_bias", layer);
    } else if (e->sizes.relative == LH_REF_SHAW) {
        add_tensor(e, 2 * e->sizes.clip + 1, C / H, "layers.%d.attention.relative.table", layer);
    }
}

static void add_geometric(lh_ref_encoder *e, int layer) {
    int C = e->sizes.width, H = e->sizes.heads;
    add_tensor(e, H, C / H, "layers.%d.attention.geometric.content_bias", layer);
    add_tensor(e, 1, 1, "layers.%d.attention.geometric.scale", layer);
    add_tensor(e, 1, 1, "layers.%d.attention.geometric.offset", layer);
    if (!e->sizes.directional) return;
    add_tensor(e, 1, 1, "layers.%d.attention.direction.scale", layer);
    add_tensor(e, C, 2 * H, "layers.%d.attention.direction.weight", layer);
    add_tensor(e, 1, 2 * H, "layers.%d.attention.direction.bias", layer);
}

static void add_layer(lh_ref_encoder *e, int layer) {
    static const char *const projection[] = {"query", "key", "value", "output"};
    int C = e->sizes.width, F = e->sizes.feedforward;
    for (int i = 0; i < 4; i++) add_tensor(e, C, C, "layers.%d.attention.%s.weight", layer, projection[i]);
    add_relative(e, layer);
    if (e->sizes.geometric) add_geometric(e, layer);
    for (int i = 1; i <= 2; i++) {
        add_tensor(e, 1, C, "layers.%d.norm%d.scale", layer, i);
        add_tensor(e, 1, C, "layers.%d.norm%d.offset", layer, i);
    }
    add_tensor(e, C, F, "layers.%d.feedforward.up.weight", layer);
    add_tensor(e, 1, F, "layers.%d.feedforward.up.bias", layer);
    add_tensor(e, F, C, "layers.%d.feedforward.down.weight", layer);
    add_tensor(e, 1, C, "layers.%d.feedforward.down.bias", layer);
}

lh_ref_encoder *lh_ref_encoder_new(const lh_ref_sizes *sizes) {
    enum { PER_LAYER = 18, OUTSIDE = 4 };
    lh_ref_encoder *e = calloc(1, sizeof *e);
    if (!e) abort();
    e->sizes = *sizes;
    e->tensors = calloc((size_t)sizes->layers * PER_LAYER + OUTSIDE, sizeof *e->tensors);
    if (!e->tensors) abort();
    add_tensor(e, sizes->vocabulary, sizes->width, "embed.token.weight");
    if (sizes->additive == LH_REF_LEARNED) add_tensor(e, sizes->rows, sizes->width, "embed.position.weight");
    for (int l = 0; l < sizes->layers; l++) add_layer(e, l);
    add_tensor(e, sizes->width, sizes->classes, "output.weight");
    add_tensor(e, 1, sizes->classes, "output.bias");
    return e;
}

void lh_ref_encoder_free(lh_ref_encoder *e) {
    if (!e) return;
    for (int i = 0; i < e->tensor_count; i++) {
        free(e->tensors[i].value);
        free(e->tensors[i].gradient);
    }
    free(e->tensors);
    free(e);
}

lh_ref_tensor *lh_ref_encoder_find(const lh_ref_encoder *e, const char *name) {
    for (int i = 0; i < e->tensor_count; i++)
        if (strcmp(e->tensors[i].name, name) == 0) return &e->tensors[i];
    return NULL;
}

void lh_ref_encoder_clear(lh_ref_encoder *e) {
    for (int i = 0; i < e->tensor_count; i++) {
        lh_ref_tensor *tensor = &e->tensors[i];
        memset(tensor->gradient, 0, (size_t)tensor->rows * tensor->columns * sizeof *tensor->gradient);
    }
}

/* "layers.<layer>.<name>", or `name` itself where layer is negative. A misspelt name is a bug: aborts. */
static const lh_ref_tensor *find(const lh_ref_encoder *e, int layer, const char *name) {
    char full[64];
    if (layer < 0) snprintf(full, sizeof full, "%s", name);
    else snprintf(full, sizeof full, "layers.%d.%s", layer, name);
    const lh_ref_tensor *tensor = lh_ref_encoder_find(e, full);
    if (!tensor) abort();
    return tensor;
}

/* y = x W (+ b); bias may be NULL. */
static void linear(int tokens, const lh_ref_tensor *weight, const lh_ref_tensor *bias, const double *x, double *y) {
    lh_ref_matmul(tokens, weight->rows, weight->columns, x, weight->value, bias ? bias->value : NULL, y);
}

/* Adds to the gradients of W and b, and writes dx. */
static void linear_grad(int tokens, const lh_ref_tensor *weight, const lh_ref_tensor *bias, const double *x,
                        const double *dy, double *dx) {
    lh_ref_matmul_weight_grad(tokens, weight->rows, weight->columns, x, dy, weight->gradient,
                              bias ? bias->gradient : NULL);
    lh_ref_matmul_input_grad(tokens, weight->rows, weight->columns, dy, weight->value, dx);
}

static void add(size_t count, double *total, const double *x) {
    for (size_t i = 0; i < count; i++) total[i] += x[i];
}

/* ---- one sequence ---- */

/* What one layer keeps for its backward pass; [T][C] each unless noted. */
typedef struct layer_state {
    double *input, *q, *k, *v;
    double *weights;       /* [heads][T][T] */
    double *mixed;         /* heads side by side, before the output projection */
    double *sum1, *normed; /* h + drop(a), g */
    double *hidden;        /* [T][feedforward] after ReLU */
    double *sum2;          /* g + drop(f) */
    double *cosine, *sine; /* [T][D/2] */
    double *relative;      /* [T][T][C], or NULL */
    double *direction;     /* [T][heads][2], or NULL */
} layer_state;

typedef struct sequence {
    lh_ref_encoder *e;
    const lh_ref_batch *batch;
    int index; /* in the batch */
    layer_state *layers;
    double *h; /* [T][C] the running activation, then its gradient */
} sequence;

static lh_ref_attention attention_of(const sequence *s, int l) {
    const lh_ref_sizes *sizes = &s->e->sizes;
    const layer_state *state = &s->layers[l];
    lh_ref_attention shape = {.tokens = s->batch->tokens,
                              .heads = sizes->heads,
                              .head_width = sizes->width / sizes->heads,
                              .relative = state->relative,
                              .score = s->batch->score};
    if (sizes->rotation) {
        shape.cosine = state->cosine;
        shape.sine = state->sine;
    }
    if (sizes->relative == LH_REF_TRANSFORMER_XL) {
        shape.content_bias = find(s->e, l, "attention.relative.content_bias")->value;
        shape.position_bias = find(s->e, l, "attention.relative.position_bias")->value;
    }
    return shape;
}

static void new_layer_state(const sequence *s, layer_state *state) {
    const lh_ref_sizes *sizes = &s->e->sizes;
    size_t T = (size_t)s->batch->tokens, C = (size_t)sizes->width;
    double **plain[] = {&state->input, &state->q,    &state->k,      &state->v,
                        &state->mixed, &state->sum1, &state->normed, &state->sum2};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) *plain[i] = doubles(T * C);
    state->weights = doubles((size_t)sizes->heads * T * T);
    state->hidden = doubles(T * (size_t)sizes->feedforward);
    state->cosine = doubles(T * C);
    state->sine = doubles(T * C);
    if (sizes->relative != LH_REF_NO_RELATIVE) state->relative = doubles(T * T * C);
    if (sizes->directional) state->direction = doubles(T * (size_t)sizes->heads * 2);
}

static void free_layer_state(layer_state *state) {
    double *all[] = {state->input,  state->q,    state->k,        state->v,        state->weights,
                     state->mixed,  state->sum1, state->normed,   state->hidden,   state->sum2,
                     state->cosine, state->sine, state->relative, state->direction};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* Drops x[T][C] in place at (layer, place); the same on activations and on their gradients. */
static void drop(const sequence *s, int layer, int place, double *x) {
    if (s->batch->dropout <= 0) return;
    uint32_t in_counter = s->batch->evaluates
                              ? lh_site(LH_DOMAIN_EVAL_DROPOUT, s->batch->draw, 2 * (uint32_t)layer + (uint32_t)place)
                              : lh_site(LH_DOMAIN_DROPOUT, (uint32_t)layer, (uint32_t)place);
    lh_ref_dropout site = {s->batch->key, s->batch->step, in_counter, s->batch->dropout};
    lh_ref_drop(&site, s->batch->first_example + (uint32_t)s->index, s->batch->tokens * s->e->sizes.width, x, x);
}

static void embed(sequence *s) {
    const lh_ref_sizes *sizes = &s->e->sizes;
    int T = s->batch->tokens, C = sizes->width;
    const uint16_t *token = s->batch->token + (size_t)s->index * T;
    const double *table = find(s->e, -1, "embed.token.weight")->value;
    double *addend = doubles((size_t)C);
    for (int t = 0; t < T; t++) {
        if (sizes->additive == LH_REF_SINUSOID) lh_ref_sinusoid(C, s->batch->positions[t], addend);
        if (sizes->additive == LH_REF_LEARNED)
            memcpy(addend, find(s->e, -1, "embed.position.weight")->value + s->batch->positions[t] * C,
                   (size_t)C * sizeof *addend);
        for (int c = 0; c < C; c++) s->h[t * C + c] = sqrt(C) * table[token[t] * C + c] + addend[c];
    }
    if (sizes->additive != LH_REF_NONE) drop(s, 0, 0, s->h);
    free(addend);
}

static void embed_grad(sequence *s) {
    const lh_ref_sizes *sizes = &s->e->sizes;
    int T = s->batch->tokens, C = sizes->width;
    const uint16_t *token = s->batch->token + (size_t)s->index * T;
    double *table = find(s->e, -1, "embed.token.weight")->gradient;
    if (sizes->additive != LH_REF_NONE) drop(s, 0, 0, s->h);
    for (int t = 0; t < T; t++)
        for (int c = 0; c < C; c++) table[token[t] * C + c] += sqrt(C) * s->h[t * C + c];
    if (sizes->additive != LH_REF_LEARNED) return;
    double *rows = find(s->e, -1, "embed.position.weight")->gradient;
    for (int t = 0; t < T; t++) add((size_t)C, rows + s->batch->positions[t] * C, s->h + t * C);
}

static int distance_of(const lh_ref_batch *batch, int query, int key) {
    return batch->distances ? batch->distances[query * batch->tokens + key] : key - query;
}

/* The row of Shaw's table. */
static int table_row(const sequence *s, int query, int key) {
    int clip = s->e->sizes.clip, distance = distance_of(s->batch, query, key);
    return (int)fmin(fmax(distance, -clip), clip) + clip;
}

/* state->relative: the vector of every pair. */
static void make_relative(const sequence *s, int l) {
    const lh_ref_sizes *sizes = &s->e->sizes;
    int T = s->batch->tokens, C = sizes->width, D = C / sizes->heads;
    double *sinusoid = doubles((size_t)C);
    for (int pair = 0; pair < T * T; pair++) {
        double *row = s->layers[l].relative + (size_t)pair * C;
        if (sizes->relative == LH_REF_TRANSFORMER_XL) {
            lh_ref_sinusoid(C, distance_of(s->batch, pair / T, pair % T), sinusoid);
            linear(1, find(s->e, l, "attention.relative.weight"), NULL, sinusoid, row);
        } else {
            const double *table = find(s->e, l, "attention.relative.table")->value;
            for (int c = 0; c < C; c++) row[c] = table[table_row(s, pair / T, pair % T) * D + c % D];
        }
    }
    free(sinusoid);
}

/* From the gradients of all pairs' vectors to those of the weight or the table. */
static void relative_grad(const sequence *s, int l, const double *drelative) {
    const lh_ref_sizes *sizes = &s->e->sizes;
    int T = s->batch->tokens, C = sizes->width, D = C / sizes->heads;
    double *sinusoid = doubles((size_t)C), *unused = doubles((size_t)C);
    for (int pair = 0; pair < T * T; pair++) {
        const double *drow = drelative + (size_t)pair * C;
        if (sizes->relative == LH_REF_TRANSFORMER_XL) {
            lh_ref_sinusoid(C, distance_of(s->batch, pair / T, pair % T), sinusoid);
            linear_grad(1, find(s->e, l, "attention.relative.weight"), NULL, sinusoid, drow, unused);
        } else {
            double *table = find(s->e, l, "attention.relative.table")->gradient;
            for (int c = 0; c < C; c++) table[table_row(s, pair / T, pair % T) * D + c % D] += drow[c];
        }
    }
    free(sinusoid);
    free(unused);
}

static lh_ref_geometric geometric_of(const sequence *s, int l) {
    const lh_ref_sizes *sizes = &s->e->sizes;
    lh_ref_geometric shape = {.tokens = s->batch->tokens,
                              .heads = sizes->heads,
                              .head_width = sizes->width / sizes->heads,
                              .normalised = sizes->normalised,
                              .content_bias = find(s->e, l, "attention.geometric.content_bias")->value,
                              .scale = *find(s->e, l, "attention.geometric.scale")->value,
                              .offset = *find(s->e, l, "attention.geometric.offset")->value,
                              .direction = s->layers[l].direction};
    if (sizes->directional) shape.direction_scale = *find(s->e, l, "attention.direction.scale")->value;
    return shape;
}

static void attend_outwards(const sequence *s, int l, double *scores) {
    const lh_ref_encoder *e = s->e;
    const layer_state *state = &s->layers[l];
    if (e->sizes.directional)
        linear(s->batch->tokens, find(e, l, "attention.direction.weight"), find(e, l, "attention.direction.bias"),
               state->input, state->direction);
    lh_ref_geometric shape = geometric_of(s, l);
    shape.logits = scores;
    lh_ref_geometric_attend(&shape, state->q, state->k, state->v, state->weights, state->mixed);
}

/* Writes dq, dk, dv; adds to s->h what the layer's input gets through the directions. */
static void attend_outwards_grad(sequence *s, int l, const double *dmixed, double *dq, double *dk, double *dv) {
    const lh_ref_encoder *e = s->e;
    const layer_state *state = &s->layers[l];
    size_t T = (size_t)s->batch->tokens, count = T * (size_t)e->sizes.width;
    double *ddirection = doubles(T * (size_t)e->sizes.heads * 2), *dx = doubles(count);
    lh_ref_geometric shape = geometric_of(s, l);
    lh_ref_geometric_grad grad = {.content_bias = find(e, l, "attention.geometric.content_bias")->gradient,
                                  .direction = ddirection};
    lh_ref_geometric_attend_grad(&shape, state->q, state->k, state->v, dmixed, dq, dk, dv, &grad);
    *find(e, l, "attention.geometric.scale")->gradient += grad.scale;
    *find(e, l, "attention.geometric.offset")->gradient += grad.offset;
    if (e->sizes.directional) {
        *find(e, l, "attention.direction.scale")->gradient += grad.direction_scale;
        linear_grad((int)T, find(e, l, "attention.direction.weight"), find(e, l, "attention.direction.bias"),
                    state->input, ddirection, dx);
        add(count, s->h, dx);
    }
    free(ddirection);
    free(dx);
}

/* s->h: the layer's input, then its output. */
static void layer_forward(sequence *s, int l) {
    const lh_ref_encoder *e = s->e;
    layer_state *state = &s->layers[l];
    int T = s->batch->tokens, D = e->sizes.width / e->sizes.heads;
    size_t count = (size_t)T * e->sizes.width;
    memcpy(state->input, s->h, count * sizeof *s->h);
    linear(T, find(e, l, "attention.query.weight"), NULL, s->h, state->q);
    linear(T, find(e, l, "attention.key.weight"), NULL, s->h, state->k);
    linear(T, find(e, l, "attention.value.weight"), NULL, s->h, state->v);
    const int32_t *positions = s->batch->positions + (s->batch->draws > 1 ? (size_t)l * T : 0);
    if (e->sizes.rotation) lh_ref_rotation(T, D, e->sizes.rotation, positions, state->cosine, state->sine);
    if (e->sizes.relative != LH_REF_NO_RELATIVE) make_relative(s, l);
    lh_ref_attention shape = attention_of(s, l);
    double *scores = s->batch->observer ? doubles((size_t)e->sizes.heads * T * T) : NULL;
    shape.logits = scores;
    if (e->sizes.geometric) attend_outwards(s, l, scores);
    else lh_ref_attend(&shape, state->q, state->k, state->v, state->weights, state->mixed);

    linear(T, find(e, l, "attention.output.weight"), NULL, state->mixed, state->sum1);
    drop(s, l + 1, 0, state->sum1);
    add(count, state->sum1, s->h);
    lh_ref_layer_norm(T, e->sizes.width, state->sum1, find(e, l, "norm1.scale")->value,
                      find(e, l, "norm1.offset")->value, state->normed);

    linear(T, find(e, l, "feedforward.up.weight"), find(e, l, "feedforward.up.bias"), state->normed, state->hidden);
    lh_ref_relu(T * e->sizes.feedforward, state->hidden, state->hidden);
    linear(T, find(e, l, "feedforward.down.weight"), find(e, l, "feedforward.down.bias"), state->hidden, state->sum2);
    drop(s, l + 1, 1, state->sum2);
    add(count, state->sum2, state->normed);
    lh_ref_layer_norm(T, e->sizes.width, state->sum2, find(e, l, "norm2.scale")->value,
                      find(e, l, "norm2.offset")->value, s->h);
    if (s->batch->observer) {
        lh_ref_seen seen = {state->input, s->h, scores, state->weights};
        s->batch->observer->see(s->batch->observer->context, s->index, l, &seen);
    }
    free(scores);
}

/* s->h: the gradient of the layer's output, then that of norm1's output. */
static void feedforward_grad(sequence *s, int l) {
    const lh_ref_encoder *e = s->e;
    const layer_state *state = &s->layers[l];
    int T = s->batch->tokens, C = e->sizes.width;
    size_t count = (size_t)T * C;
    const lh_ref_tensor *scale = find(e, l, "norm2.scale"), *offset = find(e, l, "norm2.offset");
    double *dsum = doubles(count), *df = doubles(count);
    double *dhidden = doubles((size_t)T * e->sizes.feedforward);
    lh_ref_layer_norm_grad(T, C, state->sum2, scale->value, s->h, dsum, scale->gradient, offset->gradient);
    memcpy(df, dsum, count * sizeof *df);
    drop(s, l + 1, 1, df);
    linear_grad(T, find(e, l, "feedforward.down.weight"), find(e, l, "feedforward.down.bias"), state->hidden, df,
                dhidden);
    lh_ref_relu_grad(T * e->sizes.feedforward, state->hidden, dhidden, dhidden);
    linear_grad(T, find(e, l, "feedforward.up.weight"), find(e, l, "feedforward.up.bias"), state->normed, dhidden,
                s->h);
    add(count, s->h, dsum);
    free(dsum);
    free(df);
    free(dhidden);
}

/* Writes dq, dk, dv from the gradient of the heads' outputs; adds to what belongs to distances. */
static void attend_grad(sequence *s, int l, const double *dmixed, double *dq, double *dk, double *dv) {
    const layer_state *state = &s->layers[l];
    lh_ref_attention shape = attention_of(s, l);
    lh_ref_pair_grad grad = {.score = s->batch->score_gradient};
    size_t T = (size_t)s->batch->tokens;
    if (shape.relative) grad.relative = doubles(T * T * (size_t)s->e->sizes.width);
    if (shape.content_bias) {
        grad.content_bias = find(s->e, l, "attention.relative.content_bias")->gradient;
        grad.position_bias = find(s->e, l, "attention.relative.position_bias")->gradient;
    }
    lh_ref_attend_grad(&shape, state->q, state->k, state->v, state->weights, dmixed, dq, dk, dv, &grad);
    if (shape.relative) relative_grad(s, l, grad.relative);
    free(grad.relative);
}

/* s->h: the gradient of norm1's output, then that of the layer's input. */
static void attention_grad(sequence *s, int l) {
    const lh_ref_encoder *e = s->e;
    const layer_state *state = &s->layers[l];
    int T = s->batch->tokens, C = e->sizes.width;
    size_t count = (size_t)T * C;
    const lh_ref_tensor *scale = find(e, l, "norm1.scale"), *offset = find(e, l, "norm1.offset");
    double *da = doubles(count), *dmixed = doubles(count), *dx = doubles(count);
    double *dq = doubles(count), *dk = doubles(count), *dv = doubles(count);
    lh_ref_layer_norm_grad(T, C, state->sum1, scale->value, s->h, da, scale->gradient, offset->gradient);
    memcpy(s->h, da, count * sizeof *da);
    drop(s, l + 1, 0, da);
    linear_grad(T, find(e, l, "attention.output.weight"), NULL, state->mixed, da, dmixed);
    if (e->sizes.geometric) attend_outwards_grad(s, l, dmixed, dq, dk, dv);
    else attend_grad(s, l, dmixed, dq, dk, dv);
    linear_grad(T, find(e, l, "attention.query.weight"), NULL, state->input, dq, dx);
    add(count, s->h, dx);
    linear_grad(T, find(e, l, "attention.key.weight"), NULL, state->input, dk, dx);
    add(count, s->h, dx);
    linear_grad(T, find(e, l, "attention.value.weight"), NULL, state->input, dv, dx);
    add(count, s->h, dx);
    double *all[] = {da, dmixed, dx, dq, dk, dv};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* Logits and loss at the last label places; s->h becomes the gradient of the last layer's output. */
static double readout(sequence *s, double *logits) {
    const lh_ref_tensor *weight = find(s->e, -1, "output.weight"), *bias = find(s->e, -1, "output.bias");
    int places = s->batch->labels, V = s->e->sizes.classes, C = s->e->sizes.width;
    int first = s->batch->tokens - places;
    double *z = doubles((size_t)places * V), *dz = doubles((size_t)places * V), *dh = doubles((size_t)places * C);
    linear(places, weight, bias, s->h + first * C, z);
    double loss =
        lh_ref_cross_entropy(places, V, z, s->batch->label + (size_t)s->index * places, s->batch->loss_scale, dz);
    if (logits) memcpy(logits, z, (size_t)places * V * sizeof *z);
    if (s->batch->backward) {
        linear_grad(places, weight, bias, s->h + first * C, dz, dh);
        memset(s->h, 0, (size_t)first * C * sizeof *s->h);
        memcpy(s->h + first * C, dh, (size_t)places * C * sizeof *dh);
    }
    free(z);
    free(dz);
    free(dh);
    return loss;
}

double lh_ref_encode(lh_ref_encoder *e, const lh_ref_batch *batch, double *logits) {
    double loss = 0;
    for (int b = 0; b < batch->sequences; b++) {
        sequence s = {e, batch, b, calloc((size_t)e->sizes.layers, sizeof(layer_state)),
                      doubles((size_t)batch->tokens * e->sizes.width)};
        if (!s.layers) abort();
        for (int l = 0; l < e->sizes.layers; l++) new_layer_state(&s, &s.layers[l]);
        embed(&s);
        for (int l = 0; l < e->sizes.layers; l++) layer_forward(&s, l);
        loss += readout(&s, logits ? logits + (size_t)b * batch->labels * e->sizes.classes : NULL);
        for (int l = e->sizes.layers - 1; batch->backward && l >= 0; l--) {
            feedforward_grad(&s, l);
            attention_grad(&s, l);
        }
        if (batch->backward) embed_grad(&s);
        for (int l = 0; l < e->sizes.layers; l++) free_layer_state(&s.layers[l]);
        free(s.layers);
        free(s.h);
    }
    return loss;
}
