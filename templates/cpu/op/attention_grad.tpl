% call("attention_" .. name .. "_backward", self, "l", part, kept, q, kv, direction, attended, dy, dq, dkv, ddirection)
