% call("attention_" .. name, self, "l", kept, direction, q, kv, out)
