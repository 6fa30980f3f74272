% paragraph("attention/cpu/signed_sinusoid.tpl") % if signed_sinusoids
% local samples_input_positions = input_draw and input_draw.is_separate and input_draw.kind == "randomized"
% paragraph("cpu/input_draws.tpl") % if samples_input_positions
% include("attention/cpu/draws.tpl", family) % for _, family in ipairs(attentions)
% for _, struct in ipairs(structs) do
% paragraph("cpu/pack.tpl", struct) % if struct.product_panels[1]
% end
% -- has_tables_by_length: a function of its own samples the positions and computes the tables of one length
% if has_tables_by_length then
static void begin_length(const lh_cpu_step *step, int part, int parts) {
% else
static void begin_step(const lh_cpu_step *step, int part, int parts) {
    const parameters *p = step->parameters;
    shared *s = step->shared;
    bool train = step->mode == LH_MODE_TRAIN;
% end
    for (int stream = part; stream < 2; stream += parts) draw_input_positions(step, stream); % if samples_input_positions
    % include("attention/cpu/begin_family.tpl", family) % for _, family in ipairs(attentions)
% if has_tables_by_length then
}

static void begin_step(const lh_cpu_step *step, int part, int parts) {
    const parameters *p = step->parameters;
    step_panels *s = step->panels;
    bool train = step->mode == LH_MODE_TRAIN;
% -- In training, the engine calls begin_length for each length of a shard.
    if (!train) begin_length(step, part, parts);
% end
% for _, struct in ipairs(structs) do
% local weight_count = #struct.product_panels
% if struct.product_panels[1] and struct.block then
    for (int i = part; i < ${weight_count} * ${struct.count}; i += parts)
        pack_${struct.block}(&p->${struct.block}[i / ${weight_count}], &s->${struct.block}[i / ${weight_count}], i % ${weight_count}, train);
% elseif struct.product_panels[1] then
    for (int i = part; i < ${weight_count}; i += parts) pack_network(p, s, i, train);
% end
% end
% if cpu.class_table then
    if (part == 0) transpose_classes(WIDTH, CLASSES, CLASS_COLUMNS, p->${cpu.class_table} + OUTPUT_TOKEN * WIDTH, s->output);
% else
    if (train && part == 0) transpose(WIDTH, CLASS_COLUMNS, p->output, s->output_rows);
% end
}
