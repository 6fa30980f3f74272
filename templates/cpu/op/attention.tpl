% call("attention_" .. name, self, "l", kept, q, kv, direction, out)
