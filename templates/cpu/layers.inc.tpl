% local length = streams[2] and "length" or "w->length"
% include("parts/banner.tpl", { template = "cpu/layers.inc.tpl", lines = comments.layers })
% if cpu.has_masks then

% if cpu.unused_rows then
/* Samples masks for the dropout with index `place` of a layer: `width` channels for each token in `part`, in every
 * sequence of the block. A token's mask does not depend on `part`. */
static void draw_masks(const workspace *w, const row_set *part, uint32_t layer, uint32_t place, uint16_t drop_below,
        int width, int8_t *keep) {
    const lh_cpu_step *step = w->step;
    const int count = part->count * width;
% if eval_dropout then
    % include("cpu/drop_site.tpl", { place = "place" })
% else
    const uint32_t site = lh_site(LH_DOMAIN_DROPOUT, layer, place);
% end
    for (int s = 0; s < w->sequences; s++)
        dropout_keep_from(step->key, step->step, w->block->first_example + (uint32_t)s, site,
                (uint32_t)(${part_start} * width / 8), count, drop_below, keep + (size_t)s * (size_t)count);
}
% else
/* Samples masks for the dropout with index `place` of a layer: `width` channels for each token, in every sequence of the
 * block. */
% if streams[2] then
static void draw_masks(const workspace *w, uint32_t layer, uint32_t place, uint16_t drop_below, int length, int width,
        int8_t *keep) {
% else
static void draw_masks(const workspace *w, uint32_t layer, uint32_t place, uint16_t drop_below, int width,
        int8_t *keep) {
% end
    const lh_cpu_step *step = w->step;
% if eval_dropout then
    % include("cpu/drop_site.tpl", { place = "place" })
    for (int s = 0; s < w->sequences; s++)
        dropout_keep(step->key, step->step, w->block->first_example + (uint32_t)s, site, ${length} * width, drop_below,
                keep + (size_t)s * (size_t)(${length} * width));
% else
    for (int s = 0; s < w->sequences; s++)
        dropout_keep(step->key, step->step, w->block->first_example + (uint32_t)s,
                lh_site(LH_DOMAIN_DROPOUT, layer, place), ${length} * width, drop_below,
                keep + (size_t)s * (size_t)(${length} * width));
% end
}
% end
% end
% for _, stream in ipairs(streams) do
% local reader = stream.sequence_reader
% if reader then
% local first = reader.positions.first == 1 and reader.PREFIX .. "FIRST_POSITION" or "0"
% local range = reader.PREFIX .. "MAX_POSITION" .. (reader.positions.first == 1 and " - 1" or "")
% local name = streams[2] and stream.name .. "_" or ""
% local prefix_of_stream = streams[2] and stream.name .. "." or ""

/* Samples the positions of every sequence of the block, or copies given positions. */
static void draw_${name}positions(const workspace *w) {
    const lh_cpu_step *step = w->step;
    int32_t *position = w->${prefix_of_stream}position;
    int T = w->${prefix_of_stream}length;
    for (int s = 0; s < w->sequences; s++, position += T)
        if (step->positions[${stream.index}]) memcpy(position, step->positions[${stream.index}], (size_t)T * sizeof(int32_t));
        else
            % call("lh_draw_sequence", "&step->draw", stream.index, "w->block->first_example + (uint32_t)s", first, range, "T", reader.positions.sorted_text, "position", "w->position_scratch")
}
% end
% end

% if embeds_linearly then
/* Returns channels c to c + LANES - 1 of a token's vector. */
INLINE vector embed_channels(const real *table, const real *biases, int token, int c) {
    vector bias = load(biases + c);
% if task.blank_count > 0 then
    if (token < BLANKS) return bias;
    return load(table + (token - BLANKS) * WIDTH + c) + bias;
% else
    return load(table + token * WIDTH + c) + bias;
% end
}

% end
% paragraph("cpu/rows/embed.tpl", embedding) % for _, embedding in ipairs(cpu.embeddings)
% include("cpu/products.tpl")

% paragraph(f.template, f) % for _, f in ipairs(cpu.rows)
% for i, block in ipairs(cpu.blocks) do
% if i > 1 then

% end
% include("cpu/block_functions.tpl", block)
% end
