% local by_sequence = positions.kind == "sequence"
% local index = by_sequence and "position[m]" or input_draw and "position[m % w->length]" or "m % w->length"
% local input_place = index
% if additive.kind == "learned" and positions.first == 1 then
% input_place = "(" .. index .. " - " .. PREFIX .. "FIRST_POSITION)"
% end
% local embed_adds = ({ none = "", sinusoid = " + sinusoid of its position",
%     learned = " + learned vector of its position" })[additive.kind]
% include("parts/banner.tpl", { template = "cpu/layers.inc.tpl", about = about.layers })
% if dropouts[1] then

/* Masks of `width` channels for every sequence of the block at one site. */
static void draw_masks(const workspace *w, uint32_t layer, uint32_t place, uint16_t drop_below, int width,
        int8_t *keep) {
    const lh_cpu_step *step = w->step;
% if eval_dropout then
    uint32_t site = step->mode == LH_MODE_TRAIN ? lh_site(LH_DOMAIN_DROPOUT, layer, place)
            : lh_site(LH_DOMAIN_EVAL_DROPOUT, step->draw.example, ${cpu.places} * layer + place);
    for (int s = 0; s < w->sequences; s++)
        dropout_keep(step->key, step->step, w->block->first_example + (uint32_t)s, site, w->length * width, drop_below,
                keep + (size_t)s * (size_t)(w->length * width));
% else
    for (int s = 0; s < w->sequences; s++)
        dropout_keep(step->key, step->step, w->block->first_example + (uint32_t)s,
                lh_site(LH_DOMAIN_DROPOUT, layer, place), w->length * width, drop_below,
                keep + (size_t)s * (size_t)(w->length * width));
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

/* x [tokens][WIDTH] = scaled token embedding${embed_adds}. */
static void embed(const workspace *w, real *x) {
    const parameters *p = w->parameters;
% if additive.kind == "sinusoid" then
    const position_row *table = w->step->tables;
% end
% if positions.kind == "sequence" and additive.kind ~= "none" then
    const int32_t *position = w->position;
% elseif input_draw then
    const int32_t *position = w->shared->${prefix}position[0];
% end
% if positions.kind == "sequence" then
    draw_positions(w);
% end
    for (int m = 0; m < w->tokens; m++) {
        const real *token = p->token + w->block->tokens[0][m] * WIDTH;
% if additive.kind == "sinusoid" then
        const real *place = table[${input_place}].sinusoid;
% elseif additive.kind == "learned" then
        const real *place = p->position_table + ${input_place} * WIDTH;
% end
        for (int c = 0; c < WIDTH; c += LANES)
% if additive.kind == "none" then
            store(x + m * WIDTH + c, load(token + c) * EMBEDDING_SCALE);
% else
            store(x + m * WIDTH + c, load(token + c) * EMBEDDING_SCALE + load(place + c));
% end
    }
% if additive.dropout.kind == "bernoulli" and not eval_dropout then
    if (w->step->mode != LH_MODE_TRAIN) return;
% end
% if additive.dropout.kind == "bernoulli" then
    draw_masks(w, 0, 0, ${additive.dropout.name}_DROP_BELOW, WIDTH, w->embedding_keep);
    dropout_apply(w->tokens * WIDTH, w->embedding_keep, ${additive.dropout.name}_KEEP_SCALE, x);
% end
}

/* gradient: of x, in place. */
static void embed_backward(const workspace *w, real *gradient, parameters *g) {
% if additive.dropout.kind == "bernoulli" then
    dropout_apply(w->tokens * WIDTH, w->embedding_keep, ${additive.dropout.name}_KEEP_SCALE, gradient);
% end
% if additive.kind == "learned" and positions.kind == "sequence" then
    const int32_t *position = w->position;
% elseif additive.kind == "learned" and input_draw then
    const int32_t *position = w->shared->${prefix}position[0];
% end
    for (int m = 0; m < w->tokens; m++) {
        const real *d = gradient + m * WIDTH;
        real *token = g->token + w->block->tokens[0][m] * WIDTH;
% if additive.kind == "learned" then
        real *place = g->position_table + ${input_place} * WIDTH;
% end
% if additive.kind == "learned" then
        for (int c = 0; c < WIDTH; c += LANES) {
            store(token + c, load(token + c) + load(d + c) * EMBEDDING_SCALE);
            store(place + c, load(place + c) + load(d + c));
        }
% else
        for (int c = 0; c < WIDTH; c += LANES)
            store(token + c, load(token + c) + load(d + c) * EMBEDDING_SCALE);
% end
    }
}

% include("cpu/products.tpl")

% for _, f in ipairs(cpu.rows) do
% include(f.template, f)

% end
% for i, block in ipairs(cpu.blocks) do
% if i > 1 then

% end
% include("cpu/block.tpl", block)
% end
