% local index_in_draw = device.max_dropouts > 1 and "(" .. device.max_dropouts .. " * layer + place)" or "layer"
% local longer_length = streams[2] and "max(block()->view.T.source, block()->view.T.target)" or "block()->view.T"
/* Samples the masks of all dropouts for the ${eval_dropout and "block" or "shard"}'s sequences. */
INLINE void draw_masks(${eval_dropout and "const bool training" or "void"}) {
% if device.masks[1] then
    const lh_cuda_step *in = &block()->step;
    const unsigned int key[2] = {in->key[0], in->key[1]};
    /* site: the dropout site of byte e. row: the byte's index among the bytes of its site, sequence after sequence. */
% if streams[2] then
    const int most_bytes = max(in->T[0], in->T[1]) * (WIDTH / 8), sequences = block()->sequences;
    for (int e = threadIdx.x; e < DROPOUT_SITES * sequences * most_bytes; e += THREADS) {
        const int site = e / (sequences * most_bytes), row = e - site * (sequences * most_bytes);
% else
    const int bytes = in->T[0] * (WIDTH / 8), sequences = block()->sequences;
    for (int e = threadIdx.x; e < DROPOUT_SITES * sequences * bytes; e += THREADS) {
        const int site = e / (sequences * bytes), row = e - site * (sequences * bytes);
% end
% -- site_group: the dropout sites of all repetitions of a block, or of the operations outside of blocks (cuda_masks.lua)
% -- layer, place: C texts of a site's fields in the random counter (longhand/rng.h)
% for i, site_group in ipairs(device.masks) do
% local index_in_group = site_group.first > 0 and "(site - " .. site_group.first .. ")" or "site"
% local layer, place = "0", index_in_group
% if site_group.first_counter_index > 0 then -- the group belongs to a block
% local over_sites = site_group.sites > 1 and " / " .. site_group.sites or ""
% layer = ("%s%s + %d"):format(index_in_group, over_sites, site_group.first_counter_index)
% place = site_group.sites > 1 and index_in_group .. " % " .. site_group.sites or "0"
% end
% if site_group.dropout_numbers then
% local index = place
% place = "" .. site_group.dropout_numbers[site_group.sites]
% for n = site_group.sites - 1, 1, -1 do
% place = ("%s == %d ? %d : %s"):format(index, n - 1, site_group.dropout_numbers[n], place)
% end
% end
% if i == 1 then
        unsigned int layer = ${layer}, place = ${place}, drop_below = ${site_group.below_text};
        int T = in->T[${site_group.stream_text}]; % if streams[2]
% else
        if (site >= ${site_group.first}) {
            layer = ${layer};
            place = ${place};
% local has_same_threshold = site_group.below_text == device.masks[i - 1].below_text and not site_group.below_text:find("place", 1, true)
            drop_below = ${site_group.below_text}; % if not has_same_threshold
            T = in->T[${site_group.stream_text}]; % if streams[2]
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
