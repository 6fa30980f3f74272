-- A cell of a grid has a row and a column.
return {
  task = { kind = "latin_square" },
  encoding = { positions = { kind = "grid" }, additive = { kind = "learned" }, rotation = { kind = "rope" },
    relative = { kind = "shaw", sides = "left" }, score = { use = "alibi" } },
  eval = { splits = { "test" } },
}
