% if tables then
% include("parts/position_row.tpl")

% end
% if relative.kind ~= "none" then
% include("cuda/distances.tpl")

% end
typedef global<real> reals;
typedef global<unsigned char> masks;

% include("cuda/layout.tpl")

/* One step or evaluation, as a block sees it. */
typedef struct step_view {
    global<const parameters> p;
% if tables then
    global<const position_row> tables;
% end
% if cuda.draws then
    global<const int> draws; /* ${cuda.draw_words}[T] */
% end
% if cuda.shared then
    shared_tables shared;
% end
    int T, label_count;
} step_view;
% if draws_distances then

% include("parts/drawn_distance.tpl")
% end
% if positions.layer_index and cuda.reads_positions then

/* The drawn positions that layer l reads. */
INLINE const int *positions_of(const step_view *v, int l) {
% if positions.layer_index == "0" then
    (void)l;
% end
    return v->draws + (${positions.layer_index}) * v->T;
}
% end
% if draws_distances then

% if positions.distance.independent then
/* The middle of the drawn distances that layer l reads. */
% else
/* The drawn distances that layer l reads, ascending from 0. */
% end
INLINE const int *distances_of(const step_view *v, int l) {
% if positions.distance.layer_index == "0" then
    (void)l;
% end
% if positions.distance.independent then
    return v->draws + (${cuda.first_distances} + 2 * ${positions.distance.layer_index} + 1) * v->T;
% else
    return v->draws + (${cuda.first_distances} + ${positions.distance.layer_index}) * v->T;
% end
}
% end
% if relative.kind ~= "none" and not relative.toeplitz then

/* The vectors of the pairs of layer l. */
INLINE pair_rows pair_rows_of(const step_view *v, int l) {
    pair_rows r;
    const size_t size = lay_out_pair_rows(&r, (const int *)0, v->T);
    lay_out_pair_rows(&r, v->draws + ${cuda.draw_rows} * v->T + (RELATIVE_SETS > 1 ? l : 0) * size, v->T);
    return r;
}

/* How many vectors they are. */
INLINE int row_count(const step_view *v, int l) { return *pair_rows_of(v, l).count; }
% elseif relative.kind ~= "none" then

INLINE int row_count(const step_view *v, int) { return distance_count(v->T); }
% end
% if score.kind ~= "none" then

/* The tables that layer l's score reads. */
INLINE void score_tables_of(const step_view *v, int l, score_tables *s) {
    size_t used = 0;
% if not score.per_layer then
    (void)l;
% end
    lay_out_score(s, v->shared.score${score.per_layer and " + (size_t)l * score_bytes(v->T)" or ""}, &used, v->T);
}
% end

/* What all threads of a block know of what they work on. It lies in shared memory, behind what operations stage there:
 * in registers it would leave no room for numbers. One thread writes it, between barriers. */
typedef struct block_state {
    step_view view;
    workspace work;
% for _, block in ipairs(device.blocks) do
    ${block.state} ${block.name};
% end
    int l;             /* the layer */
% if device.loops then
    int use;           /* of layers that are used several times, counted through */
% end
    global<const real> input; /* of the layer */
    int sequences;     /* the shard's, or the group's */
    int first;         /* of them in the batch */
% if cuda.products == "generated" then
    char *memory;      /* the block's part of the launch's workspace */
% end
    global<${cuda.gradients}> gradient; /* of the shard */
    global<const unsigned short> tokens, labels;
% if readout == "probe" then
    global<const unsigned short> place; /* of a label's token */
% end
    global<const unsigned char> mask;
% if cuda.sums then
    table_sums sums; /* of the shard */
% end
    lh_cuda_step step;
    lh_cuda_train train;
    lh_cuda_replica replica;
    team members;
} block_state;
static_assert(sizeof(block_state) <= BLOCK_STATE, "plan.cuda.block_state is too small");

INLINE block_state *block(void) { return (block_state *)(staging() + STAGING); }
% if positions.kind == "sequence" then

/* The positions of the block's sequences, [sequences][T]. */
INLINE const int *positions_of_sequences(void) { return block()->view.draws + block()->first * block()->view.T; }
% end
