% local layer = drops and ("(uint32_t)%s + %d"):format(loops > 1 and "use" or "l", site)
% call("attention_" .. name, self, "l", part, layer, kept, q, kv, cache, tiles, direction, out)
