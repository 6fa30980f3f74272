/* Reference networks: models and their execution, one sequence at a time; see network.h. */
#include <string.h>

#include "kernels/ref/tape.h"

/* ---- models ---- */

lh_ref_model *lh_ref_model_new(const lh_ref_network *network) {
    lh_ref_model *model = allocate(1, sizeof *model);
    model->network = network;
    model->tensor_count = network->tensor_count;
    model->tensors = allocate((size_t)network->tensor_count, sizeof *model->tensors);
    for (int i = 0; i < network->tensor_count; i++) {
        const lh_ref_shape *shape = &network->tensors[i];
        size_t count = (size_t)shape->rows * (size_t)shape->columns;
        model->tensors[i] =
            (lh_ref_tensor){shape->name, shape->rows, shape->columns, allocate_doubles(count), allocate_doubles(count)};
    }
    return model;
}

void lh_ref_model_free(lh_ref_model *model) {
    if (!model) return;
    for (int i = 0; i < model->tensor_count; i++) {
        free(model->tensors[i].value);
        free(model->tensors[i].gradient);
    }
    free(model->tensors);
    free(model);
}

lh_ref_tensor *lh_ref_model_find(const lh_ref_model *model, const char *name) {
    for (int i = 0; i < model->tensor_count; i++)
        if (strcmp(model->tensors[i].name, name) == 0) return &model->tensors[i];
    return NULL;
}

void lh_ref_model_clear(lh_ref_model *model) {
    for (int i = 0; i < model->tensor_count; i++) {
        lh_ref_tensor *tensor = &model->tensors[i];
        memset(tensor->gradient, 0, (size_t)tensor->rows * (size_t)tensor->columns * sizeof *tensor->gradient);
    }
}

/* ---- one sequence ---- */

static node *make_node(run *r, int rows, int width) {
    if (r->node_count == r->node_capacity) {
        r->node_capacity = 2 * r->node_capacity + 64;
        r->nodes = realloc(r->nodes, (size_t)r->node_capacity * sizeof *r->nodes);
        if (!r->nodes) abort();
    }
    size_t count = (size_t)rows * (size_t)width;
    node *n = allocate(1, sizeof *n);
    *n = (node){rows, width, allocate_doubles(count), allocate_doubles(count)};
    return r->nodes[r->node_count++] = n;
}

/* Returns a copy of a node. No gradient flows from the copy to the node. */
static node *copy_node(run *r, const node *from) {
    node *copy = make_node(r, from->rows, from->width);
    memcpy(copy->x, from->x, count_elements(from) * sizeof *from->x);
    return copy;
}

/* Makes the values of a scope for one repetition.
 *   outside  values of the enclosing scope, or NULL
 *   input    input of the block, or NULL */
static node **make_frame(run *r, const lh_ref_scope *scope, node **outside, node *input) {
    node **frame = allocate((size_t)scope->value_count, sizeof *frame);
    for (int i = 0; i < scope->value_count; i++) {
        const lh_ref_value *value = &scope->values[i];
        if (value->outside >= 0) frame[i] = outside[value->outside];
        else if (input && i == scope->input) frame[i] = input;
        else frame[i] = make_node(r, count_tokens(r, value->stream), value->width);
    }
    r->frames = realloc(r->frames, (size_t)(r->frame_count + 1) * sizeof *r->frames);
    if (!r->frames) abort();
    return r->frames[r->frame_count++] = frame;
}

/* Calls the observer for a repetition of a block. first_entry: index of the repetition's first tape entry. */
static void call_observer(const run *r, int layer, const node *input, const node *output, int first_entry) {
    lh_ref_layer_values values = {.input = input->x, .output = output->x};
    for (int i = first_entry; i < r->length; i++) {
        const attention_values *stored = &r->tape[i].attention;
        if (r->tape[i].op->kind != LH_REF_ATTENTION) continue;
        if (!values.attention) {
            values.scores = stored->logits;
            values.attention = stored->weights;
        } else if (!values.cross) {
            values.cross = stored->weights;
        }
    }
    r->batch->observer->observe(r->batch->observer->context, r->sequence, layer, &values);
}

/* One repetition of a scope. Every tape entry of the repetition has a copy of these fields. */
typedef struct scope_repetition {
    node **values;
    lh_ref_tensor *tensors;
    int layer; /* as in tape_entry */
    int index; /* index of the repetition */
    uint32_t dropout_layer;
} scope_repetition;

/* Appends an operation to the tape and runs it forward. */
static void execute(run *r, const lh_ref_operation *op, const scope_repetition *repetition) {
    if (r->length == r->capacity) {
        r->capacity = 2 * r->capacity + 64;
        r->tape = realloc(r->tape, (size_t)r->capacity * sizeof *r->tape);
        if (!r->tape) abort();
    }
    tape_entry *entry = &r->tape[r->length++];
    *entry = (tape_entry){.op = op,
                          .values = repetition->values,
                          .tensors = repetition->tensors,
                          .layer = repetition->layer,
                          .repetition = repetition->index,
                          .dropout_layer = repetition->dropout_layer};
    lh_ref_forward[op->kind](r, entry);
}

static void run_block(run *r, const lh_ref_operation *op, const scope_repetition *outer);

static void run_scope(run *r, const lh_ref_scope *scope, const scope_repetition *repetition) {
    for (int i = 0; i < scope->operation_count; i++) {
        const lh_ref_operation *op = &scope->operations[i];
        if (op->kind == LH_REF_BLOCK) run_block(r, op, repetition);
        else execute(r, op, repetition);
    }
}

/* Adds a loop's share to r->loss.
 *   op      the block or group that loops
 *   output  output of the loop */
static void add_loss(run *r, const lh_ref_operation *op, const scope_repetition *outer, node *output) {
    const lh_ref_scope *network = r->model->network->scopes;
    const lh_ref_operation *classify = &network->operations[network->operation_count - 1];
    scope_repetition repetition = *outer;
    repetition.values = make_frame(r, network, NULL, NULL);
    memcpy(repetition.values, outer->values, (size_t)network->value_count * sizeof *outer->values);
    repetition.values[op->out] = output;
    repetition.values[classify->out] = copy_node(r, outer->values[classify->out]);
    execute(r, classify, &repetition);
}

/* Runs a block or a group in one repetition of the enclosing scope. The output of a repetition is the input of the next
 * repetition. */
static void run_block(run *r, const lh_ref_operation *op, const scope_repetition *outer) {
    const lh_ref_scope *block = &r->model->network->scopes[op->block];
    node *input = outer->values[op->x[0]];
    int loops = block->loops > 1 && r->batch->passes > 0 ? r->batch->passes : block->loops;
    int times = block->times ? block->times : block->repetitions * loops; /* runs of the block in this call */
    /* the first free_times runs get no gradient */
    int free_times = block->loops > 1 && !block->times ? r->batch->free_passes * block->repetitions : 0;
    if (block->has_pass_losses && r->batch->backward) r->losses = loops;
    for (int i = outer->index * times; i < (outer->index + 1) * times; i++) {
        if (i > 0 && i == free_times) input = copy_node(r, input);
        int first_tensor = block->first_tensor + i % block->repetitions * block->tensor_count;
        int first_entry = r->length;
        scope_repetition repetition = {.values = make_frame(r, block, outer->values, input),
                                       .tensors = r->model->tensors + first_tensor,
                                       .layer = block->is_group ? r->layers : r->layers++,
                                       .index = i,
                                       .dropout_layer = (uint32_t)(block->dropout_layer + i)};
        run_scope(r, block, &repetition);
        node *output = repetition.values[block->output];
        if (r->batch->observer && !block->is_group) call_observer(r, repetition.layer, input, output, first_entry);
        if (r->losses > 0 && block->has_pass_losses && i + 1 < times) add_loss(r, op, outer, output);
        input = output;
    }
    outer->values[op->out] = input;
}

/* Runs the forward pass of a sequence and returns its loss. */
static double run_forward(run *r) {
    const lh_ref_scope *network = r->model->network->scopes;
    scope_repetition repetition = {.values = make_frame(r, network, NULL, NULL), .tensors = r->model->tensors};
    run_scope(r, network, &repetition);
    return r->loss;
}

static void close_run(run *r) {
    for (int i = 0; i < r->length; i++) {
        attention_values *values = &r->tape[i].attention;
        double *arrays[] = {values->q,        values->k,        values->v,     values->weights,
                            values->logits,   values->cosine,   values->sine,  values->key_cosine,
                            values->key_sine, values->relative, values->score, values->keep};
        for (size_t j = 0; j < sizeof arrays / sizeof *arrays; j++) free(arrays[j]);
    }
    for (int i = 0; i < r->node_count; i++) {
        free(r->nodes[i]->x);
        free(r->nodes[i]->d);
        free(r->nodes[i]);
    }
    for (int i = 0; i < r->frame_count; i++) free(r->frames[i]);
    free(r->tape);
    free(r->nodes);
    free(r->frames);
}

double lh_ref_run(lh_ref_model *model, const lh_ref_batch *batch, double *logits) {
    double loss = 0;
    for (int b = 0; b < batch->sequences; b++) {
        run r = {.model = model, .batch = batch, .sequence = b, .logits = logits};
        loss += run_forward(&r);
        for (int i = r.length - 1; batch->backward && i >= 0; i--) lh_ref_backward[r.tape[i].op->kind](&r, &r.tape[i]);
        close_run(&r);
    }
    return loss;
}
