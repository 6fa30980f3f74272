
/* Converts the summed gradients of the step's tables to gradients of the parameters. */
NOINLINE void end_tables(parameters *g) {
    assume_global(g);
    const step_view *v = &block()->view;
    const team *t = &block()->members;
    table_sums sums;
    size_t used = 0;
    lay_out_sums(&sums, v->shared.sums, &used, v->T);
% local streams_share_table = streams[2] and device.place_sums[1] and not device.place_sums[1].block
% if streams_share_table and not input_draw then
    for (int e = t->rank * THREADS + (int)threadIdx.x; e < POSITION_ROWS * WIDTH; e += t->blocks * THREADS) {
        real sum = 0;
        if (e < v->${place_sum.T} * WIDTH) sum += sums.${place_sum.member}[e]; % for _, place_sum in ipairs(device.place_sums)
        g->position_table[e] = sum;
    }
% else
% for i, place_sum in ipairs(device.place_sums) do
    team_barrier(&block()->members); /* both streams may add to the same row */ % if streams_share_table and i > 1
    % include("cuda/end_places.tpl", place_sum)
% end
% end
    % slot("end_tables", family.on_device) % for _, family in ipairs(attentions)
}
