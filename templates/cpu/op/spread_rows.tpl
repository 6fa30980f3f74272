% call("spread_rows", self, part, width, gradient)
