-- The errors of these fragments appear only when a cell is put together.
return {
  title = "cells",
  base = { task = { kind = "bucket_sort" }, model = { use = "small_encoder", layers = "two" } },
  axes = {
    { name = "encoding", values = {
      { name = "rope", spec = { encoding = { rotation = { kind = "rope", bases = 3 } } } },
      { name = "learned", spec = { encoding = { kind = "learned", positions = { kind = "randomized", max_position = 20 } } } },
    } },
    { name = "width", values = { { name = "16", spec = {} }, { name = "30", spec = { model = { width = 30 } } } } },
  },
}
