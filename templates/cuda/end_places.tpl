% -- Stores the summed gradients of the position vectors of an entry of place_sums (list_place_sums of cuda_network.lua).
% local minus_first = input_draw and input_draw.first == 1 and " - " .. input_draw.PREFIX .. "FIRST_POSITION" or ""
% if block then
% local row = sampled_positions and sampled_positions .. "[row]" or "row"
for (int e = t->rank * THREADS + (int)threadIdx.x; e < ${count} * v->${T} * WIDTH; e += t->blocks * THREADS) {
    const int l = e / (v->${T} * WIDTH), row = e / WIDTH % v->${T};
    g->${block}[l].position_table[(${row}${minus_first}) * WIDTH + e % WIDTH] = sums.${member}[e];
}
% else
% local place = (sampled_positions and sampled_positions .. "[e / WIDTH]" or "e / WIDTH") .. minus_first
% local operator = streams[2] and "+=" or "="
for (int e = t->rank * THREADS + (int)threadIdx.x; e < v->${T} * WIDTH; e += t->blocks * THREADS)
    g->position_table[(${place}) * WIDTH + e % WIDTH] ${operator} sums.${member}[e];
% end
