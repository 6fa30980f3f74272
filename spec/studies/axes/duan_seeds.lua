-- Seeds as an axis: every model has its own run, from which another model's run can start.
return {
  { name = 0, spec = {}, seeds = { 0, 0 } },
  { name = 1, spec = {}, seeds = { 1, 1 } },
  { name = 2, spec = {}, seeds = { 2, 2 } },
}
