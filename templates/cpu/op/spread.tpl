% call("spread", self, part, width, gradient)
