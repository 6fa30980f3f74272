% local ranges = optimizer.spared
% if ranges then
/* Elements that do not decay: ${optimizer.spared_text}. */
static const element_range spared[] = {
% for _, range in ipairs(ranges) do
        {${range.first}, ${range.last}},
% end
};

% end
static void update(const lh_update *u, size_t first, size_t count, lh_update_sums *sums) {
% if optimizer.beta1 then
    static const adam constants = {${f64(optimizer.beta1)}, ${f64(optimizer.beta2)}, ${f64(optimizer.epsilon)}};
% end
% if optimizer.momentum then
    static const double MOMENTUM = ${f64(optimizer.momentum)};
% end
% if clip.kind == "global_norm" then
    static const double MAX_NORM = ${f64(clip.max_norm)};
    double clip = u->gradient_norm < MAX_NORM ? 1 : MAX_NORM / u->gradient_norm;
% end
% if optimizer.decay then
    static const double DECAY = ${f64(optimizer.decay)};
    real shares[LH_CHUNK];
    % call("spread_decay", "u->learning_rate * DECAY", ranges and "spared" or "NULL", ranges and #ranges or 0, "first", "count", "shares")
% end
    % call(optimizer.routine .. "_update", "u", optimizer.beta1 and "constants", optimizer.momentum and "MOMENTUM", optimizer.decay and "shares", clip.kind == "global_norm" and "clip" or "1", "first", "count", "sums")
}
