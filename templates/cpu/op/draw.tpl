% local layer = site and ("(uint32_t)%s + %d"):format(loops > 1 and "use" or "l", site) or "0"
% call((eval_dropout and "" or "if (train) ") .. "draw_masks", self, part, layer, place, rate .. "_DROP_BELOW", length, width, keep)
