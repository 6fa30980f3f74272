-- Position coupling: learned vectors of positions that the task assigns to the tokens (Cho et al. 2024).
--
-- "Position Coupling for Improving Length Generalization of Arithmetic Transformers", arXiv:2405.20671. Set
-- positions.max_position to the greatest position of the longest test examples: training samples positions up to it.
return {
  additive = { kind = "learned", init = "normal", init_sigma = 1.0 },
  positions = { kind = "by_task" },
}
