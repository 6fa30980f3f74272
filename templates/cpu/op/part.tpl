% call("const real *" .. name .. " = part_of", self, part, width, x, rows)
