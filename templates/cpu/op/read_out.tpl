% call("read_out", self, x)
