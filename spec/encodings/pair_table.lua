-- A free learned number per head for each query and key, by the places of both in their sequences.
--
-- The form of a bias with fixed cells, such as that of Duan & Shi 2024, but learned, not calibrated. Tokens beyond its
-- sizes use the last row and the last column. For other sizes set all three: bias has a number for each of rows x
-- columns.
return {
  score = function(x)
    local row, column = min(x.query_index, x.rows - 1), min(x.key_index, x.columns - 1)
    return x.score + lookup(x.bias, row * x.columns + column)
  end,
  parameters = { rows = 64, columns = 64, bias = { per = "head", shape = 4096, init = 0 } },
}
