% include("parts/banner.tpl", { template = "common/spec.c.tpl", about = about.spec })
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

% for _, alphabet in ipairs(task.alphabets) do
% if #alphabet.lines == 1 then
static const char *const ${alphabet.name}[] = {${alphabet.lines[1]}};
% else
static const char *const ${alphabet.name}[] = {
        ${line} % for _, line in ipairs(alphabet.lines)
};
% end
% end

% if not task.data then
% for _, length in ipairs(task.lengths) do
static int ${length.name}(int n) {
    return ${length.formula};
}
% end

lh_task_sample lh_task_${task.kind};
lh_task_solve lh_solve_${task.kind}; % if task.literal

% elseif task.data.made then
lh_task_collect lh_task_${task.kind};
lh_task_solve lh_solve_${task.kind}; % if task.literal

% end
% if task.axes then
/* Axes that distinguish examples. */
static const char *const axes[] = {${task.axes.names}};

% end
% if task.options then
/* ${c_comment(task.options.about)} */
static const int task_options[] = {${task.options.values}};

% end
% if decoder and task.end_token then
/* ${c_comment(task.end_symbol)} */
static const uint16_t end_symbol = ${task.end_token};

% end
static const lh_task task = {
        .kind = "${task.kind}",
        .source = "${c_string(task.source)}", % if task.source
% if not task.data then
        .sample = lh_task_${task.kind},
        .input_length = input_length,
        .output_length = output_length,
% elseif task.data.made then
        .collect = lh_task_${task.kind},
% end
% if task.literal then
        .solve = lh_solve_${task.kind},
        .literal = "${c_string(task.literal)}",
% end
        .options = task_options, % if task.options
        .input_symbols = ${task.input_count},
        .output_symbols = ${task.output_count},
        .input_symbol = input_symbols,
        .output_symbol = output_symbols,
        .end = &end_symbol, % if decoder and task.end_token
        .chance = ${f64(task.chance)},
% if task.baseline_name then
        .baseline = ${f64(task.baseline)},
        .baseline_name = "${c_string(task.baseline_name)}",
% end
        .loss = ${task.counted and "LH_LOSS_COUNTED" or "LH_LOSS_ALL"}, % if task.loss
% if task.axes then
        .axis = axes,
        .axes = ${task.axes.count},
% end
};

% if task.data then
/* Examples are made when the trainer begins. */ % if task.data.made
/* Examples are in files, which the trainer reads. */ % else
static const lh_data data = {
        .train = "${c_string(task.data.train)}", % if task.data.train
        .eval = "${c_string(task.data.eval)}", % if task.data.eval
        .longest = ${task.data.longest},
        .validation = "${c_string(task.data.validation)}", % if task.data.validation
        .validation_digest = "${task.data.validation_digest}", % if task.data.validation_digest
        .seed = ${task.data.seed}, % if task.data.made
};

% end
% if decoder and streams[2] then
% if computation then
/* The encoder reads the input and ${computation.words} for each of its tokens, the decoder ${decoder.words}
 * without its last token. Each token from the separator on predicts the next token of the target. */
% else
/* The encoder reads the input, the decoder ${decoder.words} without its last token. Each token
 * from the separator on predicts the next token of the target. */
% end
% elseif decoder then
/* The decoder reads ${decoder.words} without its
 * last token. Each token from the separator on predicts the next token of the target. */
% end
% if decoder then
enum { FIRST_OUTPUT = ${decoder.first_output}, SEPARATOR = ${decoder.separator} };
enum { COMPUTATION_TOKEN = ${computation.token} }; % if computation
% elseif readout == "probe" then
/* The encoder reads the input; the answer is read at the probe token. */
enum { PROBE = ${task.probe} };
% elseif readout == "last" then
/* The encoder reads the input; the answer is read at its last token. */
% elseif computation then
/* The encoder reads the input, ${computation.words} for each of its tokens, then one empty token per output; the
 * answers are read at the empty tokens. */
enum { COMPUTATION_TOKEN = ${computation.token}, EMPTY_TOKEN = ${empty_token} };
% else
/* The encoder reads the input, then one empty token per output; the answers are read at the empty tokens. */
enum { EMPTY_TOKEN = ${empty_token} };
% end

% if task.data then
static void shape_of(int input, int output, lh_shape *shape) {
% if streams[2] and computation then
    shape->length[0] = ${computation.all} * input;
    shape->length[1] = output;
% elseif streams[2] then
    shape->length[0] = input;
    shape->length[1] = output;
% elseif computation then
    shape->length[0] = ${computation.all} * input + output;
% elseif readout ~= "outputs" then
    shape->length[0] = input;
% else
    shape->length[0] = input + output;
% end
    shape->labels = output;
}
% elseif streams[2] and computation then
static int source_length(int n) { return ${computation.all} * input_length(n); }
% elseif streams[2] then
% elseif computation then
static int source_length(int n) { return ${computation.all} * input_length(n) + output_length(n); }
% elseif readout ~= "outputs" then
% else
static int source_length(int n) { return input_length(n) + output_length(n); }
% end

static void assemble(const lh_example *example, uint16_t *const tokens[LH_MAX_STREAMS]) {
    uint16_t *source = tokens[0];
    for (int i = 0; i < example->input_length; i++) *source++ = example->input[i];
    for (int i = 0; i < ${computation.factor}example->input_length; i++) *source++ = COMPUTATION_TOKEN; % if computation
% if decoder then
% local to = streams[2] and "target" or "source"
    uint16_t *target = tokens[1]; % if streams[2]
    *${to}++ = SEPARATOR;
    for (int i = 0; i + 1 < example->output_length; i++) *${to}++ = (uint16_t)(FIRST_OUTPUT + example->target[i]);
% elseif readout == "outputs" then
    for (int i = 0; i < example->output_length; i++) *source++ = EMPTY_TOKEN;
% end
}
% if readout == "probe" then

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

static const lh_format format = {
% if streams[2] then
% local source = task.data and "NULL" or computation and "source_length" or "input_length"
% local target = task.data and "NULL" or "output_length"
        .stream = {{"source", ${source}}, {"target", ${target}}},
        .streams = 2,
        .label_stream = 1,
% elseif task.data then
        .stream = {{"source", NULL}},
        .streams = 1,
% else
% local length = readout == "outputs" and "source_length" or "input_length"
        .stream = {{"source", ${length}}},
        .streams = 1,
% end
        .shape = shape_of, % if task.data
        .labels = output_length, % else
        .teacher_forced = true, % if decoder
        .assemble = assemble,
% if readout == "probe" then
        .locate = locate,
        .located = "one ${c_string(task.probe_symbol)} in the input, and one output",
% end
};

/* Sites of a forward pass that `trace` offers: name, channels of an activation or heads of an attention, streams. */
static const lh_trace_site sites[] = {
% for _, site in ipairs(trace_sites) do
        {"${site.name}", ${site.channels}, ${site.heads}, ${site.query}, ${site.key}},
% end
};

/* Two operations per multiply-add; the backward pass costs twice the forward pass.
 * ${line} % for _, line in ipairs(about.flops)
 */
static double nominal_flops(const lh_shape *shape, lh_mode mode) {
% if streams[2] then
    double forward = 0;
    const double ${stream.name} = shape->length[${stream.index}]; % for _, stream in ipairs(flops.streams)
    forward += 2 * ${f64(stream.weights)} * ${stream.name}; % for _, stream in ipairs(flops.streams)
% for _, pair in ipairs(flops.attentions) do
% local queries, keys = streams[pair.queries + 1].name, streams[pair.keys + 1].name
    forward += ${f64(pair.count)} * ${queries} * ${keys};
% end
% else
    double T = shape->length[0];
    double forward = 2 * ${f64(flops.streams[1].weights)} * T + ${f64(flops.attentions[1].count)} * T * T;
% end
    return forward * shape->sequences * (mode == LH_MODE_TRAIN ? 3 : 1);
}

% if flops.relative > 0 then
/* The nominal count, the output layer at the labelled positions, and the rows of 2 T - 1 distances: the rows are
 * computed once for the batch, and the gradient of their weight once per shard. */
% else
/* The nominal count and the output layer at the labelled positions. */
% end
static double executed_flops(const lh_shape *shape, lh_mode mode) {
    double output = 2 * ${f64(flops.output)} * shape->labels * shape->sequences;
% if flops.relative > 0 then
% if streams[2] then
    double rows = 0;
% for _, pair in ipairs(flops.attentions) do
% if pair.rows > 0 then
    rows += 2 * ${f64(pair.rows)} * (shape->length[${pair.queries}] + shape->length[${pair.keys}] - 1.0);
% end
% end
% else
    double rows = 2 * ${f64(flops.relative)} * (2.0 * shape->length[0] - 1);
% end
    double extra = mode == LH_MODE_TRAIN ? 3 * output + (1 + ${train.shards}) * rows : output + rows;
    return nominal_flops(shape, mode) + extra;
% else
    return nominal_flops(shape, mode) + output * (mode == LH_MODE_TRAIN ? 3 : 1);
% end
}
% for _, list in ipairs(lists) do

static const ${list.type} ${list.name}[] = {${list.text}};
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
        .initial_values = initial_values, % if initial_values
        .parameter_count = ${parameters},
        .parameter_storage = ${parameter_storage},
        .task = &task,
        .data = &data, % if task.data
        .format = &format,
        .sites = sites,
        .site_count = ${trace_site_count},
        .classes = ${classes},
        .position_range = ${drawn_text.position_range}, % if drawn_text.position_range
        .first_position = ${drawn_text.first_position}, % if drawn_text.first_position
        .distance_range = ${drawn_text.distance_range}, % if drawn_text.distance_range
        .draws_by_sequence = true, % if streams[1].by_sequence or streams[2] and streams[2].by_sequence
        .limit = {${limit.tokens}, "${c_string(limit.because)}"}, % if limit
        .nominal_flops = nominal_flops,
        .executed_flops = executed_flops,
        .train =
                {
                        .batch = ${train.batch},
                        .shards = ${train.shards},
                        .lengths = ${train.lengths_text},
                        .schedule = {${schedule.kind}, ${schedule.warmup}, ${f64(schedule.final)}}, % if schedule
                },
        .eval =
                {
                        .axis = "length",
                        .dropout = true, % if eval_dropout
                },
        .optimizer =
                {
                        .kind = "${optimizer.kind}",
% if optimizer.states[2] then
                        .states = 2,
                        .state_name = {"${optimizer.states[1]}", "${optimizer.states[2]}"},
% elseif optimizer.states[1] then
                        .states = 1,
                        .state_name = {"${optimizer.states[1]}"},
% end
                        .clip_norm = ${f64(clip.max_norm)}, % if clip.kind == "global_norm"
                },
        .cpu = levels,
#if defined(LH_HAVE_CUDA)
        .cuda = &longhand_cuda_${symbol},
#endif
};
