-- Seeds as an axis, so that each model has a run of its own which another's may be made of.
return {
  { name = 0, spec = {}, seeds = { 0, 0 } },
  { name = 1, spec = {}, seeds = { 1, 1 } },
  { name = 2, spec = {}, seeds = { 2, 2 } },
}
