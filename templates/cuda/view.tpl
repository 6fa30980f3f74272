% paragraph("parts/position_row.tpl") % if tables
% for _, family in ipairs(attentions) do
% paragraph("attention/cuda/distances.tpl", family.on_device) % if family.on_device.terms.pair_vectors
% end
typedef global<real> reals;
typedef global<unsigned char> masks;

% paragraph("cuda/lengths.tpl") % if streams[2]
% include("cuda/layout.tpl")

/* A block's view of one step or evaluation. */
typedef struct step_view {
    global<const parameters> p;
    global<const position_row> tables; % if tables
    global<const int> pass_counts; /* [2] number of passes through the layers, number of passes without gradient */ % if device.has_passes
    global<const int> ${draw.member}; /* ${draw.shape} */ % for _, draw in ipairs(cuda.step_draws)
    shared_tables shared; % if cuda.has_shared_tables
% if streams[2] then
    lengths T;
    int label_count;
% else
    int T, label_count;
% end
} step_view;
% include("attention/cuda/family_view.tpl", family.on_device) % for _, family in ipairs(attentions)

/* The state that a block's threads share, in shared memory after the staging memory of operations. One thread writes the
 * state, between barriers. */
typedef struct block_state {
    step_view view;
    workspace work;
    ${block.state} ${block.name}; % for _, block in ipairs(device.states)
    reals ${group.name}_input; /* input of the ${group.name} */ % for _, group in ipairs(device.groups)
    int l;             /* current layer */
    int use;           /* index of the current repetition, counted over all loops */ % if device.has_loops
    global<const real> input; /* input of the layer */
    int sequences;     /* number of sequences of the shard, or of the group that the block evaluates */
    int first;         /* index of the block's first sequence in the arrays of `step` */
    char *memory;      /* the block's part of the launch's workspace */ % if cuda.products == "generated"
    global<${cuda.gradients}> gradient; /* gradient of the shard */
    global<const unsigned short> ${device.tokens}, labels;
    global<const unsigned short> place; /* index of each label's token in its sequence */ % if readout == "probe"
    global<const unsigned char> mask;
    table_sums sums; /* sums of the shard */ % if cuda.has_table_sums
% if device.decoding then
    caches cached;
    int decodes; /* whether the group is decoded: then all layers cache values */
    int current; /* index of the decoded token in its sequence */
    int before;  /* index of the model's first sequence in the arrays of results */
% end
% if cuda.by_team then
    operands held;            /* operands of the shard; in add_up_products, of the first shard */
    weights_gradient weights; /* gradient that the block computes */
    int most_sequences;       /* number of sequences of the largest shard */
    ${device.lengths} rows_before; /* index of the current repetition's first row in a stored operand */
% end
    const lh_cuda_step *parts; /* [PARTS] parts of the step, from long to short sequences; unused parts at the end have no sequences */ % if train.mixes_lengths
    int largest_shard; /* largest number of sequences of a shard */ % if train.mixes_lengths
    lh_cuda_step step;
    lh_cuda_train train;
    lh_cuda_replica replica;
    team members;
} block_state;
static_assert(sizeof(block_state) <= BLOCK_STATE, "plan.cuda.block_state is too small");
% if cuda.multiplies then
static_assert(${cuda.staging_name} == ${cuda.staging}, "plan.cuda.staging is the staging memory of kernels");
% end

INLINE block_state *block(void) { return (block_state *)(staging() + ${cuda.staging_name}); }
% if device.has_passes then

/* The number of passes through the layers in the step or evaluation. */
INLINE int count_passes(void) { return block()->view.pass_counts[0]; }
% if device.samples_passes then

/* The number of passes without gradient. These passes come first in a step. */
INLINE int count_free_passes(void) { return block()->view.pass_counts[1]; }

/* Returns the index of the state for repetition `index` of a block. All repetitions without gradient share state 0.
 * count: the number of repetitions in one pass. */
INLINE int choose_state(int index, int count) {
    const int free = count_free_passes() * count;
    return index < free ? 0 : index + 1 - free;
}
% end
% end
% for _, c in ipairs(device.decoding and device.decoding.caches or {}) do

/* The cached values of repetition `use` of ${c.block}: for each token of each sequence, ${c.width} numbers. */
INLINE real *${c.block}_${c.name}_cache(int use) {
    const block_state *b = block();
    return b->cached.${c.block}_${c.name} + (size_t)use * b->sequences * b->view.${c.T} * ${c.width};
}
% end
% if cuda.by_team then

/* The number of rows before repetition `use` in a shard's stored operands. A repetition has an even number of rows. */
INLINE size_t count_rows_before(int use, int T) { return (size_t)use * ((block()->most_sequences * T + 1u) / 2 * 2); }
% end
% if device.rounds then

/* The rounded weights of products in training. All other fields hold gradients of the first shard. */
INLINE const parameters *rounded(void) { return (const parameters *)block()->replica.partials; }
% end
% for _, draw in ipairs(cuda.step_draws) do
% if draw.positions_function then

/* The positions of the block's sequences, [sequences][T]. */
INLINE const int *${draw.positions_function}(void) { return block()->view.${draw.member} + (size_t)block()->first * block()->view.${draw.T}; }
% end
% end
