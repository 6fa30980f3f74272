/* Slow double-precision versions of all operations, for tests only: simple loops that define the operations.
 *
 * All arrays are dense, row-major, caller-owned double; "rows" are tokens of one or more sequences. Functions write
 * their output arrays, which may not overlap an input unless a comment allows it. Functions write gradients of inputs,
 * but add to gradients of parameters. No function reports an error.
 *
 * Source of the model's equations: Vaswani et al. 2017, "Attention Is All You Need"; Ruoss et al. 2023, "Randomized
 * Positional Encodings Boost Length Generalization of Transformers" and its official code.
 */
#ifndef LONGHAND_KERNELS_REF_H
#define LONGHAND_KERNELS_REF_H

#include <stdbool.h>
#include <stdint.h>

#include "longhand/rng.h"

/* y[rows][out] = x[rows][in] w[in][out] + b[out]; b may be NULL. */
void lh_ref_matmul(int rows, int in, int out, const double *x, const double *w, const double *b, double *y);

/* dx[rows][in] = dy[rows][out] w^T. */
void lh_ref_matmul_input_grad(int rows, int in, int out, const double *dy, const double *w, double *dx);

/* dw[in][out] += x^T dy; db[out] += column sums of dy, unless db is NULL. */
void lh_ref_matmul_weight_grad(int rows, int in, int out, const double *x, const double *dy, double *dw, double *db);

/* y = (x - mean) / sqrt(variance + 1e-5) scale + offset over each row of `width`; biased variance.
 * Source: Ba et al. 2016, "Layer Normalization". */
void lh_ref_layer_norm(int rows, int width, const double *x, const double *scale, const double *offset, double *y);

/* Writes dx[rows][width] from dy and layer norm's input x; adds to dscale[width] and doffset[width]. */
void lh_ref_layer_norm_grad(int rows, int width, const double *x, const double *scale, const double *dy, double *dx,
                            double *dscale, double *doffset);

/* y = x / sqrt(mean of x^2 + 1e-5) scale over each row of `width`. Source: Zhang and Sennrich 2019, "Root Mean Square
 * Layer Normalization", equation 4, with the epsilon of layer norm. */
void lh_ref_rms_norm(int rows, int width, const double *x, const double *scale, double *y);

/* Writes dx[rows][width] from dy and RMS norm's input x; adds to dscale[width]. */
void lh_ref_rms_norm_grad(int rows, int width, const double *x, const double *scale, const double *dy, double *dx,
                          double *dscale);

/* The nonlinearity of a feed-forward network. */
typedef enum lh_ref_nonlinearity {
    LH_REF_RELU, /* max(x, 0); slope 0 at 0 */
    LH_REF_GELU, /* x Phi(x), Phi the normal distribution: Hendrycks and Gimpel 2016, "Gaussian Error Linear Units" */
    LH_REF_GELU_TANH, /* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2: the tanh approximation of GELU */
    LH_REF_SILU       /* x / (1 + exp(-x)): Hendrycks and Gimpel 2016; Elfwing et al. 2017 */
} lh_ref_nonlinearity;

/* y = f(x) for `count` elements; y may be x. */
void lh_ref_activation(lh_ref_nonlinearity f, int count, const double *x, double *y);

/* dx = dy f'(x); dx may be dy. For ReLU, x may also be its output. */
void lh_ref_activation_grad(lh_ref_nonlinearity f, int count, const double *x, const double *dy, double *dx);

/* y[rows][width] = f(gate) * up, where each row of x[rows][2 width] holds gate[width], then up[width]. Source:
 * Shazeer 2020, "GLU Variants Improve Transformer", equation 5: SwiGLU with SiLU, GEGLU with GELU. */
void lh_ref_gate(lh_ref_nonlinearity f, int rows, int width, const double *x, double *y);

/* dx[rows][2 width] from dy[rows][width] and the gate's input x. */
void lh_ref_gate_grad(lh_ref_nonlinearity f, int rows, int width, const double *x, const double *dy, double *dx);

/* out[width] = sin(position omega_m), m = 0..width/2-1, then cos(position omega_m), omega_m = 10000^(-2m/width).
 * Sines fill the first half and cosines the second, as in Ruoss's code; in Vaswani's paper they alternate. */
void lh_ref_sinusoid(int width, double position, double *out);

/* The scaling of a rotation, for sequences that are `factor` times as long as those of training. */
typedef enum lh_ref_scaling {
    LH_REF_UNSCALED,
    LH_REF_LINEAR, /* positions divided by factor: Chen et al. 2023, "position interpolation" */
    LH_REF_NTK,    /* base * factor^(D/(D-2)) instead of base, D the head width: bloc97 2023; Peng et al. 2024, "YaRN",
                    * section 3.1 */
    LH_REF_YARN    /* Peng et al. 2024, sections 3.2 and 3.4 */
} lh_ref_scaling;

typedef struct lh_ref_rope {
    double base;
    lh_ref_scaling scaling;
    double factor;
    /* YaRN. Turns of a pair are counted within original_length positions. */
    double original_length;
    double beta_slow;        /* pairs with at most beta_slow turns rotate `factor` times more slowly */
    double beta_fast;        /* pairs with at least beta_fast turns are unchanged; pairs between are interpolated */
    double attention_factor; /* multiplies queries and keys; 0.1 ln(factor) + 1 in the paper */
} lh_ref_rope;

/* Returns the rotation of pair m of a head in radians per position: base^(-2m/head_width) without scaling. Source: Su
 * et al. 2021, "RoFormer", equation 15; base 10000 in the paper. */
double lh_ref_rotation_speed(const lh_ref_rope *rope, int head_width, int m);

/* Writes cosines and sines [tokens][head_width/2] of the angles positions[t] * lh_ref_rotation_speed. With YaRN, both
 * are multiplied by attention_factor. */
void lh_ref_rotation(int tokens, int head_width, const lh_ref_rope *rope, const int32_t *positions, double *cosine,
                     double *sine);

/* Rotates in place the adjacent pairs (2m, 2m + 1) of the first rotated_heads heads (0: of all heads) of
 * x[tokens][heads][head_width] by the table's angles. lh_ref_unrotate rotates in the other direction, for gradients. */
void lh_ref_rotate(int tokens, int heads, int rotated_heads, int head_width, const double *cosine, const double *sine,
                   double *x);
void lh_ref_unrotate(int tokens, int heads, int rotated_heads, int head_width, const double *cosine, const double *sine,
                     double *x);

/* Attention of one sequence: every query sees every key whose score is not -infinity. */
typedef struct lh_ref_attention {
    int tokens, heads, head_width; /* tokens: number of queries */
    int keys;                      /* number of keys; 0: as many as queries, with the same rotation table */
    const double *cosine, *sine; /* [tokens][head_width/2] rotation of q and k before the product; NULL: no rotation */
    int rotated_heads;           /* the number of heads, from the first on, that rotate; 0: all */
    const double *key_cosine, *key_sine; /* [keys][head_width/2] rotation of k; NULL: the rotation of q */
    const double *relative;      /* [query][key][heads][head_width] r_ij, the vector of the pair's distance; NULL: 0 */
    const double *content_bias;  /* [heads][head_width] u, or NULL: 0 */
    const double *position_bias; /* [heads][head_width] v, or NULL: 0 */
    const double *score;         /* [heads][query][key] added to the scaled logit, or NULL */
    int undivided;               /* products are not divided by sqrt(head_width) */
    double temperature;          /* divisor of the logits; 0 means 1 */
    const double *keep;          /* [heads][query][key] dropout factors of the weights after the softmax; NULL: 1 */
    double *logits;              /* [heads][query][key] inputs of the softmax, written; NULL: not requested */
} lh_ref_attention;

/* weight_ij = softmax over j of (((q_i + u) . k_j + (q_i + v) . r_ij) / sqrt(head_width) + score_ij) / temperature;
 * out_i = sum over j of keep_ij weight_ij v_j.
 *
 *   q, out   [tokens][heads][head_width]  q: not yet rotated
 *   k, v     [keys][heads][head_width]    k: not yet rotated
 *   weights  [heads][tokens][keys]        written, for the backward pass
 *
 * Sources: for u, v and r_ij, Dai et al. 2019, "Transformer-XL", section 3.3; for r_ij alone (u = v = 0), Shaw et al.
 * 2018, equation 4; for the score, Press et al. 2022, "Train Short, Test Long". */
void lh_ref_attend(const lh_ref_attention *settings, const double *q, const double *k, const double *v, double *weights,
                   double *out);

/* Gradients of fields of lh_ref_attention; functions add to the gradients. A gradient is NULL if the field is NULL.
 * `score` may always be NULL. */
typedef struct lh_ref_pair_grad {
    double *relative, *content_bias, *position_bias, *score;
} lh_ref_pair_grad;

/* Writes dq, dk, dv from dout and adds to the gradients in dpair; q, k, v, weights: see the forward pass. */
void lh_ref_attend_grad(const lh_ref_attention *settings, const double *q, const double *k, const double *v,
                        const double *weights, const double *dout, double *dq, double *dk, double *dv,
                        const lh_ref_pair_grad *dpair);

/* Geometric attention of one sequence: every query tries the other keys outwards, i + 1, i - 1, i + 2, i - 2, ..., and
 * the weight of a key is the probability that it is the first match. */
typedef struct lh_ref_geometric {
    int tokens, heads, head_width;
    int normalised;             /* weights are divided by their sum */
    const double *content_bias; /* [heads][head_width] b */
    const double *direction;    /* [tokens][heads][2]: for keys to the right, for keys to the left; NULL: 0 */
    double scale, direction_scale, offset;
    double *logits; /* [heads][query][key] written, -infinity where key = query; NULL: not requested */
} lh_ref_geometric;

/* The weights of one query i before any division: weight_j = P_j times the product of 1 - P_k over the keys k that the
 * query tries before j. P = sigmoid(logit), but P_i = 0, since query i does not try key i. lh_ref_geometric_row writes
 * the weights [tokens] and returns their sum; row_grad writes dlogit [tokens] from these weights and dweight. Source:
 * Csordas et al. 2022, "The Neural Data Router: Adaptive Control Flow in Transformers Improves Systematic
 * Generalization". */
double lh_ref_geometric_row(int tokens, int query, const double *logit, double *weight);
void lh_ref_geometric_row_grad(int tokens, int query, const double *logit, const double *weight, const double *dweight,
                               double *dlogit);

#define LH_REF_LEAST_TOTAL 1e-12

/* logit_ij = scale (q_i + b) . k_j + direction_scale * direction_i[0 if j > i, 1 if j < i] + offset; out_i = sum over j
 * of weight_ij v_j. If normalised, the weights are divided by their sum; a sum below LH_REF_LEAST_TOTAL is
 * replaced by LH_REF_LEAST_TOTAL, as the authors' code does. weights [heads][tokens][tokens]: written, after the
 * division; q, k, v, out: see lh_ref_attend, without rotation. */
void lh_ref_geometric_attend(const lh_ref_geometric *settings, const double *q, const double *k, const double *v,
                             double *weights, double *out);

/* Gradients of the parameters and of direction; functions add to them. */
typedef struct lh_ref_geometric_grad {
    double *content_bias, *direction; /* direction: NULL where the input is NULL */
    double scale, direction_scale, offset;
} lh_ref_geometric_grad;

/* Writes dq, dk, dv from dout, and adds to the gradients in grad. */
void lh_ref_geometric_attend_grad(const lh_ref_geometric *settings, const double *q, const double *k, const double *v,
                                  const double *dout, double *dq, double *dk, double *dv, lh_ref_geometric_grad *grad);

/* Deliberate mistakes in stick-breaking attention. A test sets one in lh_ref_stick; its comparison must then fail. */
typedef enum lh_ref_stick_mistake {
    LH_REF_STICK_NO_MISTAKE,
    LH_REF_STICK_FARTHEST_FIRST, /* the stick goes from key 0 to the nearest key */
    LH_REF_STICK_OTHER_START,    /* own_key is negated */
    LH_REF_STICK_SELF_PASSED,    /* weight_j also has the factor 1 - P_j */
    LH_REF_STICK_OTHER_REST,     /* own_value is negated */
    LH_REF_STICK_MISTAKES
} lh_ref_stick_mistake;

/* Stick-breaking attention of one sequence. The keys of query i are the keys before i, and with own_key also key i. */
typedef struct lh_ref_stick {
    int tokens, heads, head_width, own_key;
    int own_value;               /* the query's own value gets the rest of the stick as its weight */
    const double *cosine, *sine; /* [tokens][head_width/2] rotation of q and k before the product; NULL: no rotation */
    int rotated_heads;           /* the number of heads, from the first on, that rotate; 0: all */
    lh_ref_stick_mistake mistake;
} lh_ref_stick;

/* The weights of one query i: weight_j = P_j times the product of 1 - P_s over the keys s from j + 1 to the last key of
 * the query; rest = the product of 1 - P_s over all its keys; P = sigmoid(logit). lh_ref_stick_row writes the weights
 * [tokens] and returns the rest, computed from sums of logarithms; row_grad writes dlogit [tokens].
 * Source: Tan et al. 2024, "Stick-breaking Attention". */
double lh_ref_stick_row(const lh_ref_stick *settings, int query, const double *logit, double *weight);
void lh_ref_stick_row_grad(const lh_ref_stick *settings, int query, const double *logit, const double *dweight,
                           double drest, double *dlogit);

/* logit_ij = q_i . k_j / sqrt(head_width), written to logits [heads][query][key], -infinity if j is no key of i. out_i
 * is the sum over j of weight_ij v_j; if own_value, rest_i v_i is added. weights [heads][tokens][tokens]: written; q,
 * k, v, out: see lh_ref_attend. */
void lh_ref_stick_attend(const lh_ref_stick *settings, const double *q, const double *k, const double *v,
                         double *logits, double *weights, double *out);

/* Writes dq, dk, dv from dout. */
void lh_ref_stick_attend_grad(const lh_ref_stick *settings, const double *q, const double *k, const double *v,
                              const double *dout, double *dq, double *dk, double *dv);

/* Adds to score [heads][query][key], for each query i and key j, the sum of log(sigmoid(sign * gate_s)) over tokens s
 * with min(i, j) < s <= max(i, j); gate [tokens][heads]. The gradient is added to dgate.
 * Sources, both for keys before the query: Lin et al. 2025, "Forgetting Transformer" (sign 1); Veisi et al. 2025,
 * "Context-aware biases for length extrapolation" (sign -1). */
void lh_ref_forget(int tokens, int heads, int sign, const double *gate, double *score);
void lh_ref_forget_grad(int tokens, int heads, int sign, const double *gate, const double *dscore, double *dgate);

/* Deliberate mistakes in contextual positions. A test sets one in lh_ref_cope; its comparison must then fail. */
typedef enum lh_ref_cope_mistake {
    LH_REF_NO_MISTAKE,
    LH_REF_COUNTED_FROM_START, /* a key counts the keys before it */
    LH_REF_OWN_GATE_LEFT_OUT,  /* the query's own key does not count */
    LH_REF_GATES_UNSCALED,     /* gates lack the factor 1 / sqrt(head_width) */
    LH_REF_COUNTS_DETACHED,    /* counts have no gradient */
    LH_REF_COPE_MISTAKES
} lh_ref_cope_mistake;

/* Contextual positions. The gate of query i and key s <= i is g_is = sigmoid(q_i . k_s / sqrt(head_width)). The count
 * of key j is p = min(sum over s = j..i of g_is, rows - 1). The term of the pair is q_i . e, where e interpolates
 * linearly between the rows floor(p) and ceil(p) of the table. floor, ceil and counts that min has cut to rows - 1 have
 * no gradient. Source: Golovneva et al. 2024, "Contextual Position Encoding: Learning to Count What's
 * Important". The division of terms is only in the authors' code. */
typedef struct lh_ref_cope {
    int tokens, heads, head_width, rows;
    bool divided;        /* terms are divided by sqrt(head_width) */
    const double *table; /* [rows][head_width], for all heads */
    lh_ref_cope_mistake mistake;
} lh_ref_cope;

/* Adds the terms to score [heads][query][key], for keys up to the query; q, k: see lh_ref_attend. The gradients are
 * added to dq, dk and dtable. */
void lh_ref_cope_terms(const lh_ref_cope *settings, const double *q, const double *k, double *score);
void lh_ref_cope_grad(const lh_ref_cope *settings, const double *q, const double *k, const double *dscore, double *dq,
                      double *dk, double *dtable);

/* Deliberate mistakes in additive GRAPE. A test sets one in lh_ref_grape; its comparison must then fail. */
typedef enum lh_ref_grape_mistake {
    LH_REF_NO_GRAPE_MISTAKE,
    LH_REF_VECTORS_UNDIVIDED, /* vectors are not divided by their norms */
    LH_REF_PRODUCTS_UNSCALED, /* products lack the factor 1 / sqrt(head_width) */
    LH_REF_TOKENS_EXCHANGED,  /* each gate is computed from the pair's other token */
    LH_REF_STRENGTH_PLAIN,    /* strengths lack the softplus */
    LH_REF_GATES_DETACHED,    /* queries and keys get no gradients from gates */
    LH_REF_GRAPE_MISTAKES
} lh_ref_grape_mistake;

/* Additive GRAPE. The term of a pair is -|i - j| * slope * softplus(strength) * (key_gate_j + query_gate_i), where
 *   slope         is ALiBi's slope of the head
 *   key_gate_j    is softplus(u . k_j / sqrt(head_width)), u the head's key_vector divided by max(its norm, 1e-6)
 *   query_gate_i  is softplus(v . q_i / sqrt(head_width)), v the head's query_vector divided by max(its norm, 1e-6)
 * Source: Zhang et al. 2025, "Group Representational Position Encoding", released code, for keys up to the query. */
typedef struct lh_ref_grape {
    int tokens, heads, head_width;
    const double *key_vector, *query_vector; /* [heads][head_width]; NULL: no gates of keys or of queries */
    const double *strength;                  /* [heads] */
    lh_ref_grape_mistake mistake;
} lh_ref_grape;

/* lh_ref_grape_terms_grad adds to these gradients. NULL: the vector is missing. */
typedef struct lh_ref_grape_grad {
    double *q, *k, *key_vector, *query_vector, *strength;
} lh_ref_grape_grad;

/* Adds the terms to score [heads][query][key]; q, k: see lh_ref_attend. */
void lh_ref_grape_terms(const lh_ref_grape *settings, const double *q, const double *k, double *score);
void lh_ref_grape_terms_grad(const lh_ref_grape *settings, const double *q, const double *k, const double *dscore,
                             const lh_ref_grape_grad *grad);

/* Deliberate mistakes in sums over keys. A test sets one in lh_ref_row_sums; its comparison must then fail. */
typedef enum lh_ref_row_sums_mistake {
    LH_REF_NO_SUMS_MISTAKE,
    LH_REF_SUMMED_FROM_START, /* a key's sums contain the keys before it */
    LH_REF_KEY_LEFT_OUT,      /* sums do not contain the pair's key */
    LH_REF_QUERY_LEFT_OUT,    /* sums do not contain the query's own key */
    LH_REF_SUMS_DETACHED,     /* logits get no gradient from sums */
    LH_REF_ROW_SUMS_MISTAKES
} lh_ref_row_sums_mistake;

/* The score of the spec parity_float64_row_sums, for keys up to the query: z_is is the logit of query i and key s, and
 * sums are over s = j..i. The term of a pair is -slope log(1 + sum of sigmoid(sharpness z_is))
 * + 0.25 sum of slope z_is exp(0.1 (s - i)). */
typedef struct lh_ref_row_sums {
    int tokens, heads, head_width;
    const double *sharpness, *slope; /* [heads] */
    lh_ref_row_sums_mistake mistake;
} lh_ref_row_sums;

/* Adds the terms to score [heads][query][key]; q, k: see lh_ref_attend. Gradients are added to dq, dk, dsharpness and
 * dslope. */
void lh_ref_row_sum_terms(const lh_ref_row_sums *settings, const double *q, const double *k, double *score);
void lh_ref_row_sum_grad(const lh_ref_row_sums *settings, const double *q, const double *k, const double *dscore,
                         double *dq, double *dk, double *dsharpness, double *dslope);

/* One entry of the attention matrix of one head. The functions below that have this argument return a bias, which
 * is added to the entry's scaled logit; lh_ref_t5_bucket returns an index. */
typedef struct lh_ref_pair {
    int head, heads;
    int query, key; /* indices i and j, from 0 */
} lh_ref_pair;

/* Slope m of a head: 2^(-8 (head + 1) / heads) if `heads` is a power of two. For another number of heads, the first
 * heads have all slopes of the next smaller power of two, and the other heads have the first, third, ... slopes of the
 * next larger power. Source: Press et al. 2022, "Train Short, Test Long", section 3 and the authors' code. */
double lh_ref_alibi_slope(int head, int heads);

/* -m |i - j|; Press et al. use it only for j <= i. */
double lh_ref_alibi(lh_ref_pair pair);

/* m (-|i - j| + (1/2 if j < i)): the sides differ by half a step. Source: Ruoss et al. 2023, official code. */
double lh_ref_alibi_half_step(lh_ref_pair pair);

/* Returns the index of a bucket of distances, 0 to buckets - 1. Every bucket has a learned bias. The first half of the
 * buckets is for j <= i, the second half for j > i. In each half, distances below buckets / 4 have one bucket each. The
 * widths of the further buckets grow by a constant factor up to max_distance. The last bucket is unbounded. Source:
 * Raffel et al. 2020, "Exploring the Limits of Transfer Learning", section 2.1 and the authors' code, with 32 buckets
 * and max_distance 128. */
int lh_ref_t5_bucket(lh_ref_pair pair, int buckets, int max_distance);

/* -r1 log(1 + r2 |i - j|) and -r1 |i - j|^r2; r1, r2 > 0, learned per head, and r2 <= 2 in lh_ref_kerple_power.
 * Source: Chi et al. 2022, "KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation". */
double lh_ref_kerple_log(lh_ref_pair pair, double r1, double r2);
double lh_ref_kerple_power(lh_ref_pair pair, double r1, double r2);

/* f(x) with x = psi(|i - j|) / psi(max(i, threshold)), psi(d) = log(c d + 1), and f a network with one hidden layer of
 * ReLUs, which all heads share, and one output for each head; c, threshold > 0. In the paper j <= i, so x <= 1.
 * Source: Li et al. 2024, "Functional Interpolation for Relative Positions Improves Long Context Transformers". */
typedef struct lh_ref_fire_parameters {
    double c, threshold;
    int width;
    const double *input_weight, *input_offset; /* [width] */
    const double *output_weight;               /* [width][heads] */
    const double *output_offset;               /* [heads] */
} lh_ref_fire_parameters;
double lh_ref_fire(lh_ref_pair pair, const lh_ref_fire_parameters *parameters);

/* Sum over m = 1..width/2 of cos(|i - j| / 10000^(2m/width)); by head: (sum - width/2) / (8 (head + 1) / heads), which
 * is 0 on the diagonal. Source: Chi et al. 2023, "Dissecting Transformer Length Extrapolation via the Lens of Receptive
 * Field Analysis". */
double lh_ref_sandwich(lh_ref_pair pair, int width);
double lh_ref_sandwich_by_head(lh_ref_pair pair, int width);

/* Returns the sum over rows of -log softmax(logits[rows][classes])[label], in nats. Unless dlogits is NULL, writes
 * dlogits = loss_scale (softmax - e), where e is 1 for the label and 0 for other classes. */
double lh_ref_cross_entropy(int rows, int classes, const double *logits, const uint16_t *labels, double loss_scale,
                            double *dlogits);

/* One site of dropout. */
typedef struct lh_ref_dropout {
    lh_key key;
    uint32_t step, site; /* site: from lh_site */
    double rate;         /* share of elements dropped, 0 <= rate < 1; 0: off */
} lh_ref_dropout;

/* Returns whether element e (= token * width + feature) of this example is kept. Every element has sixteen bits of a
 * Philox block: eight elements per block, low half of a word first. The element is kept if its bits are at least
 * round(65536 rate). */
int lh_ref_dropout_keeps(const lh_ref_dropout *site, uint32_t example, uint32_t element);

/* y = keeps(e) ? x / (1 - rate) : 0 for the `count` elements of one example; y may be x. The gradient is the same
 * function, applied to dy. */
void lh_ref_drop(const lh_ref_dropout *site, uint32_t example, int count, const double *x, double *y);

/* Returns the standard normal number of element e (= token * width + feature) of an example. For noise on embeddings,
 * site is lh_site(LH_DOMAIN_EVAL_NOISE, draw, embedding). Two words of a block give two numbers,
 * sqrt(-2 ln u) times cos and sin of 2 pi v; u and v are (upper 23 bits of a word + 1/2) / 2^23. Source: Box and Muller
 * 1958. */
double lh_ref_normal(lh_key key, uint32_t step, uint32_t site, uint32_t example, uint32_t element);

/* Returns the factor that clips a gradient: min(1, clip_norm / gradient_norm), or 1 if clip_norm is 0. gradient_norm:
 * the global L2 norm. Source: Pascanu et al. 2013, algorithm 1. */
double lh_ref_clip(double clip_norm, double gradient_norm);

/* Adam after clipping of the gradient by its global L2 norm. */
typedef struct lh_ref_adam {
    double learning_rate, beta1, beta2, epsilon;
    double clip_norm; /* 0: no clipping */
} lh_ref_adam;

/* g = gradient * min(1, clip_norm / gradient_norm); first = beta1 first + (1 - beta1) g;
 * second = beta2 second + (1 - beta2) g^2; parameter -= learning_rate m / (sqrt(v) + epsilon), where
 * m = first / (1 - beta1^step), v = second / (1 - beta2^step), step = 1 for the first update.
 * gradient_norm is the norm of the whole model's gradient, of which these `count` elements are a part.
 * Source: Kingma and Ba 2014, "Adam", algorithm 1. */
void lh_ref_adam_update(const lh_ref_adam *settings, int64_t step, double gradient_norm, int count,
                        const double *gradient, double *parameter, double *first, double *second);

/* First parameter *= 1 - learning_rate * decay, then Adam. Source: Loshchilov and Hutter 2019, algorithm 2, in the form
 * of PyTorch's AdamW. */
void lh_ref_adamw_update(const lh_ref_adam *settings, double decay, int64_t step, double gradient_norm, int count,
                         const double *gradient, double *parameter, double *first, double *second);

/* Gradient descent after clipping. */
typedef struct lh_ref_sgd {
    double learning_rate;
    double clip_norm; /* 0: no clipping */
} lh_ref_sgd;

/* parameter -= learning_rate * g, where g is the clipped gradient of lh_ref_adam_update. */
void lh_ref_sgd_update(const lh_ref_sgd *settings, double gradient_norm, int count, const double *gradient,
                       double *parameter);

/* running = momentum * running + g; parameter -= learning_rate * running, where g is the clipped gradient of
 * lh_ref_adam_update. Source: PyTorch's SGD without dampening. */
void lh_ref_momentum_update(const lh_ref_sgd *settings, double momentum, double gradient_norm, int count,
                            const double *gradient, double *parameter, double *running);

#endif
