% local by_sequence = positions.kind == "sequence"
% local length = streams[2] and "length" or "w->length"
% include("parts/banner.tpl", { template = "cpu/layers.inc.tpl", about = about.layers })
% if cpu.masks then

/* Masks of `width` channels for every sequence of the block at one site. */
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
% if by_sequence then
% local first = positions.first == 1 and PREFIX .. "FIRST_POSITION" or "0"
% local range = PREFIX .. "MAX_POSITION" .. (positions.first == 1 and " - 1" or "")

/* Positions of every sequence of the block. */
static void draw_positions(const workspace *w) {
    const lh_cpu_step *step = w->step;
    int T = w->length;
    for (int s = 0; s < w->sequences; s++)
        if (step->positions[0]) memcpy(w->position + s * T, step->positions[0], (size_t)T * sizeof(int32_t));
        else
            lh_draw_sequence(&step->draw, w->block->first_example + (uint32_t)s, ${first}, ${range}, T,
                    ${positions.sorted_text}, w->position + s * T, w->position_scratch);
}
% end

% for _, embedding in ipairs(cpu.embeddings) do
% include("cpu/rows/embed.tpl", embedding)

% end
% include("cpu/products.tpl")

% for _, f in ipairs(cpu.rows) do
% include(f.template, f)

% end
% for i, block in ipairs(cpu.blocks) do
% if i > 1 then

% end
% include("cpu/block.tpl", block)
% end
