% call("repeat_rows", self, "distinct", width, x)
