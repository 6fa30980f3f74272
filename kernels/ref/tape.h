/* The tape, a record of a network's operations for one sequence, and other internal declarations of the files that
 * implement network.h. */
#ifndef LONGHAND_KERNELS_REF_TAPE_H
#define LONGHAND_KERNELS_REF_TAPE_H

#include <stdlib.h>

#include "kernels/ref/network.h"

static inline void *allocate(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size);
    if (!p) abort();
    return p;
}

static inline double *allocate_doubles(size_t count) { return allocate(count, sizeof(double)); }

static inline void add(size_t count, double *total, const double *x) {
    for (size_t i = 0; i < count; i++) total[i] += x[i];
}

/* A value and its gradient, [rows][width]. */
typedef struct node {
    int rows, width;
    double *x, *d;
} node;

/* Values that attention stores for its backward pass, [rows][width] unless noted. */
typedef struct attention_values {
    double *q, *k, *v;
    double *weights, *logits; /* [heads][queries][keys] */
    double *cosine, *sine;    /* [rows][head width / 2], rows: queries, or max(queries, keys) if both share positions */
    double *key_cosine, *key_sine; /* [keys][head width / 2]; NULL: keys have the positions of queries */
    double *relative;              /* [queries][keys][width], or NULL */
    double *score; /* [heads][queries][keys]: added to scaled logits; -infinity where the mask hides a key; or NULL */
    double *keep;  /* [heads][queries][keys]: dropout factors of weights, or NULL */
} attention_values;

/* One executed operation. */
typedef struct tape_entry {
    const lh_ref_operation *op;
    node **values;          /* values of the operation's scope in this repetition */
    lh_ref_tensor *tensors; /* tensors of the scope in this repetition */
    int layer;              /* number of earlier repetitions of blocks; 0 outside of blocks */
    int repetition;         /* index of the repetition of the block */
    uint32_t dropout_layer; /* `layer` of lh_site for dropout in training */
    attention_values attention;
} tape_entry;

/* The execution of one sequence. */
typedef struct run {
    lh_ref_model *model;
    const lh_ref_batch *batch;
    int sequence; /* index in the batch */
    int layers;   /* number of repetitions of blocks so far */
    tape_entry *tape;
    int length;   /* number of entries of the tape */
    int capacity; /* number of allocated entries */
    node **nodes; /* all nodes, for freeing */
    int node_count, node_capacity;
    node ***frames; /* all lists of scopes' values, for freeing */
    int frame_count;
    double *logits; /* logits of the batch, or NULL */
    double loss;
    int losses; /* number of losses, whose mean is the loss; 0: a single loss, without a mean */
} run;

static inline int count_tokens(const run *r, int stream) { return stream ? r->batch->target_tokens : r->batch->tokens; }

static inline size_t count_elements(const node *n) { return (size_t)n->rows * (size_t)n->width; }

/* Returns the tensor that has this role in an entry, or NULL if the entry has no such tensor. role: an index such as
 * LH_REF_WEIGHT. */
static inline lh_ref_tensor *get_tensor(const tape_entry *entry, int role) {
    int index = entry->op->tensor[role];
    return index < 0 ? NULL : &entry->tensors[index];
}

static inline const double *get_parameter(const tape_entry *entry, int role) {
    const lh_ref_tensor *tensor = get_tensor(entry, role);
    return tensor ? tensor->value : NULL;
}

static inline double *get_gradient(const tape_entry *entry, int role) {
    const lh_ref_tensor *tensor = get_tensor(entry, role);
    return tensor ? tensor->gradient : NULL;
}

/* Returns input x[index] of an entry; NULL: the entry has none. */
static inline node *get_input(const tape_entry *entry, int index) {
    return entry->op->x[index] < 0 ? NULL : entry->values[entry->op->x[index]];
}

static inline node *get_output(const tape_entry *entry) { return entry->values[entry->op->out]; }

/* Copies columns [first, first + width) of rows with row_width channels; the caller frees the copy. */
static inline double *take_columns(int rows, int row_width, int first, int width, const double *x) {
    double *columns = allocate_doubles((size_t)rows * (size_t)width);
    for (int t = 0; t < rows; t++)
        for (int c = 0; c < width; c++) columns[t * width + c] = x[t * row_width + first + c];
    return columns;
}

/* Adds `columns` to these columns of x. */
static inline void add_columns(int rows, int row_width, int first, int width, const double *columns, double *x) {
    for (int t = 0; t < rows; t++)
        for (int c = 0; c < width; c++) x[t * row_width + first + c] += columns[t * width + c];
}

/* y = x with dropout at the entry's site, for values and for their gradients; y may be x. */
void lh_ref_apply_dropout(const run *r, const tape_entry *entry, size_t count, const double *x, double *y);

/* Executes the operation of an entry, forward or backward. */
typedef void operation(run *r, tape_entry *entry);

/* Functions by kind of operation; backward functions add to the gradients of the inputs. */
extern operation *const lh_ref_forward[], *const lh_ref_backward[];
operation lh_ref_attention_forward, lh_ref_attention_backward, lh_ref_recurrence_forward, lh_ref_recurrence_backward,
    lh_ref_memory_forward, lh_ref_memory_backward;

#endif
