% call(routine, self, dy, "g")
