% call("trace_activation", self, tokens, x, "to++")
