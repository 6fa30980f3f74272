/* Interface of the kernels of operations.cu and their tests: test_products.c, test_operations.c and
 * test_update_rules.c. Kernels are called <operation>_<precision>; they run in blocks of 256 threads. */
#ifndef LH_TESTS_OPERATIONS_H
#define LH_TESTS_OPERATIONS_H

enum {
    LH_OPERATIONS_WIDTH = 40,          /* width of normed rows, not a multiple of a warp */
    LH_OPERATIONS_HEAD = 12,           /* width of a head */
    LH_OPERATIONS_SHARED = 6 * 32 * 64 /* elements of shared memory */
};

/* Orders and finishes of kernels/cuda/product.cu. */
enum { LH_ROWS, LH_COLUMNS };
enum { LH_STORE, LH_BIAS, LH_BIAS_RELU, LH_ADD, LH_RELU_GRAD, LH_BY_HEAD, LH_FINISHES };

/* Forms of the norms of kernels/cuda/norm.cu and rms_norm.cu. */
enum {
    LH_ALONE,       /* the norm of a vector */
    LH_ALONE_ADDED, /* the same; the backward pass adds to an existing gradient */
    LH_SUM,         /* the norm of a sum */
    LH_SUM_KEPT,    /* the same; the sum is stored, too */
    LH_SUM_ONLY,    /* a sum without a norm */
    LH_FORMS
};

typedef struct lh_norm {
    int rows, form;
    int rms, dropout;  /* whether it is an RMS norm, and whether the summand has dropout: 0 or 1 */
    double keep_scale; /* factor of the elements that dropout keeps */
} lh_norm;

/* Passes of kernels/cuda/activations.cu; the first four are numbered as in kernels/ref. */
enum { LH_RELU, LH_GELU, LH_GELU_TANH, LH_SILU, LH_SWIGLU, LH_GEGLU, LH_ACTIVATIONS };

typedef struct lh_product {
    int rows, columns, K;
    int along_a, along_b, finish;   /* orders of the operands; the finish */
    int stride_a, stride_b, stride; /* elements */
} lh_product;

typedef struct lh_masks {
    unsigned int key[2], step, example, site, drop_below;
} lh_masks;

#endif
