% local scaling = rotation.scaling
% local place = positions.period and "cyclic" or "position"
% if scaling.kind == "yarn" then
/* The scaled speed of a pair of channels, in radians per position. Within the ${scaling.original_length} positions of training, a pair that
 * makes ${scaling.fast_text} full turns or more keeps its speed, a pair that makes ${scaling.slow_text} or fewer is ${scaling.factor_text} times slower;
 * pairs between them have a mixture of both speeds. Source: Peng et al. 2024, "YaRN", section 3.2. */
static double ${prefix}scale_speed(double speed) {
    const double turns = ${f64(scaling.original_length)} * speed / (2 * 3.14159265358979323846);
    double share = (turns - ${f64(scaling.beta_slow)}) / (${f64(scaling.beta_fast)} - ${f64(scaling.beta_slow)});
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return (1 - share) * speed / ${f64(scaling.factor)} + share * speed;
}

% end
% if scaling.kind == "linear" then
/* Pairs (2m, 2m + 1) of a head are rotated by ${place} / ${scaling.factor_text} * ${rotation.base_text}^(-2m / ${PREFIX}HEAD_WIDTH).
 * Source: Chen et al. 2023, "Extending Context Window of Large Language Models via Positional Interpolation". */
% elseif scaling.kind == "ntk" then
/* Pairs (2m, 2m + 1) of a head are rotated by ${place} * base^(-2m / ${PREFIX}HEAD_WIDTH), where base is
 * ${rotation.base_text} * ${scaling.factor_text}^(${PREFIX}HEAD_WIDTH / (${PREFIX}HEAD_WIDTH - 2)): the last pair is ${scaling.factor_text} times slower, the first is unchanged.
 * Source: "NTK-aware" scaling, bloc97 2023; Peng et al. 2024, "YaRN", section 3.1. */
% elseif scaling.kind == "yarn" then
/* Pairs (2m, 2m + 1) of a head are rotated by ${place} * ${prefix}scale_speed(${rotation.base_text}^(-2m / ${PREFIX}HEAD_WIDTH)) and multiplied by `growth`, in
 * queries and in keys. This divides the softmax's temperature by the square of `growth` (section 3.4). */
% else
/* Pairs (2m, 2m + 1) of a head are rotated by ${place} * ${rotation.base_text}^(-2m / ${PREFIX}HEAD_WIDTH). */
% end
static void make_${prefix}rotation(int position, real *row) {
    const int cyclic = position % ${positions.period}; % if positions.period
% if scaling.kind == "ntk" then
    const double log_base = lh_log(${f64(rotation.base)}) + lh_log(${f64(scaling.factor)}) * ${PREFIX}HEAD_WIDTH / (${PREFIX}HEAD_WIDTH - 2);
    const double step = log_base * 2 / ${PREFIX}HEAD_WIDTH;
% else
    const double step = lh_log(${f64(rotation.base)}) * 2 / ${PREFIX}HEAD_WIDTH;
% end
    const double interpolated = ${place} / ${f64(scaling.factor)}; % if scaling.kind == "linear"
    const double growth = ${f64(scaling.attention_factor)}; % elseif scaling.kind == "yarn" and scaling.attention_factor
    const double growth = 0.1 * lh_log(${f64(scaling.factor)}) + 1; % elseif scaling.kind == "yarn"
% local rotated_channels = rotation.heads and rotation.heads .. " * " .. PREFIX .. "HEAD_WIDTH" or PREFIX .. "ROTATION_PERIOD"
    for (int c = 0; c < ${rotated_channels}; c++) {
        double sine, cosine;
% if scaling.kind == "linear" then
        lh_sincos(interpolated * lh_exp(-(c % ${PREFIX}HEAD_WIDTH / 2) * step), &sine, &cosine);
% elseif scaling.kind == "yarn" then
        lh_sincos(${place} * ${prefix}scale_speed(lh_exp(-(c % ${PREFIX}HEAD_WIDTH / 2) * step)), &sine, &cosine);
% else
        lh_sincos(${place} * lh_exp(-(c % ${PREFIX}HEAD_WIDTH / 2) * step), &sine, &cosine);
% end
% if scaling.kind == "yarn" then
        row[c] = (real)(growth * cosine);
        row[${PREFIX}ROTATION_PERIOD + c] = (real)(growth * (c % 2 ? sine : -sine));
% else
        row[c] = (real)cosine;
        row[${PREFIX}ROTATION_PERIOD + c] = (real)(c % 2 ? sine : -sine);
% end
    }
    for (int c = ${rotated_channels}; c < ${PREFIX}ROTATION_PERIOD; c++) { /* heads without rotation */ % if rotation.heads
        row[c] = 1; % if rotation.heads
        row[${PREFIX}ROTATION_PERIOD + c] = 0; % if rotation.heads
    } % if rotation.heads
}
