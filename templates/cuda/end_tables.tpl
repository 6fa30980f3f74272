% for _, family in ipairs(attentions) do
% if family.relative.kind == "transformer_xl" then

% include("cuda/end_rows.tpl", family)
% end
% end

/* Takes the folded gradients of the step's tables on to the parameters' gradient. */
NOINLINE void end_tables(parameters *g) {
    is_global(g);
    const step_view *v = &block()->view;
    const team *t = &block()->members;
    table_sums sums;
    size_t used = 0;
    lay_out_sums(&sums, v->shared.sums, &used, v->T);
% if streams[2] and device.place_sums[1] and input_draw then
% local first = input_draw.first == 1 and " - " .. input_draw.PREFIX .. "FIRST_POSITION" or ""
% for i, one in ipairs(device.place_sums) do
% if i > 1 then
    team_barrier(&block()->members); /* streams may have positions in common */
% end
    for (int e = t->rank * THREADS + (int)threadIdx.x; e < v->${one.T} * WIDTH; e += t->blocks * THREADS)
        g->position_table[(v->${one.drawn}[e / WIDTH]${first}) * WIDTH + e % WIDTH] += sums.${one.member}[e];
% end
% elseif streams[2] and device.place_sums[1] then
    for (int e = t->rank * THREADS + (int)threadIdx.x; e < POSITION_ROWS * WIDTH; e += t->blocks * THREADS) {
        real sum = 0;
% for _, one in ipairs(device.place_sums) do
        if (e < v->${one.T} * WIDTH) sum += sums.${one.member}[e];
% end
        g->position_table[e] = sum;
    }
% else
% for _, one in ipairs(device.place_sums) do
    % include("cuda/end_places.tpl", one)
% end
% end
% for _, family in ipairs(attentions) do
    % include("cuda/end_family.tpl", family)
% end
}
