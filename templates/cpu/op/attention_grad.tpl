% call("attention_" .. name .. "_backward", self, "l", kept, direction, q, kv, attended, dy, ddirection, dq, dkv)
