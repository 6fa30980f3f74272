/* Kernels for norms and activations; the file that is included before this one defines how warps hold rows. */
#include "kernels/cuda/layernorm.cu"
#include "kernels/cuda/norm.cu"
#include "kernels/cuda/rms_norm.cu"
#include "kernels/cuda/functions.cu"
#include "kernels/cuda/activations.cu"

/* Kernels that call the function that n describes. keep: mask bits, or NULL. The case of a form is
 * form * 4 + (2 for an RMS norm) + (1 with dropout). */
static __global__ void norm_kernel(const lh_norm n, const real *residual, const real *branch, const unsigned char *keep,
                                   const real *scale, const real *offset, real *sum, real *xhat, real *rstd, real *y) {
    const int m = n.rows;
    const real keep_scale = (real)n.keep_scale;
    switch (n.form * 4 + n.rms * 2 + n.dropout) {
    case LH_ALONE * 4: layer_norm(m, residual, scale, offset, xhat, rstd, y); break;
    case LH_ALONE * 4 + 2: rms_norm(m, residual, scale, xhat, rstd, y); break;
    case LH_SUM * 4: add_norm(m, residual, branch, scale, offset, xhat, rstd, y); break;
    case LH_SUM * 4 + 1: add_dropout_norm(m, residual, branch, keep, keep_scale, scale, offset, xhat, rstd, y); break;
    case LH_SUM * 4 + 2: rms_add_norm(m, residual, branch, scale, xhat, rstd, y); break;
    case LH_SUM * 4 + 3: rms_add_dropout_norm(m, residual, branch, keep, keep_scale, scale, xhat, rstd, y); break;
    case LH_SUM_KEPT * 4: add_norm_sum(m, residual, branch, scale, offset, sum, xhat, rstd, y); break;
    case LH_SUM_KEPT * 4 + 1:
        add_dropout_norm_sum(m, residual, branch, keep, keep_scale, scale, offset, sum, xhat, rstd, y);
        break;
    case LH_SUM_KEPT * 4 + 2: rms_add_norm_sum(m, residual, branch, scale, sum, xhat, rstd, y); break;
    case LH_SUM_KEPT * 4 + 3:
        rms_add_dropout_norm_sum(m, residual, branch, keep, keep_scale, scale, sum, xhat, rstd, y);
        break;
    case LH_SUM_ONLY * 4: add_branch(m, residual, branch, sum); break;
    case LH_SUM_ONLY * 4 + 1: add_dropout_branch(m, residual, branch, keep, keep_scale, sum); break;
    }
}

static __global__ void norm_grad_kernel(const lh_norm n, const real *dy, const real *xhat, const real *rstd,
                                        const real *scale, const unsigned char *keep, real *dz, real *dbranch,
                                        real *dscale, real *doffset) {
    const int m = n.rows;
    const real keep_scale = (real)n.keep_scale;
    switch (n.form * 4 + n.rms * 2 + n.dropout) {
    case LH_ALONE * 4: layer_norm_grad(m, dy, xhat, rstd, scale, dz, dscale, doffset); break;
    case LH_ALONE * 4 + 2: rms_norm_grad(m, dy, xhat, rstd, scale, dz, dscale); break;
    case LH_ALONE_ADDED * 4: layer_norm_grad_added(m, dy, xhat, rstd, scale, dz, dscale, doffset); break;
    case LH_ALONE_ADDED * 4 + 2: rms_norm_grad_added(m, dy, xhat, rstd, scale, dz, dscale); break;
    case LH_SUM * 4: add_norm_grad(m, dy, xhat, rstd, scale, dz, dscale, doffset); break;
    case LH_SUM * 4 + 1:
        add_dropout_norm_grad(m, dy, xhat, rstd, scale, keep, keep_scale, dz, dbranch, dscale, doffset);
        break;
    case LH_SUM * 4 + 2: rms_add_norm_grad(m, dy, xhat, rstd, scale, dz, dscale); break;
    case LH_SUM * 4 + 3:
        rms_add_dropout_norm_grad(m, dy, xhat, rstd, scale, keep, keep_scale, dz, dbranch, dscale);
        break;
    case LH_SUM_KEPT * 4: add_norm_sum_grad(m, dy, xhat, rstd, scale, dz, dscale, doffset); break;
    case LH_SUM_KEPT * 4 + 1:
        add_dropout_norm_sum_grad(m, dy, xhat, rstd, scale, keep, keep_scale, dz, dbranch, dscale, doffset);
        break;
    case LH_SUM_KEPT * 4 + 2: rms_add_norm_sum_grad(m, dy, xhat, rstd, scale, dz, dscale); break;
    case LH_SUM_KEPT * 4 + 3:
        rms_add_dropout_norm_sum_grad(m, dy, xhat, rstd, scale, keep, keep_scale, dz, dbranch, dscale);
        break;
    case LH_SUM_ONLY * 4: copy_rows(m, dy, dbranch); break;
    case LH_SUM_ONLY * 4 + 1: dropout_grad(m, dy, keep, keep_scale, dbranch); break;
    }
}

/* Kernels that apply activation f to rows of WIDTH numbers; rows of a gate's input and of its gradient have twice as
 * many numbers. */
static __global__ void activation_kernel(int f, int rows, const real *x, real *y) {
    switch (f) {
    case LH_RELU: relu(rows, WIDTH, x, y); break;
    case LH_GELU: gelu(rows, WIDTH, x, y); break;
    case LH_GELU_TANH: gelu_tanh(rows, WIDTH, x, y); break;
    case LH_SILU: silu(rows, WIDTH, x, y); break;
    case LH_SWIGLU: swiglu(rows, WIDTH, x, y); break;
    case LH_GEGLU: geglu(rows, WIDTH, x, y); break;
    }
}

static __global__ void activation_grad_kernel(int f, int rows, const real *x, const real *dy, real *dx) {
    switch (f) {
    case LH_RELU: relu_grad(rows, WIDTH, x, dy, dx); break;
    case LH_GELU: gelu_grad(rows, WIDTH, x, dy, dx); break;
    case LH_GELU_TANH: gelu_tanh_grad(rows, WIDTH, x, dy, dx); break;
    case LH_SILU: silu_grad(rows, WIDTH, x, dy, dx); break;
    case LH_SWIGLU: swiglu_grad(rows, WIDTH, x, dy, dx); break;
    case LH_GEGLU: geglu_grad(rows, WIDTH, x, dy, dx); break;
    }
}

#define OPERATIONS_OF_ROWS(precision) \
    OPERATION(norm, precision) \
    OPERATION(norm_grad, precision) \
    OPERATION(activation, precision) \
    OPERATION(activation_grad, precision)
