% call("loss_and_gradient", self, x, to, "g", "sums")
