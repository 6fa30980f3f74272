-- A free learned number per head for each query and key, by the places of both in their sequences.
--
-- What a bias of fixed cells has, such as that of Duan & Shi 2024, learned in place of calibrated. Beyond its sizes the
-- last row and the last column are read. For other sizes set all three: bias has a number for each of rows x columns.
return {
  score = function(x)
    local row, column = min(x.query_index, x.rows - 1), min(x.key_index, x.columns - 1)
    return x.score + lookup(x.bias, row * x.columns + column)
  end,
  parameters = { rows = 64, columns = 64, bias = { per = "head", shape = 4096, init = 0 } },
}
