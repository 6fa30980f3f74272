% call("sum_by_symbol", self, "distinct", width, gradient)
