% call(routine, self, out)
