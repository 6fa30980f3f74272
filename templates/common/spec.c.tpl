% include("parts/banner.tpl", { template = "common/spec.c.tpl", lines = comments.spec })
#include "longhand/spec.h"

#include "defaults.inc"

% if initial_values then
/* Initial values of tensors with given values, one tensor after another. */
static const double initial_values[] = {${initial_values}};

% end
static const lh_tensor tensors[] = {
% for _, t in ipairs(tensors) do
        {"${t.name}", ${t.rank}, {${t.shape_text}}, ${t.offset}, ${t.stride}, ${t.init}, ${f64(t.value)}, ${t.learned and "true" or "false"}},
% end
};

% for _, length in ipairs(task.lengths) do
static int ${length.name}(int n) { return ${length.formula}; }

% end
% -- role: the C code of the task. "sample" samples examples, "collect" makes all examples; false: there is no C code
% local role = not task.data and "sample" or task.data.is_generated and "collect"
% local has_place_function = token_positions and not token_positions.digits and not token_positions.by_line
% if role then
lh_task_${role} lh_task_${task.kind};
lh_task_solve lh_solve_${task.kind}; % if task.literal
lh_task_place lh_place_${task.kind}; % if has_place_function
lh_task_find_result lh_find_result_${task.kind}; % if task.has_intermediate_results

% end
% for _, list in ipairs(lists) do
/* ${c_comment(list.comment)} */
% if #list.lines == 1 then
static const ${list.type} ${list.name}[] = {${list.lines[1]}};
% else
static const ${list.type} ${list.name}[] = {
        ${line} % for _, line in ipairs(list.lines)
};
% end

% end
static const lh_task task = {
        % include("parts/fields.tpl", { fields = {
        %   { "kind", text = task.kind },
        %   { "source", text = task.source },
        %   { role, role and "lh_task_" .. task.kind },
        %   { "input_length", not task.data and "input_length" },
        %   { "output_length", not task.data and "output_length" },
        %   { "solve", task.literal and "lh_solve_" .. task.kind },
        %   { "literal", text = task.literal },
        %   { "place", has_place_function and "lh_place_" .. task.kind },
        %   { "find_result", task.has_intermediate_results and "lh_find_result_" .. task.kind },
        %   { "options", task.options and "task_options" },
        %   { "input_symbols", task.input_count },
        %   { "output_symbols", task.output_count },
        %   { "input_symbol", task.input_names },
        %   { "output_symbol", task.output_names },
        %   { "end", task.has_end_symbol and "end_symbol" },
        %   { "chance", f64(task.chance) },
        %   { "baseline", task.baseline and f64(task.baseline) },
        %   { "baseline_name", text = task.baseline_name },
        %   { "loss", task.loss and (task.excludes_masked_labels and "LH_LOSS_COUNTED" or "LH_LOSS_ALL") },
        %   { "axis", task.axis_count > 0 and "axes" },
        %   { "axes", task.axis_count },
        % } })
};

% if task.data then
static const lh_data data = {
        % include("parts/fields.tpl", { fields = {
        %   { "train", text = task.data.train },
        %   { "eval", text = task.data.eval },
        %   { "longest", task.data.longest },
        %   { "validation", text = task.data.validation },
        %   { "validation_digest", text = task.data.validation_digest },
        %   { "seed", task.data.seed },
        % } })
};

% end
/* ${reading} */
% if token_constants ~= "" then
enum { ${token_constants} };
% end

% local input, output = task.data and "input" or "input_length(n)", task.data and "output" or "output_length(n)"
% local appends_outputs = not streams[2] and readout == "outputs" -- one stream has the tokens of inputs and outputs
% -- length: the C text of the number of tokens in the first stream
% local length = computation and computation.tokens_per_symbol .. " * " .. input or input
% length = appends_outputs and length .. " + " .. output or length
% local has_source_length = not task.data and length ~= input
% if has_source_length then
static int source_length(int n) { return ${length}; }

% elseif task.data then
static void set_shape(int input, int output, lh_shape *shape) {
    shape->length[0] = ${length};
    shape->length[1] = output; % if streams[2]
    shape->labels = output;
}

% end
/* Writes the tokens of an example to each stream. */
static void assemble(const lh_example *example, uint16_t *const tokens[LH_MAX_STREAMS]) {
    uint16_t *source = tokens[0];
    for (int i = 0; i < example->input_length; i++) *source++ = example->input[i];
    for (int i = 0; i < ${computation.times_text}example->input_length; i++) *source++ = COMPUTATION_TOKEN; % if computation
% if decoder then
% local output_pointer = streams[2] and "target" or "source"
    uint16_t *target = tokens[1]; % if streams[2]
    *${output_pointer}++ = SEPARATOR;
    for (int i = 0; i + 1 < example->output_length; i++) *${output_pointer}++ = (uint16_t)(FIRST_OUTPUT + example->target[i]);
% elseif readout == "outputs" then
    for (int i = 0; i < example->output_length; i++) *source++ = EMPTY_TOKEN;
% end
}

% if readout == "probe" then
/* Writes the index of the probe token to place[0]. Returns whether there is exactly one probe token and one output. */
static bool locate(const lh_example *example, uint16_t *place) {
    int found = 0;
    place[0] = 0;
    for (int i = 0; i < example->input_length; i++) {
        if (example->input[i] != PROBE) continue;
        place[0] = (uint16_t)i;
        found++;
    }
    return found == 1 && example->output_length == 1;
}

% end
% local counts_outputs = task.data and not task.data.is_generated and readout ~= "outputs"
% if counts_outputs then
/* Returns the number of outputs of an input with `input` tokens. */
static int count_outputs(int input) { return input; } % if readout == "in_place"
static int count_outputs(int input) { return 1; } % else

% end
% if token_positions and not token_positions.digits then
% local by_line_text = token_positions.by_line and ".by_line = true, " or ""
static const lh_token_positions token_positions = {${by_line_text}.greatest = ${token_positions.max_position}};

% elseif token_positions then
/* is_digit[t]: whether token t is a digit. */
static const bool is_digit[${tokens}] = {
        ${line} % for _, line in ipairs(token_positions.lines)
};

static const lh_token_positions token_positions = {.digit = is_digit, .offset = ${token_positions.offset}};

% end
% local length_function = has_source_length and "source_length" or "input_length"
% local source_text = ('{"source", %s}'):format(task.data and "NULL" or length_function)
% local target_text = (', {"target", %s}'):format(task.data and "NULL" or "output_length")
static const lh_format format = {
        % include("parts/fields.tpl", { fields = {
        %   { "stream", ("{%s%s}"):format(source_text, streams[2] and target_text or "") },
        %   { "streams", #streams },
        %   { "label_stream", #streams - 1 },
        %   { "shape", task.data and "set_shape" },
        %   { "labels", not task.data and "output_length" },
        %   { "teacher_forced", decoder and "true" },
        %   { "assemble", "assemble" },
        %   { "locate", readout == "probe" and "locate" },
        %   { "located", text = readout == "probe" and ("one %s in the input, and one output"):format(task.probe_symbol) },
        %   { "outputs", counts_outputs and "count_outputs" },
        %   { "positions", token_positions and "&token_positions" },
        % } })
};

/* Values of a forward pass that `trace` can store: name; channels of an activation; heads of an attention; index of the
 * stream of queries; index of the stream of keys. */
static const lh_trace_site sites[] = {
% for _, site in ipairs(trace_sites) do
        {"${site.name}", ${site.channels}, ${site.heads}, ${site.query}, ${site.key}},
% end
};

/* A multiply-add counts as two operations, the backward pass as two forward passes.
 * ${line} % for _, line in ipairs(comments.flops)
 */
% -- forward: the C text of the number of operations of a forward pass
% -- rows: the C text of the number of operations that compute rows of distances, "" if there are none
% -- names: the C variables of the streams' lengths
% local forward, rows, names = "", "", {}
% for i, stream in ipairs(flops.streams) do
% names[i] = streams[2] and stream.name or "T"
% forward = forward .. ("2 * %s * %s + "):format(f64(stream.weights), names[i])
% end
% for i, attention in ipairs(flops.attentions) do -- fields: see M.sum_up in generator/network/graph/outline.lua
% local queries, keys = names[attention.queries + 1], names[attention.keys + 1]
% forward = forward .. ("%s%s * %s * %s"):format(i > 1 and " + " or "", f64(attention.pair_flops), queries, keys)
% local distances = ("(shape->length[%d] + shape->length[%d] - 1.0)"):format(attention.queries, attention.keys)
% if attention.distance_products > 0 then
% rows = ("%s%s2 * %s * %s"):format(rows, rows ~= "" and " + " or "", f64(attention.distance_products), distances)
% end
% end
static double nominal_flops(const lh_shape *shape, lh_mode mode) {
    const double ${names[i]} = shape->length[${stream.index}]; % for i, stream in ipairs(flops.streams)
    const double forward = ${forward};
% local training_factor = flops.training == 3 and "3" or f64(flops.training)
    return forward * shape->sequences * (mode == LH_MODE_TRAIN ? ${training_factor} : 1);
}

% if rows ~= "" then
/* Returns nominal_flops plus the operations of two parts:
 *   output   the output layer at the labelled tokens
 *   rows     the rows of distances (relative positions). A CPU computes the rows once for the batch, and the gradient
 *            of their weight once for each shard. */
static double executed_flops(const lh_shape *shape, lh_mode mode) {
    const double output = 2 * ${f64(flops.output)} * shape->labels * shape->sequences;
    const double rows = ${rows};
    const double extra = mode == LH_MODE_TRAIN ? 3 * output + (1 + ${train.shards}) * rows : output + rows;
    return nominal_flops(shape, mode) + extra;
}
% else
/* Returns nominal_flops plus the operations of the output layer at the labelled tokens. */
static double executed_flops(const lh_shape *shape, lh_mode mode) {
    const double output = 2 * ${f64(flops.output)} * shape->labels * shape->sequences;
    return nominal_flops(shape, mode) + output * (mode == LH_MODE_TRAIN ? 3 : 1);
}
% end

#if defined(LH_HAVE_X86_64)
extern const lh_cpu_program longhand_x8664_${symbol};
#endif
#if defined(LH_HAVE_X86_64_V3)
extern const lh_cpu_program longhand_x8664v3_${symbol};
#endif
#if defined(LH_HAVE_X86_64_V4)
extern const lh_cpu_program longhand_x8664v4_${symbol};
#endif
#if defined(LH_HAVE_AARCH64)
extern const lh_cpu_program longhand_aarch64_${symbol};
#endif
#if defined(LH_HAVE_CUDA)
extern const lh_cuda_program longhand_cuda_${symbol};
#endif

/* The compiled instruction-set levels, lowest first. */
static const lh_cpu_program *const levels[] = {
#if defined(LH_HAVE_X86_64)
        &longhand_x8664_${symbol},
#endif
#if defined(LH_HAVE_X86_64_V3)
        &longhand_x8664v3_${symbol},
#endif
#if defined(LH_HAVE_X86_64_V4)
        &longhand_x8664v4_${symbol},
#endif
#if defined(LH_HAVE_AARCH64)
        &longhand_aarch64_${symbol},
#endif
        NULL,
};

% local states = ""
% for i, state in ipairs(optimizer.states) do
% states = ('%s%s"%s"'):format(states, i > 1 and ", " or "", state)
% end
extern const lh_spec longhand_spec_${symbol};
const lh_spec longhand_spec_${symbol} = {
        .abi = LH_ABI,
        .id = "${id}",
        .plan_digest = "${digest}",
        .model_digest = "${model_digest}",
        .source_digest = "${source_digest}",
        .defaults = defaults,
        .defaults_capacity = sizeof defaults,
        .precision = "${precision}",
        .tensors = tensors,
        .tensor_count = ${tensor_count},
        % include("parts/fields.tpl", { fields = {
        %   { "initial_values", initial_values and "initial_values" },
        %   { "parameter_count", parameters },
        %   { "parameter_storage", parameter_storage },
        %   { "task", "&task" },
        %   { "data", task.data and "&data" },
        %   { "format", "&format" },
        %   { "sites", "sites" },
        %   { "site_count", #trace_sites },
        %   { "pass_sites", pass_sites },
        %   { "classes", classes },
        %   { "position_range", drawn_text.position_range },
        %   { "first_position", drawn_text.first_position },
        %   { "distance_range", drawn_text.distance_range },
        %   { "passes", cpu.passes },
        %   { "passes_by_length", cpu.passes_by_length and "true" },
        %   { "pass_axis", task.pass_axis },
        %   { "progressive", cpu.gradient_passes and "true" },
        %   { "draws_start", starts_from_noise and "true" },
        %   { "start_width", starts_from_noise and width },
        %   { "draws_by_sequence", (streams[1].sequence_reader or streams[2] and streams[2].sequence_reader) and "true" },
        %   { "limit", limit and ('{%d, "%s"}'):format(limit.tokens, c_string(limit.because)) },
        % } })
        .nominal_flops = nominal_flops,
        .executed_flops = executed_flops,
        .train =
                {
                        % include("parts/fields.tpl", { fields = {
                        %   { "batch", train.batch },
                        %   { "shards", train.shards },
                        %   { "lengths", train.lengths_text },
                        %   { "curriculum", train.stage_count > 0 and "curriculum" },
                        %   { "curriculum_count", train.stage_count },
                        %   { "mixes_lengths", train.mixes_lengths and "true" },
                        %   { "weighs_sequences", train.weighs_sequences and "true" },
                        %   { "schedule", schedule and ("{%s, %d, %s}"):format(schedule.kind, schedule.warmup, f64(schedule.final)) },
                        % } })
                },
        .eval =
                {
                        % include("parts/fields.tpl", { fields = {
                        %   { "axis", text = "length" },
                        %   { "dropout", eval_dropout and "true" },
                        % } })
                },
        .optimizer =
                {
                        % include("parts/fields.tpl", { fields = {
                        %   { "kind", text = optimizer.kind },
                        %   { "states", #optimizer.states },
                        %   { "state_name", states ~= "" and ("{%s}"):format(states) },
                        %   { "clip_norm", clip.kind == "global_norm" and f64(clip.max_norm) },
                        % } })
                },
        .cpu = levels,
#if defined(LH_HAVE_CUDA)
        .cuda = &longhand_cuda_${symbol},
#endif
};
