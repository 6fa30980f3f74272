% local draws, rows_of_draws = cuda.draws, cuda.draw_rows
% local pairwise = relative.kind ~= "none" and not relative.toeplitz
% local draw_scratch = pairwise and "PAIR_KEYS + 1 > MAX_POSITION ? PAIR_KEYS + 1 : MAX_POSITION" or "MAX_POSITION"
% include("parts/banner.tpl", { template = "cuda/cuda.c.tpl", about = about.cuda })
#include "config.h"

#include <string.h>

#include "longhand/cuda.h"
#include "longhand/cuda_interface.h"
% if cuda.products == "library" then
#include "longhand/cuda_place.h"
% end
% if tables then
#include "longhand/math.h"
% end
% if draws then
#include "longhand/positions.h"
% end

#define INLINE static inline
% if relative.kind ~= "none" then

% include("cuda/distances.tpl")
% end
% if device.masks[1] then

enum { DROPOUT_SITES = ${device.sites} };
% end

typedef real *reals;
typedef unsigned char *masks;

% include("cuda/layout.tpl")
% if tables then

% include("parts/position_tables.tpl")
% end
% if draws then

% if pairwise then
static int draw_count(const lh_shape *shape) {
    const int T = shape->length[0];
    pair_rows r;
    return ${rows_of_draws} * T + RELATIVE_SETS * (int)lay_out_pair_rows(&r, NULL, T);
}

% if relative.kind == "transformer_xl" then
/* The vector of a pair, before they are numbered. */
INLINE int pair_key(const int *position, int query, int key) { return position[key] - position[query] + MAX_POSITION - 1; }
enum { PAIR_KEYS = 2 * MAX_POSITION - 1 };
% else
/* The vector of a pair. */
INLINE int pair_key(const int *position, int query, int key) {
    int distance = position[key] - position[query], near = distance < ${relative.farthest} ? distance : ${relative.farthest};
    return (near > -CLIP ? near : -CLIP) + CLIP;
}
enum { PAIR_KEYS = ${relative.rows_text} };
% end

/* Numbers the vectors that occur, and sorts the pairs by them. rank: [PAIR_KEYS + 1] overwritten. */
static void sort_pairs(const int *position, int T, int *rank, int *out) {
    pair_rows r;
    int count = 0, first = 0;
    lay_out_pair_rows(&r, out, T);
    int *distance = out + (r.distance - out), *row = out + (r.row - out), *start = out + (r.start - out);
    int *pair = out + (r.pair - out);
    memset(rank, 0, (PAIR_KEYS + 1) * sizeof *rank);
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++) rank[pair_key(position, i, j)]++;
    for (int key = 0; key < PAIR_KEYS; key++) {
        int pairs = rank[key];
% if relative.kind == "transformer_xl" then
        if (pairs == 0) continue;
        distance[count] = key - (MAX_POSITION - 1);
% else
        distance[count] = key - CLIP;
% end
        start[count] = first;
        first += pairs;
        rank[key] = count++;
    }
    start[count] = first;
    out[0] = count;
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++) row[j * T + i] = rank[pair_key(position, i, j)];
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++) pair[start[row[j * T + i]]++] = i * T + j;
    for (int x = count; x > 0; x--) start[x] = start[x - 1];
    start[0] = 0;
}
% elseif positions.kind == "sequence" then
static int draw_count(const lh_shape *shape) { return shape->length[0]; }
% else
static int draw_count(const lh_shape *shape) { return ${rows_of_draws} * shape->length[0]; }
% end

% if positions.kind == "sequence" then
static void draw_sequences(const lh_draw *from, const lh_shape *shape, const int32_t *const positions[LH_MAX_STREAMS],
        int *scratch, int *out) {
    const int T = shape->length[0];
    for (int s = 0; s < shape->sequences; s++, out += T)
        if (positions[0]) memcpy(out, positions[0], (size_t)T * sizeof(int));
        else lh_draw_sequence(from, 0, (uint32_t)s, ${positions.first_text}, ${positions.range_text}, T, ${positions.sorted_text}, out, scratch);
}
% else
static void draw(const lh_draw *from, const lh_shape *shape, const int32_t *const positions[LH_MAX_STREAMS],
        const int32_t *const distances[LH_MAX_STREAMS], int *scratch, int *out) {
    const int T = shape->length[0];
% if pairwise then
    const int *drawn = out;
% end
% if cuda.position_draws > 0 then
    for (int d = 0; d < DRAWS; d++, out += T) {
        if (positions[0]) memcpy(out, positions[0], (size_t)T * sizeof(int));
        else
            lh_draw_positions(from, (uint32_t)d${positions.site_offset}, ${positions.first_text}, ${positions.range_text}, T, ${positions.sorted_text}, out, scratch);
    }
% else
    (void)positions;
% end
% if cuda.distance_rows > 1 then
    for (int d = 0; d < DISTANCE_DRAWS; d++, out += 2 * T) {
        int *middle = out + T;
        out[0] = 0; /* of no pair */
        if (distances[0])
            for (int i = 0; i < T; i++) {
                middle[i] = distances[0][i];
                middle[-i] = -distances[0][i];
            }
        else
            lh_draw_signed_distances(from, (uint32_t)d${positions.distance.site_offset}, MAX_POSITION, T, middle, scratch);
    }
% elseif cuda.distance_draws > 0 then
    for (int d = 0; d < DISTANCE_DRAWS; d++, out += T) {
        if (distances[0]) memcpy(out, distances[0], (size_t)T * sizeof(int));
        else
            lh_draw_distances(from, (uint32_t)d${positions.distance.site_offset}, MAX_POSITION, T, out, scratch);
    }
% else
    (void)distances;
% end
% if pairwise then
    for (int l = 0; l < RELATIVE_SETS; l++) {
        pair_rows r;
        sort_pairs(drawn + (${positions.layer_index}) * T, T, scratch, out);
        out += lay_out_pair_rows(&r, NULL, T);
    }
% end
}
% end
% end

% if cuda.shared then
static size_t shared_bytes(const lh_shape *longest) {
    shared_tables tables;
    return lay_out_shared(&tables, NULL, longest->length[0]);
}
% else
static size_t shared_bytes(const lh_shape *longest) {
    (void)longest;
    return 0;
}
% end

% if cuda.products == "library" and cuda.sums then
static size_t partial_bytes(const lh_shape *longest) { return GRADIENT_BYTES + sum_bytes(longest->length[0]); }
% elseif cuda.products == "library" then
static size_t partial_bytes(const lh_shape *longest) {
    (void)longest;
    return GRADIENT_BYTES;
}
% elseif cuda.sums then
static size_t partial_bytes(const lh_shape *longest) {
    return ${parameter_storage} * sizeof(real) + sum_bytes(longest->length[0]);
}
% else
static size_t partial_bytes(const lh_shape *longest) {
    (void)longest;
    return ${parameter_storage} * sizeof(real);
}
% end

static size_t workspace_bytes(const lh_shape *part, lh_mode mode) {
    workspace w;
    return lay_out(&w, NULL, part->sequences, part->length[0], part->labels, mode == LH_MODE_TRAIN);
}

/* A few tiles of tokens. */
static int evaluation_group(const lh_shape *shape) {
    const int T = shape->length[0];
    return T < ${cuda.group_tokens} ? ${cuda.group_tokens} / T : 1;
}

% if cuda.products == "library" then
% include("cuda/launches.tpl")

% end
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
        .chip = {"chip", ${cuda.chip}},
        .replicas = {"replicas", ${cuda.replicas}},
% if optimizer.beta1 then
        .beta1 = ${f64(optimizer.beta1)},
        .beta2 = ${f64(optimizer.beta2)},
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
% if draws then
        .draw_count = draw_count,
        .draw_scratch = ${draw_scratch},
% if positions.kind == "sequence" then
        .draw_sequences = draw_sequences,
% else
        .draw = draw,
% end
% end
        .shared_bytes = shared_bytes,
        .partial_bytes = partial_bytes,
        .workspace_bytes = workspace_bytes,
        .evaluation_group = evaluation_group,
% if cuda.products == "library" then
        .most_launches = MOST_LAUNCHES,
        .launches = launches,
% end
};
