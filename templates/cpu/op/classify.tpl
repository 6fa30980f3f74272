% call("classify", self, x, "sums")
