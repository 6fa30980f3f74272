% local ranges = optimizer.spared
% if ranges then
/* Elements that weight decay leaves out: ${optimizer.spared_text}. */
static const element_range spared[] = {
        {${range.first}, ${range.last}}, % for _, range in ipairs(ranges)
};

% end
static void update(const lh_update *u, size_t first, size_t count, lh_update_sums *sums) {
% local arguments = { "u" }
% for _, constant in ipairs(optimizer.constants) do
% arguments[#arguments + 1] = constant.name
% local text = constant.value and f64(constant.value) or "{"
% for i, value in ipairs(constant.values) do
% text = text .. f64(value) .. (constant.values[i + 1] and ", " or "}")
% end
    static const ${constant.type} ${constant.name} = ${text};
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
% if optimizer.decay then arguments[#arguments + 1] = "shares" end
% local gradient_factor = clip.kind == "global_norm" and "clip" or "1"
% for _, argument in ipairs({ gradient_factor, "first", "count", "sums" }) do
% arguments[#arguments + 1] = argument
% end
    % call(optimizer.routine .. "_update", arguments)
}
