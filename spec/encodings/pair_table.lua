-- A learned number per head for each pair of a query's index and a key's index in their sequences.
--
-- The table has the form of the bias of Duan & Shi 2024, but it is learned, not calibrated. Tokens beyond the table use
-- its last row and its last column. For another size, change all three fields: bias has rows x columns numbers.
return {
  score = function(x)
    local row, column = min(x.query_index, x.rows - 1), min(x.key_index, x.columns - 1)
    return x.score + lookup(x.bias, row * x.columns + column)
  end,
  parameters = { rows = 64, columns = 64, bias = { per = "head", shape = 4096, init = 0 } },
}
