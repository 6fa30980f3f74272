% local index_in_draw = device.max_dropouts > 1 and "(" .. device.max_dropouts .. " * layer + place)" or "layer"
% local longer_length = streams[2] and "max(block()->view.T.source, block()->view.T.target)" or "block()->view.T"
/* Samples the masks of all dropouts for the ${eval_dropout and "block" or "shard"}'s sequences. */
INLINE void draw_masks(${eval_dropout and "const bool training" or "void"}) {
% if device.masks[1] then
    const lh_cuda_step *in = &block()->step;
    const unsigned int key[2] = {in->key[0], in->key[1]};
    /* site: the dropout site of byte e. row: the index of this byte in the masks of the site. */
% if streams[2] then
    const int most_bytes = max(in->T[0], in->T[1]) * (WIDTH / 8), sequences = block()->sequences;
    for (int e = threadIdx.x; e < DROPOUT_SITES * sequences * most_bytes; e += THREADS) {
        const int site = e / (sequences * most_bytes), row = e - site * (sequences * most_bytes);
% else
    const int bytes = in->T[0] * (WIDTH / 8), sequences = block()->sequences;
    for (int e = threadIdx.x; e < DROPOUT_SITES * sequences * bytes; e += THREADS) {
        const int site = e / (sequences * bytes), row = e - site * (sequences * bytes);
% end
% -- mask: a group of dropout sites (cuda_masks.lua). first_counter_index: 0 if the sites belong to no block
% for i, mask in ipairs(device.masks) do
% local site_of_mask = mask.first > 0 and "(site - " .. mask.first .. ")" or "site"
% local over_sites = mask.sites > 1 and " / " .. mask.sites or ""
% local place_of_site = mask.sites > 1 and site_of_mask .. " % " .. mask.sites or "0"
% local first_index = mask.first_counter_index
% local layer = first_index > 0 and ("%s%s + %d"):format(site_of_mask, over_sites, first_index) or "0"
% local place = first_index > 0 and place_of_site or site_of_mask
% if mask.dropout_numbers then
% -- place: C text of conditions that select the index of the dropout in the random counter
% local index = place
% place = "" .. mask.dropout_numbers[mask.sites]
% for n = mask.sites - 1, 1, -1 do
% place = ("%s == %d ? %d : %s"):format(index, n - 1, mask.dropout_numbers[n], place)
% end
% end
% if i == 1 then
        unsigned int layer = ${layer}, place = ${place}, drop_below = ${mask.below_text};
        int T = in->T[${mask.stream_text}]; % if streams[2]
% else
        if (site >= ${mask.first}) {
            layer = ${layer};
            place = ${place};
% local has_same_threshold = mask.below_text == device.masks[i - 1].below_text and not mask.below_text:find("place", 1, true)
            drop_below = ${mask.below_text}; % if not has_same_threshold
            T = in->T[${mask.stream_text}]; % if streams[2]
        }
% end
% end
% if streams[2] then
        const int bytes = T * (WIDTH / 8);
        if (row >= sequences * bytes) continue;
% end
% if eval_dropout then
        /* in_counter: the word `site` of the random counter (longhand/rng.h) */
        const unsigned int in_counter = training ? DROPOUT_DOMAIN << 24 | layer << 8 | place
                : EVAL_DROPOUT_DOMAIN << 24 | in->draw << 8 | ${index_in_draw};
        block()->work.keep[e] = keep_byte(key, in->step, in->first + block()->first + row / bytes, in_counter,
                row % bytes, drop_below);
% else
        block()->work.keep[e] = keep_byte(key, in->step, ${train.mixes_lengths and "in->first + " or ""}block()->first + row / bytes,
                DROPOUT_DOMAIN << 24 | layer << 8 | place, row % bytes, drop_below);
% end
    }
% end
% for _, m in ipairs(device.bits) do
    % call("draw_bits", "block()->work." .. m.name, m.repetitions_text, m.name .. "_bytes(block()->view.T)", m.first_counter_index, m.dropout_number, m.below, eval_dropout and "training")
% end
    __syncthreads();
}
% if device.masks[1] then

/* Returns the masks of a site, for all sequences. site: the index of one dropout in one repetition. */
INLINE const unsigned char *find_mask(int site) {
    return block()->work.keep + (size_t)site * block()->sequences * ${longer_length} * (WIDTH / 8);
}
% end
