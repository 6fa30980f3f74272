% local draws = cuda.host_draws
% local longest_lengths = streams[2] and "make_lengths(longest)" or "longest->length[0]"
% include("parts/banner.tpl", { template = "cuda/cuda.c.tpl", lines = comments.cuda })
#include "config.h"

#include <string.h>

#include "longhand/cuda.h"
#include "longhand/cuda_interface.h"
#include "longhand/cuda_place.h" % if cuda.products == "library"
#include "longhand/math.h" % if tables
#include "longhand/positions.h" % if draws[1]

#define INLINE static inline
% for _, family in ipairs(attentions) do
% if family.on_device.terms.pair_vectors then

% include("attention/cuda/distances.tpl", family.on_device)
% end
% end
% if device.masks[1] then

enum { DROPOUT_SITES = ${device.site_count} };
% end

typedef real *reals;
typedef unsigned char *masks;

% if streams[2] then
% include("cuda/lengths.tpl")

static lengths make_lengths(const lh_shape *shape) { return (lengths){shape->length[0], shape->length[1]}; }

% end
% include("cuda/layout.tpl")
% if tables then

% include("parts/position_tables.tpl")
% end
% if draws[1] then

% include("cuda/draws.tpl")
% end

% if cuda.has_shared_tables then
static size_t shared_bytes(const lh_shape *longest) {
    shared_tables tables;
    return lay_out_shared(&tables, NULL, ${longest_lengths});
}
% else
static size_t shared_bytes(const lh_shape *longest) { return 0; }
% end

/* The bytes of memory for one shard: its gradient, any sums for tables, and any stored operands. */
% if cuda.products == "library" and cuda.has_table_sums then
% -- two sets of sums: of the shard, and of one repetition (more_sums.tpl)
% local sets = device.adds_table_sums and "2 * " or ""
static size_t partial_bytes(const lh_shape *longest) { return GRADIENT_BYTES + ${sets}sum_bytes(${longest_lengths}); }
% elseif cuda.products == "library" then
static size_t partial_bytes(const lh_shape *longest) { return GRADIENT_BYTES; }
% elseif cuda.by_team then
% local sums = cuda.has_table_sums and " + sum_bytes(" .. longest_lengths .. ")" or ""
static size_t partial_bytes(const lh_shape *longest) {
    operands o;
    return ${parameter_storage} * sizeof(real)${sums} + lay_out_operands(&o, NULL, longest->sequences, ${longest_lengths});
}
% elseif cuda.has_table_sums then
static size_t partial_bytes(const lh_shape *longest) {
    return ${parameter_storage} * sizeof(real) + sum_bytes(${longest_lengths});
}
% else
static size_t partial_bytes(const lh_shape *longest) { return ${parameter_storage} * sizeof(real); }
% end

static size_t workspace_bytes(const lh_shape *part, lh_mode mode) {
    workspace w;
    return lay_out(&w, NULL, part->sequences, ${streams[2] and "make_lengths(part)" or "part->length[0]"}, part->labels, mode == LH_MODE_TRAIN);
}

% if device.decoding then
static size_t decode_bytes(const lh_shape *part) {
    caches c;
    return lay_out_caches(&c, NULL, workspace_bytes(part, LH_MODE_EVALUATE), part->sequences, ${streams[2] and "make_lengths(part)" or "part->length[0]"});
}

% end
/* Returns the number of sequences in a group: at most ${cuda.group_tokens} tokens together, but at least one sequence. */
static int evaluation_group(const lh_shape *shape) {
    const int T = shape->length[0]${streams[2] and " + shape->length[1]" or ""};
    return T < ${cuda.group_tokens} ? ${cuda.group_tokens} / T : 1;
}

% paragraph("cuda/launches.tpl") % if cuda.products == "library"
#if defined(LH_CUDA_SOURCE)
extern const char longhand_text_${symbol}[];
#endif
#if defined(LH_CUDA_TOOLKIT)
extern const lh_cuda_image longhand_images_${symbol}[];
#endif

extern const lh_cuda_program longhand_cuda_${symbol};
const lh_cuda_program longhand_cuda_${symbol} = {
        .source_digest = "${cuda_source_digest}",
        .precision = "${precision}",
        .real_bytes = REAL_BYTES,
        .train_kernel = "longhand_train_${symbol}",
        .evaluate_kernel = "longhand_evaluate_${symbol}",
        .least_architecture = ${least_architecture},
        .threads = ${cuda.threads},
        .block_memory = ${cuda.staging} * sizeof(real) + ${cuda.block_state},
        .chip = {"chip", ${cuda.chip_shards}}, /* number of shards if one model has the GPU alone */
        .replicas = {"replicas", ${cuda.replica_shards}}, /* number of shards of each of several models that train at once */
        .parts = ${cuda.parts}, % if train.mixes_lengths
% if optimizer.corrects then
        .beta1 = ${f64(optimizer.corrects[1])},
        .beta2 = ${f64(optimizer.corrects[2])},
% end
#if defined(LH_CUDA_TOOLKIT)
        .images = longhand_images_${symbol},
        .toolkit = LH_CUDA_TOOLKIT,
#endif
#if defined(LH_CUDA_SOURCE)
        .source = longhand_text_${symbol},
#endif
% if tables then
        .tables_bytes = tables_bytes,
        .make_tables = make_tables,
% end
% if draws[1] then
% local draw_prefix = draws[2] and "" or draws[1].prefix
        .draw_count = ${draw_prefix}draw_count,
        .draw_scratch = ${cuda.draw_scratch},
        .draw = ${draw_prefix}draw,
% end
        .shared_bytes = shared_bytes,
        .partial_bytes = partial_bytes,
        .workspace_bytes = workspace_bytes,
        .decode_bytes = decode_bytes, % if device.decoding
        .evaluation_group = evaluation_group,
% if cuda.products == "library" then
        .most_launches = MOST_LAUNCHES,
        .launches_of_pass = LAUNCHES_OF_PASS, % if device.has_passes
        .launches = launches,
% end
};
