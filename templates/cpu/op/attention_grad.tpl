% call("attention_" .. name .. "_backward", self, "l", kept, q, kv, direction, attended, dy, dq, dkv, ddirection)
