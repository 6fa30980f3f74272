/* Two families of attentions in one text, with facets, heads and rows of their own, against attention in plain loops:
 * rendered and run by tests/lua/test_families.lua. */
#include "config.h"
#include "tuned.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/columns.h"
#include "kernels/cpu/functions.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/matmul.h"
#include "longhand/cpu.h"
#include "longhand/timings.h"
% for _, header in ipairs(cpu_headers) do
#include "kernels/cpu/${header}.h"
% end

% include("cpu/shared.tpl")

% include("cpu/reserve.tpl")

% for _, family in ipairs(attentions) do
% include("attention/cpu/family.tpl", family)

% end
typedef struct workspace {
    const lh_cpu_step *step;
    int sequences;
    struct {
        int length, from, to;
    } target, source;
    self_scratch self;
    cross_scratch cross;
} workspace;

#include "attention_self.inc"
#include "attention_cross.inc"

% for _, family in ipairs(attentions) do
% include("attention/cpu/draws.tpl", family)
% end
static void begin(const lh_cpu_step *step) {
    const int part = 0, parts = 1;
    (void)part;
    (void)parts;
    (void)step;
% for _, family in ipairs(attentions) do
    % include("attention/cpu/begin_family.tpl", family)
% end
}

enum { SEQUENCES = 2, LAYER = 1 };

static void *allocate(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    memset(memory, 0, (bytes + 127) / 64 * 64);
    return memory;
}

static real *noise(size_t count) {
    static unsigned word = 1;
    real *x = allocate((count + LANES) * sizeof(real));
    for (size_t i = 0; i < count; i++) {
        word = word * 1664525 + 1013904223;
        x[i] = (real)(word >> 8) / (1 << 23) - 1;
    }
    return x;
}

/* The layout of a family's rows, and its scores, for the plain loops. */
typedef struct plain {
    const char *name;
    int T, S, heads, query_stride, key_stride, at_key, at_value;
    double base;
    int is_causal;  /* 1: causal, with ALiBi */
    int even_heads; /* number of heads, from the first on, that see keys at even distances alone */
} plain;

static double rotate(const plain *f, const real *row, int t, int d) {
    const int width = WIDTH / f->heads;
    double angle = t * pow(f->base, -(double)(d % width / 2 * 2) / width);
    return d % 2 ? row[d] * cos(angle) + row[d - 1] * sin(angle) : row[d] * cos(angle) - row[d + 1] * sin(angle);
}

static double score(const plain *f, const real *query, const real *key, int h, int i, int j) {
    const int width = WIDTH / f->heads;
    if (f->is_causal && j > i) return -INFINITY;
    if (h < f->even_heads && (i - j) % 2) return -INFINITY;
    double sum = 0;
    for (int d = h * width; d < (h + 1) * width; d++)
        sum += rotate(f, query + i * f->query_stride, i, d) * rotate(f, key + j * f->key_stride + f->at_key, j, d);
    return sum / sqrt(width) - (f->is_causal ? (abs(j - i) - (j < i ? 0.5 : 0)) * exp2(-8. * (h + 1) / f->heads) : 0);
}

/* out [T][WIDTH] of one sequence; the sum of out * dout. */
static double attend(const plain *f, const real *query, const real *key, const real *dout, double *out) {
    const int width = WIDTH / f->heads;
    double objective = 0;
    for (int h = 0; h < f->heads; h++) {
        for (int i = 0; i < f->T; i++) {
            double weight[64], sum = 0;
            for (int j = 0; j < f->S; j++) sum += weight[j] = exp(score(f, query, key, h, i, j));
            for (int d = h * width; d < (h + 1) * width; d++) {
                double value = 0;
                for (int j = 0; j < f->S; j++) value += weight[j] / sum * key[j * f->key_stride + f->at_value + d];
                if (out) out[i * WIDTH + d] = value;
                objective += value * dout[i * WIDTH + d];
            }
        }
    }
    return objective;
}

static void expect(const plain *f, const char *what, int index, double actual, double expected, double bound) {
    if (fabs(actual - expected) <= bound * (1 + fabs(expected))) return;
    printf("%s: %s[%d] is %.12g, not %.12g\n", f->name, what, index, actual, expected);
    exit(1);
}

/* Checks every seventh element of the gradient of rows against central differences of the plain loops. */
static void check_gradient(const plain *f, const char *what, real *rows, int count, const real *gradient,
        const real *query, const real *key, const real *dout) {
    for (int e = 0; e < count; e += 7) {
        const real original = rows[e], step = 1e-4;
        rows[e] = original + step;
        double above = attend(f, query, key, dout, NULL);
        rows[e] = original - step;
        double below = attend(f, query, key, dout, NULL);
        rows[e] = original;
        expect(f, what, e, gradient[e], (above - below) / (2 * step), 1e-6);
    }
}

static void check_attended(const plain *f, const real *query, const real *key, const real *dout, const real *attended) {
    double expected[64 * WIDTH];
    for (int s = 0; s < SEQUENCES; s++) {
        attend(f, query + s * f->T * f->query_stride, key + s * f->S * f->key_stride, dout, expected);
        for (int e = 0; e < f->T * WIDTH; e++) expect(f, "attended", e, attended[s * f->T * WIDTH + e], expected[e], 1e-10);
    }
}

static void copy(real *to, const real *from, int count) { memcpy(to, from, (size_t)count * sizeof(real)); }

static void check_self(workspace *w, int T) {
    const plain f = {"self", T, T, SELF_HEADS, 3 * WIDTH, 3 * WIDTH, WIDTH, 2 * WIDTH, ${f64(attentions[1].rotation.base)}, 1, ${even_heads}};
    const int rows = SEQUENCES * T, last = (SEQUENCES - 1) * T;
    real *given = noise((size_t)rows * 3 * WIDTH), *packed = allocate((size_t)(rows * 3 * WIDTH + LANES) * sizeof(real));
    real *dout = noise((size_t)rows * WIDTH), *out = allocate((size_t)rows * WIDTH * sizeof(real));
    real *dpacked = allocate((size_t)rows * 3 * WIDTH * sizeof(real));
    self_saved saved;
    size_t bytes = 0;
    lay_out_self_saved(&saved, NULL, &bytes, SEQUENCES, T, true);
    lay_out_self_scratch(&w->self, NULL, &bytes, T, true);
    char *memory = allocate(bytes);
    bytes = 0;
    lay_out_self_saved(&saved, memory, &bytes, SEQUENCES, T, true);
    lay_out_self_scratch(&w->self, memory, &bytes, T, true);
    copy(packed, given, rows * 3 * WIDTH);
    % call("attention_self", "w", "LAYER", "&saved", "packed", "out")
    check_attended(&f, given, given, dout, out);
    % call("attention_self_backward", "w", "LAYER", "&saved", "packed", "out", "dout", "dpacked")
    real *sequence = given + last * 3 * WIDTH;
    check_gradient(&f, "dquery_key_value", sequence, T * 3 * WIDTH, dpacked + last * 3 * WIDTH, sequence, sequence,
            dout + last * WIDTH);
    free(given), free(packed), free(dout), free(out), free(dpacked), free(memory);
}

static void check_cross(workspace *w, int T, int S) {
    const plain f = {"cross", T, S, CROSS_HEADS, WIDTH, 2 * WIDTH, 0, WIDTH, ${f64(attentions[2].rotation.base)}, 0, 0};
    const int last = (SEQUENCES - 1) * T, last_key = (SEQUENCES - 1) * S;
    const int queries = SEQUENCES * T * WIDTH, keys = SEQUENCES * S * 2 * WIDTH;
    real *given = noise((size_t)queries), *given_keys = noise((size_t)keys);
    real *query = allocate((size_t)(queries + LANES) * sizeof(real)), *key_value = allocate((size_t)(keys + LANES) * sizeof(real));
    real *dout = noise((size_t)queries), *out = allocate((size_t)queries * sizeof(real));
    real *dquery = allocate((size_t)queries * sizeof(real)), *dkey_value = allocate((size_t)keys * sizeof(real));
    cross_saved saved;
    size_t bytes = 0;
    lay_out_cross_saved(&saved, NULL, &bytes, SEQUENCES, T, S, true);
    lay_out_cross_scratch(&w->cross, NULL, &bytes, T, S, true);
    char *memory = allocate(bytes);
    bytes = 0;
    lay_out_cross_saved(&saved, memory, &bytes, SEQUENCES, T, S, true);
    lay_out_cross_scratch(&w->cross, memory, &bytes, T, S, true);
    copy(query, given, queries);
    copy(key_value, given_keys, keys);
    % call("attention_cross", "w", "LAYER", "&saved", "query", "key_value", "out")
    check_attended(&f, given, given_keys, dout, out);
    % call("attention_cross_backward", "w", "LAYER", "&saved", "query", "key_value", "out", "dout", "dquery", "dkey_value")
    check_gradient(&f, "dquery", given + last * WIDTH, T * WIDTH, dquery + last * WIDTH, given + last * WIDTH,
            given_keys + last_key * 2 * WIDTH, dout + last * WIDTH);
    check_gradient(&f, "dkey_value", given_keys + last_key * 2 * WIDTH, S * 2 * WIDTH, dkey_value + last_key * 2 * WIDTH,
            given + last * WIDTH, given_keys + last_key * 2 * WIDTH, dout + last * WIDTH);
    /* A query on its own has the bits that it has among all. */
    for (int t = 0; t < T; t++) {
        real alone[WIDTH];
        cross_head head = make_cross_head(w, LAYER, 1, 0, 0, NULL, NULL);
        cross_saved scratch;
        bytes = 0;
        lay_out_cross_saved(&scratch, memory, &bytes, SEQUENCES, T, S, false);
        head.from = t;
        head.to = t + 1;
        attend_cross(&head, query + t * WIDTH + CROSS_HEAD_WIDTH, key_value + CROSS_HEAD_WIDTH, alone + CROSS_HEAD_WIDTH,
                scratch);
        head.from = 0;
        head.to = T;
        attend_cross(&head, query + CROSS_HEAD_WIDTH, key_value + CROSS_HEAD_WIDTH, out + CROSS_HEAD_WIDTH, scratch);
        for (int d = CROSS_HEAD_WIDTH; d < 2 * CROSS_HEAD_WIDTH; d++)
            expect(&f, "alone", t, alone[d], out[t * WIDTH + d], 0);
    }
    free(given), free(given_keys), free(query), free(key_value), free(dout), free(out), free(dquery), free(dkey_value);
    free(memory);
}

int main(void) {
    for (int T = 1; T < 2 * LANES + 3; T += T < 5 ? 1 : 3) {
        for (int S = 1; S < 24; S += 5) {
            lh_cpu_step step = {.mode = LH_MODE_TRAIN, .shape = {SEQUENCES, {S, T}, 1}};
            workspace w = {.step = &step, .sequences = SEQUENCES, .target = {T, 0, T}, .source = {S, 0, S}};
            step.shared = allocate(${last_family_with_tables}_end(&step.shape));
            void *tables = allocate(tables_bytes((const int[LH_MAX_STREAMS]){64, 64}));
            make_tables(tables, (const int[LH_MAX_STREAMS]){64, 64});
            step.tables = tables;
            begin(&step);
            check_self(&w, T);
            check_cross(&w, T, S);
            free(step.shared);
            free(tables);
        }
    }
    return 0;
}
