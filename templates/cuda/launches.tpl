/* --- the launches of a step ------------------------------------------------------------------------------------- */

% include("cuda/phase_names.tpl")

% if device.has_passes then
enum { MOST_LAUNCHES = ${device.max_launches}, LAUNCHES_OF_PASS = ${device.launches_of_pass} };
% else
enum { MOST_LAUNCHES = ${device.max_launches} };
% end

% local rows_parameter = streams[2] and "int rows" or false
% local row_count = streams[2] and "rows" or "list->rows"
% if streams[2] then
/* A list of launches under construction. */
typedef struct launch_list {
    lh_cuda_launch *next;
    int ${stream.rows}; % for _, stream in ipairs(device.streams)
} launch_list;
% elseif device.has_passes then
/* A list of launches under construction, the number of rows in products, and the number of passes. */
typedef struct launch_list {
    lh_cuda_launch *next;
    int rows, passes;
    int free_passes; /* number of passes without gradient, which come first */ % if device.samples_passes
} launch_list;
% if device.samples_passes then

/* Returns the index of the state for repetition `index` of a block; each pass repeats the block `count` times. All
 * repetitions without gradient have state 0, those with gradient have the states from 1 on. */
static int choose_state(const launch_list *list, int index, int count) {
    const int free = list->free_passes * count;
    return index < free ? 0 : index + 1 - free;
}
% end
% else
/* A list of launches under construction, and the number of rows in products. */
typedef struct launch_list {
    lh_cuda_launch *next;
    int rows;
} launch_list;
% end

static void list_phase(launch_list *list, int phase, int layer) {
    *list->next++ = (lh_cuda_launch){.phase = phase, .layer = layer};
}

/* y[rows][out] = x[rows][in] weight[in][out] */
% define("static void forward", "launch_list *list", rows_parameter, "int in", "int out", "const real *x", "const real *weight", "real *y")
    *list->next++ = (lh_cuda_launch){
            .phase = LH_CUDA_PRODUCT,
            .product = {.rows = ${row_count}, .columns = out, .inner = in, .a = x, .b = weight, .out = y},
    };
}

% if device.has_biased_product then
/* Adds a bias to every row of the last product's result, and if `rectified` is true then replaces negative elements by 0.
 * The launch of the product does this, or the phase `phase` if the library cannot. */
static void add_bias(launch_list *list, const real *bias, bool rectified, int phase, int layer) {
    lh_cuda_launch *last = list->next - 1;
    last->product.bias = bias;
    last->product.rectified = rectified;
    last->bias_phase = phase;
    last->layer = layer;
}

% end
% local or_added_words = device.has_loops and ", or += if `adds` is true" or ""
% local adds_initialiser = device.has_loops and ".adds = adds, " or ""
/* The gradient of a forward product's weight: dweight[in][out] = x^T dy${or_added_words}. */
% define("static void weight_gradient", "launch_list *list", rows_parameter, "int in", "int out", "const real *x", "const real *dy", device.has_loops and "bool adds", "real *dweight")
    *list->next++ = (lh_cuda_launch){
            .phase = LH_CUDA_PRODUCT,
            .product = {.rows = in, .columns = out, .inner = ${row_count}, .transposed_a = true, ${adds_initialiser}.a = x, .b = dy,
                    .out = dweight},
    };
}

/* The gradient of a forward product's input x: dx[rows][in] = dy weight^T, or += if `adds` is true. */
% define("static void input_gradient", "launch_list *list", rows_parameter, "int in", "int out", "const real *dy", "const real *weight", "bool adds", "real *dx")
    *list->next++ = (lh_cuda_launch){
            .phase = LH_CUDA_PRODUCT,
            .product = {.rows = ${row_count}, .columns = in, .inner = out, .transposed_b = true, .adds = adds, .a = dy,
                    .b = weight, .out = dx},
    };
}

% for _, block in ipairs(device.blocks) do
% local read, index = block.forward.reads, "int " .. block.index
% local p, s = ("const %s *p"):format(block.parameters_type), ("const %s *s"):format(block.state)
/* ${block.comment}
 * Lists the launches of one ${block.name} in a forward pass${read.x and "; x: its input" or ""}. */
% define(("static void %s_forward"):format(block.name), "launch_list *list", read.l and index, read.p and p, read.w and "const workspace *w", read.s and s, read.x and "const real *x")
    % include(launch.template, launch) % for _, launch in ipairs(block.forward.list)
}

% local read = block.backward.reads
% define(("static void %s_backward"):format(block.name), "launch_list *list", read.l and index, read.p and p, read.g and ("%s *g"):format(block.parameters_type), read.w and "const workspace *w", read.s and s, read.x and "const real *x")
    % include(launch.template, launch) % for _, launch in ipairs(block.backward.list)
}

% end
/* Implements lh_cuda_program.launches. */
static int launches(const lh_shape *shape, lh_cuda_passes passes, lh_mode mode, void *memory, const void *from, void *to,
        lh_cuda_launch *first) {
    (void)passes; % if not device.has_passes
    const bool training = mode == LH_MODE_TRAIN;
% if streams[2] then
    const int sequences = shape->sequences;
    const lengths T = make_lengths(shape);
% else
    const int sequences = shape->sequences, T = shape->length[0];
% end
    const parameters *p = from;
    parameters *g = to;
    launch_list all = {first, ${device.row_declarations.in_call}, passes.count}, *list = &all; % if device.has_passes and not device.samples_passes
    launch_list all = {first, ${device.row_declarations.in_call}, passes.count, passes.free}, *list = &all; % elseif device.samples_passes
    launch_list all = {first, ${device.row_declarations.in_call}}, *list = &all; % else
    workspace w = {0};
    lay_out(&w, memory, sequences, T, shape->labels, training);
% for _, block in ipairs(device.states) do
    ${block.state} ${block.on_host.states}[${block.stored}];
    size_t ${block.name}_used = 0;
    for (int l = 0; l < ${block.stored}; l++) {
        ${block.name}_used = lay_out_${block.name}(&${block.on_host.states}[l], w.${block.plural}, training ? ${block.name}_used : 0, sequences, T);
        if (!training) ${block.on_host.states}[l].output = ${block.on_host.input}; % if block.overwrites_input
    }
% end
    list_phase(list, LH_CUDA_BEGIN, 0); % if cuda.has_begin_step
% -- the list of training begins with the operations of evaluation, after which evaluation returns
% for i, launch in ipairs(device.pass.train.list) do
    % include(launch.template, launch)
    if (!training) return (int)(list->next - first); % if i == #device.pass.evaluate.list
% end
    list_phase(list, LH_CUDA_END, 0);
    return (int)(list->next - first);
}
