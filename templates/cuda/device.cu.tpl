% include("parts/banner.tpl", { template = "cuda/device.cu.tpl", lines = comments.device })
#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(type, name) extern __shared__ type name[]
#endif
#define INLINE static __device__ __forceinline__
#define NOINLINE static __device__ __noinline__
#ifndef NULL
#define NULL nullptr
#endif

typedef double real; % if precision == "float64"
typedef float real; % else

% if draws_distances then
typedef int int32_t;

% end
% splice("longhand/cuda_interface.h", "include")
% splice("longhand/cuda_place.h", "include") % if cuda.products == "library"
% splice("longhand/cuda_loops.h", "include") % if device.has_passes

enum {
    THREADS = ${cuda.threads}, /* number of threads of a block */
    DROPOUT_SITES = ${device.site_count}, /* number of masks of WIDTH channels for one sequence */ % if device.masks[1]
    PARAMETER_STORAGE = ${parameter_storage}, /* number of elements of the parameter vector */
    PARTS = ${cuda.parts}, /* largest number of parts of a step; all sequences of a part have the same length */ % if train.mixes_lengths
    % include("parts/dimensions.tpl")
    % include("attention/cuda/head_constants.tpl", family) % for _, family in ipairs(attentions)
% if attentions[2] then
    HEADS = ${PREFIX}HEADS, /* number of heads of every attention; kernels use these names */
    HEAD_WIDTH = ${PREFIX}HEAD_WIDTH,
% end
    STAGING = ${cuda.staging}, /* number of reals in shared memory for sums over a thread block */ % if not cuda.multiplies
    BLOCK_STATE = ${cuda.block_state} /* bytes of a thread block's state, which follows ${cuda.multiplies and "the staging memory of products" or "these reals"} */
};

% include("parts/parameters.tpl")

% include("cuda/constants.tpl")
% for _, name in ipairs(cuda.kernels) do
% splice(name)

% end
% include("cuda/optimizer.tpl")

% include("cuda/view.tpl")

% slot("functions", family.on_device) % for _, family in ipairs(attentions)
% slot("make_tables", family.on_device) % for _, family in ipairs(attentions)
% paragraph("cuda/begin.tpl") % if cuda.has_begin_step
% paragraph("cuda/draw_bits.tpl") % if device.bits[1]
% paragraph(family.attends.template, family.on_device) % for _, family in ipairs(attentions)
% paragraph("cuda/masks.tpl") % if device.has_dropout
% paragraph("cuda/noise.tpl") % if noise
% for i, embedding in ipairs(device.embeddings) do
% if i > 1 then

% end
% include("cuda/embed.tpl", embedding)

% include("cuda/embed_grad.tpl", embedding)
% end
% slot("rotation_functions", family.on_device) % for _, family in ipairs(attentions)

% paragraph(f.template, f) % for _, f in ipairs(device.rows)
% include("cuda/loss.tpl")

% if cuda.products == "generated" then
% -- has_products: whether products.tpl prints any function
% local has_products = not cuts_by_warp or not cuda.by_team or cuda.multiplies_tables
% paragraph("cuda/products.tpl") % if has_products
% paragraph("cuda/add_numbers.tpl") % if device.has_loops
% paragraph("cuda/clear_numbers.tpl") % if device.clears_unwritten
% paragraph("cuda/more_sums.tpl") % if device.adds_table_sums
% else
% include("cuda/bias.tpl")

% paragraph("cuda/add_numbers.tpl") % if device.has_shared_gradients or device.adds_table_sums
% paragraph("cuda/clear_numbers.tpl") % if device.adds_table_sums
% paragraph("cuda/more_sums.tpl") % if device.adds_table_sums
% include("cuda/phase_names.tpl")

% end
% paragraph("cuda/decode_rows.tpl", { decodes = true }) % if device.decoding
/* Number of rows (tokens) of the block's sequences. */
% for _, stream in ipairs(device.streams) do
INLINE int ${stream.all_rows}(void) { return block()->sequences * block()->view.${stream.T}; }
% end

% for _, block in ipairs(device.blocks) do
% include(cuda.products == "generated" and "cuda/block.tpl" or "cuda/phases_of_block.tpl", block)

% end
% for _, group in ipairs(cuda.products == "library" and device.groups or {}) do
% include("cuda/phases_of_group.tpl", group)
% end
% for _, state in ipairs(cuda.products == "generated" and device.states or {}) do
% if state.is_group or state.in_group then
% include("cuda/find_state.tpl", state)

% end
% end
% for _, group in ipairs(cuda.products == "generated" and device.groups or {}) do
% include("cuda/group.tpl", group)

% end
% include("cuda/examples.tpl")
% include(cuda.products == "generated" and "cuda/step.tpl" or "cuda/phases.tpl")
