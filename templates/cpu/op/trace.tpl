% call("trace_activation", self, x, "to++")
