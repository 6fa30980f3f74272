% call("embed_backward", self, dy, "g")
