% call("embed", self, out)
