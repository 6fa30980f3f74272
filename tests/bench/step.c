/* See step.h. The base model's 5 blocks (8 heads of width 8, width 64, feed-forward 256, post-norm) over 128 sequences
 * of 21 tokens, one sequence at a time on one thread, with Adam. No dropout, no sampling, a linear loss on the last
 * row.
 *
 * Deliberately simple: vectors of eight floats, tiles in registers, constants everywhere. Weights are [in][out]; each
 * has a transposed copy for the backward pass, made once per step. */
#include "bench/step.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { T = 21, PAD = 24, BATCH = 128, LAYERS = 5, HEADS = 8, D = 8, C = HEADS * D, F = 256, V = 8 };

typedef float vec __attribute__((vector_size(4 * V), aligned(4), may_alias));
typedef int32_t ints __attribute__((vector_size(4 * V), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))

INLINE vec load(const float *p) { return *(const vec *)p; }
INLINE void store(float *p, vec x) { *(vec *)p = x; }

INLINE float sum_lanes(vec x) {
    float sum = 0;
    for (int i = 0; i < V; i++) sum += x[i];
    return sum;
}

/* All learned parameters; also the type of their gradient and of the two moments. */
typedef struct weights {
    struct layer_weights {
        float qkv[C * 3 * C], out[C * C], up[C * F], down[F * C];
        float up_bias[F], down_bias[C], scale[2][C], offset[2][C];
    } layer[LAYERS];
} weights;

typedef struct layer_weights layer_weights;

typedef struct transposed {
    float qkv[3 * C * C], out[C * C], up[F * C], down[C * F];
} transposed;

/* Activations that the forward pass of a layer saves. */
typedef struct activations {
    float in[T * C], qkv[T * 3 * C], weight[HEADS][T * PAD], attended[T * C];
    float xhat[2][T * C], inverse_sd[2][T], middle[T * C], hidden[T * F];
} activations;

static _Alignas(64) weights model, gradient, moment1, moment2;
static _Alignas(64) transposed transposed_layers[LAYERS];
static _Alignas(64) activations layer_activations[LAYERS];
static _Alignas(64) float inputs[BATCH][T * C], target[C], last[T * C];
static int64_t steps;

/* y[T][N] = a[T][K] w[K][N], plus the old y if `adds`. Tiles of 3 rows x 4 vectors. */
INLINE void product(const int K, const int N, const float *restrict a, const float *restrict w, float *restrict y,
                    const int adds) {
    for (int n = 0; n < N; n += 4 * V)
        for (int m = 0; m < T; m += 3) {
            vec sum[3][4];
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 4; j++) sum[i][j] = adds ? load(y + (m + i) * N + n + j * V) : (vec){0};
            for (int k = 0; k < K; k++)
                for (int j = 0; j < 4; j++) {
                    vec weight = load(w + k * N + n + j * V);
                    for (int i = 0; i < 3; i++) sum[i][j] += weight * a[(m + i) * K + k];
                }
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 4; j++) store(y + (m + i) * N + n + j * V, sum[i][j]);
        }
}

/* dw[K][N] += a[T][K]^T dy[T][N]. Tiles of 4 rows x 2 vectors. */
INLINE void product_grad(const int K, const int N, const float *restrict a, const float *restrict dy,
                         float *restrict dw) {
    for (int k = 0; k < K; k += 4)
        for (int n = 0; n < N; n += 2 * V) {
            vec sum[4][2];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 2; j++) sum[i][j] = load(dw + (k + i) * N + n + j * V);
            for (int t = 0; t < T; t++)
                for (int j = 0; j < 2; j++) {
                    vec d = load(dy + t * N + n + j * V);
                    for (int i = 0; i < 4; i++) sum[i][j] += d * a[t * K + k + i];
                }
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 2; j++) store(dw + (k + i) * N + n + j * V, sum[i][j]);
        }
}

INLINE void transpose(const int K, const int N, const float *restrict w, float *restrict transposed) {
    for (int k = 0; k < K; k++)
        for (int n = 0; n < N; n++) transposed[n * K + k] = w[k * N + n];
}

/* exp of x <= 0: 2^whole times a polynomial of degree 5 on [-1/2, 1/2], with relative error 3e-6. */
INLINE vec exponential(vec x) {
    vec y = x * 1.44269504f, low = (vec){0} - 100.0f;
    y = (vec)(((ints)y & (y > low)) | ((ints)low & ~(y > low)));
    vec shifted = y + 12582912.0f, f = y - (shifted - 12582912.0f);
    vec p = 1.0f + f * (0.69314718f + f * (0.24022651f + f * (0.05550411f + f * (0.00961813f + f * 0.00133336f))));
    return (vec)((ints)p + ((ints)shifted << 23));
}

/* Columns of one head: transposed[d][t] = rows[t][d]; zero after T. */
INLINE void transpose_head(const float *restrict rows, const int stride, float transposed[D][PAD]) {
    memset(transposed, 0, sizeof(float) * D * PAD);
    for (int t = 0; t < T; t++)
        for (int d = 0; d < D; d++) transposed[d][t] = rows[t * stride + d];
}

/* weight[T][PAD] = softmax(q k^T / sqrt(D)), keys in the lanes, zero after T; attended = weight v. */
static void attend(const float *restrict q, float *restrict weight, float *restrict attended) {
    float keys[D][PAD];
    const float *v = q + 2 * C;
    const vec scale = (vec){0} + 0.35355339f;
    transpose_head(q + C, 3 * C, keys);
    for (int i = 0; i < T; i++) {
        vec logit[3] = {{0}, {0}, {0}}, sum = {0}, head_sum = {0};
        for (int d = 0; d < D; d++)
            for (int j = 0; j < 3; j++) logit[j] += load(&keys[d][j * V]) * q[i * 3 * C + d];
        float max_logit = logit[0][0];
        for (int j = 1; j < T; j++) max_logit = logit[j / V][j % V] > max_logit ? logit[j / V][j % V] : max_logit;
        for (int j = 0; j < 3; j++) logit[j] = exponential((logit[j] - max_logit) * scale);
        for (int j = T; j < PAD; j++) logit[j / V][j % V] = 0;
        for (int j = 0; j < 3; j++) sum += logit[j];
        float inverse = 1 / sum_lanes(sum);
        for (int j = 0; j < 3; j++) store(weight + i * PAD + j * V, logit[j] * inverse);
        for (int j = 0; j < T; j++) head_sum += load(v + j * 3 * C) * weight[i * PAD + j];
        store(attended + i * C, head_sum);
    }
}

/* dq, dk, dv of one head, in the layout of q, from dattended. */
static void attend_grad(const float *restrict q, const float *restrict weight, const float *restrict dattended,
                        float *restrict dq) {
    float values[D][PAD], dlogit[PAD];
    vec dk[T], dv[T];
    transpose_head(q + 2 * C, 3 * C, values);
    memset(dk, 0, sizeof dk);
    memset(dv, 0, sizeof dv);
    for (int i = 0; i < T; i++) {
        vec dweight[3] = {{0}, {0}, {0}}, sum = {0}, dq_row = {0};
        vec row = load(q + i * 3 * C), dattended_row = load(dattended + i * C);
        for (int d = 0; d < D; d++)
            for (int j = 0; j < 3; j++) dweight[j] += load(&values[d][j * V]) * dattended_row[d];
        for (int j = 0; j < 3; j++) sum += dweight[j] * load(weight + i * PAD + j * V);
        float mean = sum_lanes(sum);
        for (int j = 0; j < 3; j++)
            store(dlogit + j * V, (dweight[j] - mean) * load(weight + i * PAD + j * V) * 0.35355339f);
        for (int j = 0; j < T; j++) {
            dq_row += load(q + C + j * 3 * C) * dlogit[j];
            dk[j] += row * dlogit[j];
            dv[j] += dattended_row * weight[i * PAD + j];
        }
        store(dq + i * 3 * C, dq_row);
    }
    for (int j = 0; j < T; j++) {
        store(dq + C + j * 3 * C, dk[j]);
        store(dq + 2 * C + j * 3 * C, dv[j]);
    }
}

/* y = norm(a + b); saves xhat and inverse_sd for the backward pass. */
static void norm(const float *a, const float *b, const float *scale, const float *offset, float *xhat,
                 float *inverse_sd, float *y) {
    for (int t = 0; t < T; t++) {
        vec sum = {0}, squares = {0};
        float *x = xhat + t * C;
        for (int c = 0; c < C; c += V) store(x + c, load(a + t * C + c) + load(b + t * C + c));
        for (int c = 0; c < C; c += V) sum += load(x + c);
        float mean = sum_lanes(sum) / C;
        for (int c = 0; c < C; c += V) squares += (load(x + c) - mean) * (load(x + c) - mean);
        inverse_sd[t] = 1 / sqrtf(sum_lanes(squares) / C + 1e-5f);
        for (int c = 0; c < C; c += V) store(x + c, (load(x + c) - mean) * inverse_sd[t]);
        for (int c = 0; c < C; c += V) store(y + t * C + c, load(x + c) * load(scale + c) + load(offset + c));
    }
}

/* d: gradient of y on entry, of a + b on return. */
static void norm_grad(float *d, const float *scale, const float *xhat, const float *inverse_sd, float *dscale,
                      float *doffset) {
    for (int t = 0; t < T; t++) {
        vec sum = {0}, with_x = {0};
        for (int c = 0; c < C; c += V) {
            vec g = load(d + t * C + c), x = load(xhat + t * C + c);
            store(dscale + c, load(dscale + c) + g * x);
            store(doffset + c, load(doffset + c) + g);
            sum += g * load(scale + c);
            with_x += g * load(scale + c) * x;
        }
        float mean = sum_lanes(sum) / C, mean_x = sum_lanes(with_x) / C;
        for (int c = 0; c < C; c += V) {
            vec g = load(d + t * C + c) * load(scale + c);
            store(d + t * C + c, (g - mean - load(xhat + t * C + c) * mean_x) * inverse_sd[t]);
        }
    }
}

static void add_bias(const int N, const float *bias, float *y, const int relu) {
    for (int t = 0; t < T; t++)
        for (int n = 0; n < N; n += V) {
            vec x = load(y + t * N + n) + load(bias + n);
            store(y + t * N + n, relu ? (vec)((ints)x & (x > 0)) : x);
        }
}

static void bias_grad(const int N, const float *dy, float *db) {
    for (int t = 0; t < T; t++)
        for (int n = 0; n < N; n += V) store(db + n, load(db + n) + load(dy + t * N + n));
}

static void layer_forward(const layer_weights *w, activations *s, float *y) {
    float branch[T * C];
    product(C, 3 * C, s->in, w->qkv, s->qkv, 0);
    for (int h = 0; h < HEADS; h++) attend(s->qkv + h * D, s->weight[h], s->attended + h * D);
    product(C, C, s->attended, w->out, branch, 0);
    norm(s->in, branch, w->scale[0], w->offset[0], s->xhat[0], s->inverse_sd[0], s->middle);
    product(C, F, s->middle, w->up, s->hidden, 0);
    add_bias(F, w->up_bias, s->hidden, 1);
    product(F, C, s->hidden, w->down, branch, 0);
    add_bias(C, w->down_bias, branch, 0);
    norm(s->middle, branch, w->scale[1], w->offset[1], s->xhat[1], s->inverse_sd[1], y);
}

/* d [T][C]: gradient of the layer's output on entry, of its input on return. */
static void layer_backward(const layer_weights *w, const transposed *wt, layer_weights *g, const activations *s,
                           float *d) {
    static float dhidden[T * F], dqkv[T * 3 * C], dattended[T * C];
    norm_grad(d, w->scale[1], s->xhat[1], s->inverse_sd[1], g->scale[1], g->offset[1]);
    product_grad(F, C, s->hidden, d, g->down);
    bias_grad(C, d, g->down_bias);
    product(C, F, d, wt->down, dhidden, 0);
    for (int i = 0; i < T * F; i += V) store(dhidden + i, (vec)((ints)load(dhidden + i) & (load(s->hidden + i) > 0)));
    product_grad(C, F, s->middle, dhidden, g->up);
    bias_grad(F, dhidden, g->up_bias);
    product(F, C, dhidden, wt->up, d, 1);
    norm_grad(d, w->scale[0], s->xhat[0], s->inverse_sd[0], g->scale[0], g->offset[0]);
    product_grad(C, C, s->attended, d, g->out);
    product(C, C, d, wt->out, dattended, 0);
    for (int h = 0; h < HEADS; h++) attend_grad(s->qkv + h * D, s->weight[h], dattended + h * D, dqkv + h * D);
    product_grad(C, 3 * C, s->in, dqkv, g->qkv);
    product(3 * C, C, dqkv, wt->qkv, d, 1);
}

/* The forward pass of one sequence; returns its part of the loss: the product of its last row and `target`, divided by
 * BATCH. */
static double sequence_forward(const float *input) {
    double loss = 0;
    memcpy(layer_activations[0].in, input, sizeof layer_activations[0].in);
    for (int l = 0; l < LAYERS; l++)
        layer_forward(&model.layer[l], &layer_activations[l], l + 1 < LAYERS ? layer_activations[l + 1].in : last);
    for (int c = 0; c < C; c++) loss += (double)last[(T - 1) * C + c] * (double)target[c];
    return loss / BATCH;
}

static void sequence_backward(void) {
    static float d[T * C];
    memset(d, 0, sizeof d);
    for (int c = 0; c < C; c++) d[(T - 1) * C + c] = target[c] / BATCH;
    for (int l = LAYERS - 1; l >= 0; l--)
        layer_backward(&model.layer[l], &transposed_layers[l], &gradient.layer[l], &layer_activations[l], d);
}

static void update(void) {
    float *p = (float *)&model, *g = (float *)&gradient, *m1 = (float *)&moment1, *m2 = (float *)&moment2;
    double correct1 = 1 - pow(0.9, (double)++steps), correct2 = 1 - pow(0.999, (double)steps);
    float rate = (float)(3e-4 / correct1), inverse2 = (float)(1 / correct2);
    for (size_t i = 0; i < sizeof model / sizeof *p; i++) {
        m1[i] = 0.9f * m1[i] + 0.1f * g[i];
        m2[i] = 0.999f * m2[i] + 0.001f * g[i] * g[i];
        p[i] -= rate * m1[i] / (sqrtf(m2[i] * inverse2) + 1e-8f);
    }
}

static double compute_gradients(void) {
    double loss = 0;
    memset(&gradient, 0, sizeof gradient);
    for (int l = 0; l < LAYERS; l++) {
        transpose(C, 3 * C, model.layer[l].qkv, transposed_layers[l].qkv);
        transpose(C, C, model.layer[l].out, transposed_layers[l].out);
        transpose(C, F, model.layer[l].up, transposed_layers[l].up);
        transpose(F, C, model.layer[l].down, transposed_layers[l].down);
    }
    for (int b = 0; b < BATCH; b++) {
        loss += sequence_forward(inputs[b]);
        sequence_backward();
    }
    return loss;
}

double plain_train(void) {
    double loss = compute_gradients();
    update();
    return loss;
}

double plain_forward(void) {
    double loss = 0;
    for (int b = 0; b < BATCH; b++) loss += sequence_forward(inputs[b]);
    return loss;
}

/* A uniform number in [-1, 1) from a linear congruential generator. */
static float draw(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1;
}

static void fill(float *x, int count, float size, uint32_t *state) {
    for (int i = 0; i < count; i++) x[i] = size * draw(state);
}

void plain_open(void) {
    uint32_t state = 1;
    memset(&model, 0, sizeof model);
    memset(&moment1, 0, sizeof moment1);
    memset(&moment2, 0, sizeof moment2);
    steps = 0;
    for (int l = 0; l < LAYERS; l++) {
        layer_weights *w = &model.layer[l];
        fill(w->qkv, C * 3 * C, 0.2f, &state);
        fill(w->out, C * C, 0.2f, &state);
        fill(w->up, C * F, 0.2f, &state);
        fill(w->down, F * C, 0.1f, &state);
        for (int c = 0; c < C; c++) w->scale[0][c] = w->scale[1][c] = 1;
    }
    fill(&inputs[0][0], BATCH * T * C, 1, &state);
    fill(target, C, 1, &state);
}

double plain_gradient_error(void) {
    layer_weights *w = &model.layer[2], *g = &gradient.layer[2];
    const struct {
        float *weight, *gradient;
    } checked[] = {
        {w->qkv, g->qkv},
        {w->qkv + C, g->qkv + C},
        {w->qkv + 2 * C, g->qkv + 2 * C},
        {w->out + 5, g->out + 5},
        {w->up + 7, g->up + 7},
        {w->down + 9, g->down + 9},
        {w->up_bias, g->up_bias},
        {w->scale[0], g->scale[0]},
        {w->offset[1], g->offset[1]},
        {w->down_bias, g->down_bias},
    };
    double worst = 0;
    for (size_t i = 0; i < sizeof checked / sizeof *checked; i++) {
        compute_gradients();
        float value = *checked[i].weight, change = 0.02f;
        double analytic = (double)*checked[i].gradient;
        *checked[i].weight = value + change;
        double upper_loss = plain_forward();
        *checked[i].weight = value - change;
        double numeric = (upper_loss - plain_forward()) / (2 * (double)change);
        *checked[i].weight = value;
        double error = fabs(numeric - analytic) / (fabs(analytic) + 0.01);
        if (!(error <= worst)) worst = error;
    }
    return worst;
}
