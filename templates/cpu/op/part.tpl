% -- Selects the rows of the tokens in `part`.
% call("const real *" .. name .. " = select_rows", self, part, width, x, rows)
