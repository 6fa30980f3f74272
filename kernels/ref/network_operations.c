/* Operations of reference networks; see network.h and tape.h. */
#include <math.h>
#include <string.h>

#include "kernels/ref/tape.h"

void lh_ref_apply_dropout(const run *r, const tape_entry *entry, size_t count, const double *x, double *y) {
    const lh_ref_batch *batch = r->batch;
    uint32_t dropout_site = (uint32_t)entry->op->dropout_site;
    if (batch->dropping == LH_REF_NO_DROPOUT || entry->op->rate <= 0) {
        memmove(y, x, count * sizeof *y);
        return;
    }
    uint32_t site_word = batch->dropping == LH_REF_IN_EVALUATION
                             ? lh_site(LH_DOMAIN_EVAL_DROPOUT, batch->draw,
                                       (uint32_t)r->model->network->dropout_sites * entry->dropout_layer + dropout_site)
                             : lh_site(LH_DOMAIN_DROPOUT, entry->dropout_layer, dropout_site);
    lh_ref_dropout site = {batch->key, batch->step, site_word, entry->op->rate};
    lh_ref_drop(&site, batch->first_example + (uint32_t)r->sequence, (int)count, x, y);
}

/* ---- tokens and positions ---- */

/* Reorders a sinusoid so that sines and cosines alternate. */
static void interleave(int width, double *vector) {
    double *halves = allocate_doubles((size_t)width);
    memcpy(halves, vector, (size_t)width * sizeof *vector);
    for (int m = 0; m < width / 2; m++) {
        vector[2 * m] = halves[m];
        vector[2 * m + 1] = halves[width / 2 + m];
    }
    free(halves);
}

/* Writes the sinusoid of a position. */
static void make_sinusoid(const lh_ref_operation *op, int width, int position, double *vector) {
    int parts = op->grid > 0 ? 2 : 1, part_width = width / parts;
    if (op->period > 0) position %= op->period;
    for (int i = 0; i < parts; i++) {
        int part_position = op->grid == 0 ? position : i == 0 ? position % op->grid : position / op->grid;
        lh_ref_sinusoid(part_width, part_position, vector + i * part_width);
        if (op->interleaved) interleave(part_width, vector + i * part_width);
    }
}

/* Returns the positions [tokens] whose vectors an operation adds to tokens. */
static const int32_t *get_positions(const run *r, const tape_entry *entry) {
    const int32_t *input_positions = r->batch->input_positions[entry->op->stream];
    bool depends_on_layer = entry->op->kind == LH_REF_PLACE && r->batch->position_rows > 1;
    if (input_positions) return input_positions;
    return r->batch->positions + (depends_on_layer ? entry->layer * r->batch->tokens : 0);
}

/* Adds the vectors of the tokens' positions. */
static void add_positions(const run *r, const tape_entry *entry, node *out) {
    double *vector = allocate_doubles((size_t)out->width);
    for (int t = 0; t < out->rows && entry->op->additive != LH_REF_NONE; t++) {
        int position = get_positions(r, entry)[t];
        if (entry->op->additive == LH_REF_SINUSOID) make_sinusoid(entry->op, out->width, position, vector);
        else
            memcpy(vector, get_parameter(entry, LH_REF_POSITIONS) + (size_t)position * (size_t)out->width,
                   (size_t)out->width * sizeof *vector);
        add((size_t)out->width, out->x + (size_t)t * (size_t)out->width, vector);
    }
    free(vector);
}

static void add_positions_grad(const run *r, const tape_entry *entry, const node *out, const double *d) {
    size_t width = (size_t)out->width;
    for (int t = 0; t < out->rows && entry->op->additive == LH_REF_LEARNED; t++)
        add(width, get_gradient(entry, LH_REF_POSITIONS) + (size_t)get_positions(r, entry)[t] * width,
            d + (size_t)t * width);
}

static const uint16_t *get_tokens(const run *r, const tape_entry *entry) {
    int stream = entry->op->stream;
    const uint16_t *tokens = stream ? r->batch->target : r->batch->token;
    return tokens + (size_t)r->sequence * (size_t)count_tokens(r, stream);
}

/* Adds the noise of an evaluation to the vectors of tokens. */
static void add_noise(const run *r, const tape_entry *entry, node *out) {
    const lh_ref_batch *batch = r->batch;
    uint32_t site = lh_site(LH_DOMAIN_EVAL_NOISE, batch->draw, (uint32_t)entry->op->embedding);
    for (int t = 0; t < out->rows && batch->noise > 0; t++) {
        double *row = out->x + t * out->width, squares = 0;
        for (int c = 0; c < out->width; c++) squares += row[c] * row[c];
        bool is_relative = r->model->network->noise == LH_REF_RELATIVE_NOISE;
        double deviation = batch->noise * (is_relative ? sqrt(squares / out->width) : 1);
        for (int c = 0; c < out->width; c++)
            row[c] +=
                deviation * lh_ref_normal(batch->key, batch->step, site, batch->first_example + (uint32_t)r->sequence,
                                          (uint32_t)(t * out->width + c));
    }
}

static void embed_forward(run *r, tape_entry *entry) {
    node *out = get_output(entry);
    const uint16_t *token = get_tokens(r, entry);
    const double *table = get_parameter(entry, LH_REF_TABLE), *shift = get_parameter(entry, LH_REF_SHIFT);
    for (int t = 0; t < out->rows; t++) {
        int row = token[t] - entry->op->blanks;
        for (int c = 0; c < out->width; c++)
            out->x[t * out->width + c] =
                (row < 0 ? 0 : entry->op->scale * table[row * out->width + c]) + (shift ? shift[c] : 0);
    }
    add_noise(r, entry, out);
    add_positions(r, entry, out);
    lh_ref_apply_dropout(r, entry, count_elements(out), out->x, out->x);
}

static void embed_backward(run *r, tape_entry *entry) {
    node *out = get_output(entry);
    const uint16_t *token = get_tokens(r, entry);
    double *table = get_gradient(entry, LH_REF_TABLE), *shift = get_gradient(entry, LH_REF_SHIFT);
    double *d = allocate_doubles(count_elements(out));
    lh_ref_apply_dropout(r, entry, count_elements(out), out->d, d);
    for (int t = 0; t < out->rows; t++) {
        int row = token[t] - entry->op->blanks;
        for (int c = 0; c < out->width; c++) {
            if (row >= 0) table[row * out->width + c] += entry->op->scale * d[t * out->width + c];
            if (shift) shift[c] += d[t * out->width + c];
        }
    }
    add_positions_grad(r, entry, out, d);
    free(d);
}

/* For LH_REF_ZEROS, whose zeros make_node (network.c) writes. LH_REF_ZEROS and LH_REF_NOISE have no input that gets a
 * gradient. */
static void do_nothing(run *r, tape_entry *entry) {
    (void)r;
    (void)entry;
}

/* Writes noise, the input of a block's first pass. */
static void noise_forward(run *r, tape_entry *entry) {
    const lh_ref_batch *batch = r->batch;
    node *out = get_output(entry);
    uint32_t site = batch->backward ? lh_site(LH_DOMAIN_START, 0, 0) : lh_site(LH_DOMAIN_EVAL_START, batch->draw, 0);
    for (size_t i = 0; i < count_elements(out); i++)
        out->x[i] = entry->op->scale * lh_ref_normal(batch->key, batch->step, site,
                                                     batch->first_example + (uint32_t)r->sequence, (uint32_t)i);
}

static void place_forward(run *r, tape_entry *entry) {
    node *out = get_output(entry);
    memcpy(out->x, get_input(entry, 0)->x, count_elements(out) * sizeof *out->x);
    add_positions(r, entry, out);
    lh_ref_apply_dropout(r, entry, count_elements(out), out->x, out->x);
}

static void place_backward(run *r, tape_entry *entry) {
    node *out = get_output(entry);
    double *d = allocate_doubles(count_elements(out));
    lh_ref_apply_dropout(r, entry, count_elements(out), out->d, d);
    add(count_elements(out), get_input(entry, 0)->d, d);
    add_positions_grad(r, entry, out, d);
    free(d);
}

/* ---- rows ---- */

static void product_forward(run *r, tape_entry *entry) {
    (void)r;
    node *x = get_input(entry, 0), *out = get_output(entry);
    for (int i = 0, first = 0; i < entry->op->parts; i++) {
        const lh_ref_tensor *weight = get_tensor(entry, LH_REF_WEIGHT + i);
        double *y = allocate_doubles((size_t)x->rows * (size_t)weight->columns);
        lh_ref_matmul(x->rows, weight->rows, weight->columns, x->x, weight->value,
                      get_parameter(entry, LH_REF_BIAS + i), y);
        add_columns(x->rows, out->width, first, weight->columns, y, out->x);
        first += weight->columns;
        free(y);
    }
}

static void product_backward(run *r, tape_entry *entry) {
    (void)r;
    node *x = get_input(entry, 0), *out = get_output(entry);
    double *dx = allocate_doubles(count_elements(x));
    for (int i = 0, first = 0; i < entry->op->parts; i++) {
        const lh_ref_tensor *weight = get_tensor(entry, LH_REF_WEIGHT + i);
        double *dy = take_columns(x->rows, out->width, first, weight->columns, out->d);
        lh_ref_matmul_weight_grad(x->rows, weight->rows, weight->columns, x->x, dy, weight->gradient,
                                  get_gradient(entry, LH_REF_BIAS + i));
        lh_ref_matmul_input_grad(x->rows, weight->rows, weight->columns, dy, weight->value, dx);
        add(count_elements(x), x->d, dx);
        first += weight->columns;
        free(dy);
    }
    free(dx);
}

static void activation_forward(run *r, tape_entry *entry) {
    node *out = get_output(entry);
    lh_ref_activation(entry->op->f, (int)count_elements(out), get_input(entry, 0)->x, out->x);
    lh_ref_apply_dropout(r, entry, count_elements(out), out->x, out->x);
}

static void activation_backward(run *r, tape_entry *entry) {
    node *x = get_input(entry, 0);
    double *dx = allocate_doubles(count_elements(x));
    lh_ref_apply_dropout(r, entry, count_elements(x), get_output(entry)->d, dx);
    lh_ref_activation_grad(entry->op->f, (int)count_elements(x), x->x, dx, dx);
    add(count_elements(x), x->d, dx);
    free(dx);
}

static void gate_forward(run *r, tape_entry *entry) {
    node *out = get_output(entry);
    lh_ref_gate(entry->op->f, out->rows, out->width, get_input(entry, 0)->x, out->x);
    lh_ref_apply_dropout(r, entry, count_elements(out), out->x, out->x);
}

static void gate_backward(run *r, tape_entry *entry) {
    node *x = get_input(entry, 0), *out = get_output(entry);
    double *dx = allocate_doubles(count_elements(x)), *dy = allocate_doubles(count_elements(out));
    lh_ref_apply_dropout(r, entry, count_elements(out), out->d, dy);
    lh_ref_gate_grad(entry->op->f, out->rows, out->width, x->x, dy, dx);
    add(count_elements(x), x->d, dx);
    free(dx);
    free(dy);
}

static void norm_forward(run *r, tape_entry *entry) {
    (void)r;
    node *x = get_input(entry, 0), *out = get_output(entry);
    const double *scale = get_parameter(entry, LH_REF_SCALE);
    if (entry->op->is_rms) lh_ref_rms_norm(x->rows, x->width, x->x, scale, out->x);
    else lh_ref_layer_norm(x->rows, x->width, x->x, scale, get_parameter(entry, LH_REF_OFFSET), out->x);
}

static void norm_backward(run *r, tape_entry *entry) {
    (void)r;
    node *x = get_input(entry, 0), *out = get_output(entry);
    double *dx = allocate_doubles(count_elements(x)), *dscale = get_gradient(entry, LH_REF_SCALE);
    const double *scale = get_parameter(entry, LH_REF_SCALE);
    if (entry->op->is_rms) lh_ref_rms_norm_grad(x->rows, x->width, x->x, scale, out->d, dx, dscale);
    else lh_ref_layer_norm_grad(x->rows, x->width, x->x, scale, out->d, dx, dscale, get_gradient(entry, LH_REF_OFFSET));
    add(count_elements(x), x->d, dx);
    free(dx);
}

static void sum_forward(run *r, tape_entry *entry) {
    node *out = get_output(entry);
    lh_ref_apply_dropout(r, entry, count_elements(out), get_input(entry, 1)->x, out->x);
    add(count_elements(out), out->x, get_input(entry, 0)->x);
}

static void sum_backward(run *r, tape_entry *entry) {
    node *out = get_output(entry);
    double *d = allocate_doubles(count_elements(out));
    lh_ref_apply_dropout(r, entry, count_elements(out), out->d, d);
    add(count_elements(out), get_input(entry, 1)->d, d);
    add(count_elements(out), get_input(entry, 0)->d, out->d);
    free(d);
}

/* ---- logits and loss ---- */

/* Returns the index of the weight of class v for channel c: in a tensor [width][classes], or in the tied table. */
static int get_weight_index(const run *r, const tape_entry *entry, int c, int v) {
    return entry->op->is_tied ? (entry->op->first_class + v) * get_input(entry, 0)->width + c
                              : c * r->model->network->classes + v;
}

/* Copies the weight of the logits to [width][classes]; the caller frees the copy. */
static double *copy_output_weight(const run *r, const tape_entry *entry) {
    const lh_ref_tensor *weight = get_tensor(entry, LH_REF_WEIGHT);
    int C = get_input(entry, 0)->width, V = r->model->network->classes;
    double *out = allocate_doubles((size_t)C * (size_t)V);
    for (int c = 0; c < C; c++)
        for (int v = 0; v < V; v++) out[c * V + v] = weight->value[get_weight_index(r, entry, c, v)];
    return out;
}

static void add_output_weight_grad(const run *r, const tape_entry *entry, const double *dweight) {
    double *gradient = get_gradient(entry, LH_REF_WEIGHT);
    int C = get_input(entry, 0)->width, V = r->model->network->classes;
    for (int c = 0; c < C; c++)
        for (int v = 0; v < V; v++) gradient[get_weight_index(r, entry, c, v)] += dweight[c * V + v];
}

/* Returns the row of x from which label i of the sequence is predicted. */
static size_t get_labelled_row(const run *r, const node *x, int i) {
    const uint16_t *place = r->batch->place;
    return place ? place[r->sequence * r->batch->labels + i] : (size_t)(x->rows - r->batch->labels + i);
}

/* Returns the loss of one sequence, and writes d, the gradient of the logits. */
static double compute_loss(const run *r, const double *logits, double *d) {
    int labels = r->batch->labels, V = r->model->network->classes;
    double loss = 0, *first_d = d;
    for (int i = 0; i < labels; i++, logits += V, d += V) {
        size_t index = (size_t)r->sequence * (size_t)labels + (size_t)i; /* index of the label in the batch */
        if (r->batch->mask && !r->batch->mask[index]) memset(d, 0, (size_t)V * sizeof *d);
        else loss += lh_ref_cross_entropy(1, V, logits, r->batch->label + index, r->batch->loss_scale, d);
    }
    for (int i = 0; r->losses > 0 && i < labels * V; i++) first_d[i] /= r->losses;
    return r->losses > 0 ? loss / r->losses : loss;
}

static void classify_forward(run *r, tape_entry *entry) {
    node *x = get_input(entry, 0), *out = get_output(entry);
    int labels = r->batch->labels, V = r->model->network->classes;
    size_t width = (size_t)x->width;
    double *weight = copy_output_weight(r, entry);
    for (int i = 0; i < labels; i++)
        lh_ref_matmul(1, x->width, V, x->x + get_labelled_row(r, x, i) * width, weight,
                      get_parameter(entry, LH_REF_BIAS), out->x + (size_t)i * (size_t)V);
    r->loss += compute_loss(r, out->x, out->d);
    if (r->logits)
        memcpy(r->logits + (size_t)r->sequence * (size_t)(labels * V), out->x, (size_t)(labels * V) * sizeof *out->x);
    free(weight);
}

static void classify_backward(run *r, tape_entry *entry) {
    node *x = get_input(entry, 0), *out = get_output(entry);
    int labels = r->batch->labels, V = r->model->network->classes, C = x->width;
    double *weight = copy_output_weight(r, entry), *dweight = allocate_doubles((size_t)C * (size_t)V),
           *dx = allocate_doubles((size_t)C);
    for (int i = 0; i < labels; i++) {
        size_t row = get_labelled_row(r, x, i) * (size_t)C;
        const double *d = out->d + (size_t)i * (size_t)V;
        lh_ref_matmul_weight_grad(1, C, V, x->x + row, d, dweight, get_gradient(entry, LH_REF_BIAS));
        lh_ref_matmul_input_grad(1, C, V, d, weight, dx);
        add((size_t)C, x->d + row, dx);
    }
    add_output_weight_grad(r, entry, dweight);
    free(weight);
    free(dweight);
    free(dx);
}

/* LH_REF_BLOCK has no functions: run_block (network.c) executes the operations of the block. */
operation *const lh_ref_forward[] = {
    [LH_REF_EMBED] = embed_forward,       [LH_REF_PLACE] = place_forward,
    [LH_REF_PRODUCT] = product_forward,   [LH_REF_ACTIVATION] = activation_forward,
    [LH_REF_GATE] = gate_forward,         [LH_REF_NORM] = norm_forward,
    [LH_REF_ADD] = sum_forward,           [LH_REF_ATTENTION] = lh_ref_attention_forward,
    [LH_REF_CLASSIFY] = classify_forward, [LH_REF_ZEROS] = do_nothing,
    [LH_REF_NOISE] = noise_forward,       [LH_REF_RECUR] = lh_ref_recurrence_forward,
};
operation *const lh_ref_backward[] = {
    [LH_REF_EMBED] = embed_backward,       [LH_REF_PLACE] = place_backward,
    [LH_REF_PRODUCT] = product_backward,   [LH_REF_ACTIVATION] = activation_backward,
    [LH_REF_GATE] = gate_backward,         [LH_REF_NORM] = norm_backward,
    [LH_REF_ADD] = sum_backward,           [LH_REF_ATTENTION] = lh_ref_attention_backward,
    [LH_REF_CLASSIFY] = classify_backward, [LH_REF_ZEROS] = do_nothing,
    [LH_REF_NOISE] = do_nothing,           [LH_REF_RECUR] = lh_ref_recurrence_backward,
};
