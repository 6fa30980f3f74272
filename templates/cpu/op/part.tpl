% call("const real *" .. name .. " = select_rows", self, part, width, x, rows)
