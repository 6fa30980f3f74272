% local real = precision == "float64" and f64 or f32
% include("parts/banner.tpl", { template = "cuda/device.cu.tpl", about = about.device })
#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(type, name) extern __shared__ type name[]
#endif
#define INLINE [[maybe_unused]] static __device__ __forceinline__
#define NOINLINE static __device__ __noinline__

% if precision == "float64" then
#define REAL_BYTES 8
typedef double real;
% else
#define REAL_BYTES 4
typedef float real;
% end

% if draws_distances then
typedef int int32_t;

% end
% splice("cuda/interface.h")

enum {
    THREADS = ${cuda.threads}, /* of a block */
% if dropouts[1] then
    DROPOUT_SITES = ${cuda.sites}, /* masks of one sequence */
% end
    PARAMETER_STORAGE = ${parameter_storage}, /* elements of the vector of parameters */
    % include("parts/dimensions.tpl")
    QUERY_STRIDE = 3 * WIDTH,
    BLOCK_STATE = ${cuda.block_state} /* bytes of shared memory behind what products stage */
};

% include("parts/parameters.tpl")

% include("cuda/constants.tpl")
% for _, name in ipairs(cuda.kernels) do
% splice(name)

% end
% include("cuda/view.tpl")

% if score.kind ~= "none" then
% include("cuda/score.tpl")

% end
% include("cuda/begin.tpl")

% include("cuda/attention.tpl")

% include("cuda/layers.tpl")

% include("cuda/loss.tpl")

% include("cuda/step.tpl")
