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
% if cuda.shares_places then
% local first = positions.first == 1 and " - " .. PREFIX .. "FIRST_POSITION" or ""
% local place = (input_draw and "v->" .. prefix .. "draws[e / WIDTH]" or "e / WIDTH") .. first
% if streams[2] then
    const int most = max(v->T.source, v->T.target) * WIDTH;
    for (int e = t->rank * THREADS + (int)threadIdx.x; e < most; e += t->blocks * THREADS) {
        real sum = 0;
% for _, embedding in ipairs(device.embeddings) do
        if (e < v->${embedding.T} * WIDTH) sum += sums.${embedding.places}[e];
% end
        g->position_table[(${place}) * WIDTH + e % WIDTH] = sum;
    }
% else
    for (int e = t->rank * THREADS + (int)threadIdx.x; e < v->T * WIDTH; e += t->blocks * THREADS)
        g->position_table[(${place}) * WIDTH + e % WIDTH] = sums.places[e];
% end
% end
% for _, family in ipairs(attentions) do
    % include("cuda/end_family.tpl", family)
% end
}
