% if signed_sinusoids then
% include("cpu/signed_sinusoid.tpl")

% end
% for _, family in ipairs(attentions) do
% include("cpu/draws.tpl", family)
% end
/* Panels of one weight of one layer; forward ones always, transposed ones for the backward pass. */
static void pack_layer(const layer_parameters *p, layer_panels *to, int which, bool train) {
    switch (which) {
    case 0:
        pack_weights(WIDTH, 3 * WIDTH, p->query_key_value, to->query_key_value);
        if (train) pack_transposed(WIDTH, 3 * WIDTH, p->query_key_value, to->query_key_value_transposed);
% for _, family in ipairs(attentions) do
% if family.normaliser.directional then
        pack_weights(WIDTH, DIRECTION_WIDTH, p->direction, to->direction);
        if (train) pack_transposed(WIDTH, DIRECTION_WIDTH, p->direction, to->direction_transposed);
% end
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
% for _, family in ipairs(attentions) do
    % include("cpu/begin_family.tpl", family)
% end
    for (int i = part; i < 4 * LAYERS; i += parts) pack_layer(&p->layer[i / 4], &s->layer[i / 4], i % 4, train);
    if (train && part == 0) transpose(WIDTH, CLASS_COLUMNS, p->output, s->output_rows);
}
