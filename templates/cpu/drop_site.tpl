% -- Defines `site` (longhand/rng.h) of a layer's dropout with index `place`.
% local index_in_network = cpu.max_dropouts > 1 and cpu.max_dropouts .. " * layer + " .. place or "layer"
% if eval_dropout then
uint32_t site = step->mode == LH_MODE_TRAIN ? lh_site(LH_DOMAIN_DROPOUT, layer, ${place})
        : lh_site(LH_DOMAIN_EVAL_DROPOUT, step->draw.example, ${index_in_network});
% else
uint32_t site = lh_site(LH_DOMAIN_DROPOUT, layer, ${place});
% end
