% local first = positions.first == 1 and " - " .. PREFIX .. "FIRST_POSITION" or ""
% local drawn = positions.kind == "randomized"
% local row = drawn and prefix .. "positions_of(v, l)[row]" or "row"
% if block then
for (int e = t->rank * THREADS + (int)threadIdx.x; e < ${count} * v->T * WIDTH; e += t->blocks * THREADS) {
    const int l = e / (v->T * WIDTH), row = e / WIDTH % v->T;
    g->${block}[l].position_table[(${row}${first}) * WIDTH + e % WIDTH] = sums.${member}[e];
}
% else
% local place = (drawn and "v->" .. prefix .. "draws[e / WIDTH]" or "e / WIDTH") .. first
for (int e = t->rank * THREADS + (int)threadIdx.x; e < v->T * WIDTH; e += t->blocks * THREADS)
    g->position_table[(${place}) * WIDTH + e % WIDTH] = sums.${member}[e];
% end
