% if positions.kind == "randomized" then
/* Draw d of this step: ${positions.about}. */
static void draw_positions(const lh_cpu_step *step, int d) {
    shared *s = step->shared;
    int T = step->shape.length[0];
    if (step->positions) memcpy(s->position[d], step->positions, (size_t)T * sizeof(int32_t));
    else
        lh_draw_positions(&step->draw, (uint32_t)d${positions.site_offset}, 0, MAX_POSITION, T, ${positions.sorted_text}, s->position[d],
                s->scratch[d]);
}

% end
static void transpose_weights(const parameters *p, shared *s, int l, int which) {
    const layer_parameters *layer = &p->layer[l];
    switch (which) {
    case 0: transpose(WIDTH, 3 * WIDTH, layer->query_key_value, s->transposed[l].query_key_value); break;
    case 1: transpose(WIDTH, WIDTH, layer->attention_output, s->transposed[l].attention_output); break;
    case 2: transpose(WIDTH, FEEDFORWARD, layer->up, s->transposed[l].up); break;
    default: transpose(FEEDFORWARD, WIDTH, layer->down, s->transposed[l].down); break;
    }
}

static void begin_step(const lh_cpu_step *step, int part, int parts) {
% if positions.kind == "randomized" then
    for (int d = part; d < DRAWS; d += parts) draw_positions(step, d);
% end
    if (step->mode != LH_MODE_TRAIN) return;
    const parameters *p = step->parameters;
    shared *s = step->shared;
    for (int i = part; i < 4 * LAYERS; i += parts) transpose_weights(p, s, i / 4, i % 4);
    if (part == 0) transpose(WIDTH, CLASS_COLUMNS, p->output, s->output_rows);
}
