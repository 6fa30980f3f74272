% if positions.kind == "randomized" then
/* Draw d of this step: ${positions.about}. */
static void draw_positions(const lh_cpu_step *step, int d) {
    shared *s = step->shared;
    int T = step->shape.length[0];
    if (step->positions[0]) memcpy(s->position[d], step->positions[0], (size_t)T * sizeof(int32_t));
    else
        lh_draw_positions(&step->draw, (uint32_t)d${positions.site_offset}, ${positions.first_text}, ${positions.range_text}, T, ${positions.sorted_text}, s->position[d],
                s->scratch[d]);
}

% end
% if draws_distances then
/* Draw d of this step's distances: ${positions.distance.about}. */
static void draw_distances(const lh_cpu_step *step, int d) {
    shared *s = step->shared;
    int T = step->shape.length[0];
% if positions.distance.independent then
    int32_t *middle = s->distance[d] + MAX_POSITION;
    if (step->distances[0])
        for (int i = 0; i < T; i++) {
            middle[i] = step->distances[0][i];
            middle[-i] = -step->distances[0][i];
        }
    else
        lh_draw_signed_distances(&step->draw, (uint32_t)d${positions.distance.site_offset}, MAX_POSITION, T, middle,
                s->distance_scratch[d]);
% else
    if (step->distances[0]) memcpy(s->distance[d], step->distances[0], (size_t)T * sizeof(int32_t));
    else
        lh_draw_distances(&step->draw, (uint32_t)d${positions.distance.site_offset}, MAX_POSITION, T, s->distance[d],
                s->distance_scratch[d]);
% end
}

% end
% if relative.behind then
% include("cpu/relative_step.tpl")

% end
/* Panels of one weight of one layer; forward ones always, transposed ones for the backward pass. */
static void pack_layer(const layer_parameters *p, layer_panels *to, int which, bool train) {
    switch (which) {
    case 0:
        pack_weights(WIDTH, 3 * WIDTH, p->query_key_value, to->query_key_value);
        if (train) pack_transposed(WIDTH, 3 * WIDTH, p->query_key_value, to->query_key_value_transposed);
% if normaliser.directional then
        pack_weights(WIDTH, DIRECTION_WIDTH, p->direction, to->direction);
        if (train) pack_transposed(WIDTH, DIRECTION_WIDTH, p->direction, to->direction_transposed);
% end
        break;
    case 1:
        pack_weights(WIDTH, WIDTH, p->attention_output, to->attention_output);
        if (train) pack_transposed(WIDTH, WIDTH, p->attention_output, to->attention_output_transposed);
        break;
    case 2:
        pack_weights(WIDTH, FEEDFORWARD, p->up, to->up);
        if (train) pack_transposed(WIDTH, FEEDFORWARD, p->up, to->up_transposed);
        break;
    default:
        pack_weights(FEEDFORWARD, WIDTH, p->down, to->down);
        if (train) pack_transposed(FEEDFORWARD, WIDTH, p->down, to->down_transposed);
    }
}

static void begin_step(const lh_cpu_step *step, int part, int parts) {
    const parameters *p = step->parameters;
    shared *s = step->shared;
    bool train = step->mode == LH_MODE_TRAIN;
% if relative.behind and not relative.toeplitz then
    for (int d = part; d < DRAWS; d += parts) {
        draw_positions(step, d);
        ${relative.make_text}
% if score.after == "positions" then
        ${score.make_text}
% end
    }
% elseif score.after == "positions" then
    for (int d = part; d < DRAWS; d += parts) {
        draw_positions(step, d);
        ${score.make_text}
    }
% elseif positions.kind == "randomized" then
    for (int d = part; d < DRAWS; d += parts) draw_positions(step, d);
% end
% if draws_distances then
    for (int d = part; d < DISTANCE_DRAWS; d += parts) {
        draw_distances(step, d);
% if relative.toeplitz then
        make_relative(step, d);
% end
% if score.after == "distances" then
        for (int l = d; l < SCORE_SETS; l += DISTANCE_DRAWS) make_score_set(step, l);
% end
    }
% elseif relative.toeplitz then
    for (int l = part; l < LAYERS; l += parts) make_relative(step, l);
% end
% if score.after == "nothing" then
    for (int l = part; l < SCORE_SETS; l += parts) make_score_set(step, l);
% end
    for (int i = part; i < 4 * LAYERS; i += parts) pack_layer(&p->layer[i / 4], &s->layer[i / 4], i % 4, train);
    if (train && part == 0) transpose(WIDTH, CLASS_COLUMNS, p->output, s->output_rows);
}
