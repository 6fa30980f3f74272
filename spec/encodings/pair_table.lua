-- A free learned number per head for each pair of a query's place and a key's place in their sequences.
--
-- This has the form of a bias with fixed cells, as in Duan & Shi 2024, but it is learned, not calibrated. Tokens beyond
-- the table use its last row and its last column. Other sizes need all three fields changed: bias has a number for each
-- of rows x columns.
return {
  score = function(x)
    local row, column = min(x.query_index, x.rows - 1), min(x.key_index, x.columns - 1)
    return x.score + lookup(x.bias, row * x.columns + column)
  end,
  parameters = { rows = 64, columns = 64, bias = { per = "head", shape = 4096, init = 0 } },
}
