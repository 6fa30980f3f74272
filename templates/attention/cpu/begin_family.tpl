% local follows_positions = relative.behind and not relative.toeplitz or score.after == "positions"
% if follows_positions then
for (int d = part; d < ${PREFIX}DRAWS; d += parts) {
    draw_${name}_positions(step, d);
% if relative.behind and not relative.toeplitz and positions.input_first then
    if (d > 0) make_${name}_relative(step, d - 1);
% elseif relative.behind and not relative.toeplitz then
    make_${name}_relative(step, d);
% end
% if score.after == "positions" and not positions.per_layer then
    for (int l = 0; l < ${PREFIX}SCORE_SETS; l++) make_${name}_score_set(step, l);
% elseif score.after == "positions" and positions.input_first then
    if (d > 0) make_${name}_score_set(step, d - 1);
% elseif score.after == "positions" then
    make_${name}_score_set(step, d);
% end
}
% elseif positions.kind == "randomized" then
for (int d = part; d < ${PREFIX}DRAWS; d += parts) draw_${name}_positions(step, d);
% end
% if positions.distance.draws then
for (int d = part; d < ${PREFIX}DISTANCE_DRAWS; d += parts) {
    draw_${name}_distances(step, d);
% if relative.toeplitz then
    make_${name}_relative(step, d);
% end
% if score.after == "distances" then
    for (int l = d; l < ${PREFIX}SCORE_SETS; l += ${PREFIX}DISTANCE_DRAWS) make_${name}_score_set(step, l);
% end
}
% elseif relative.toeplitz then
for (int l = part; l < ${stack.count}; l += parts) make_${name}_relative(step, l);
% end
% if score.after == "nothing" then
for (int l = part; l < ${PREFIX}SCORE_SETS; l += parts) make_${name}_score_set(step, l);
% end
