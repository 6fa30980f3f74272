% call("const real *" .. name .. " = take_rows", self, part, width, x, rows)
