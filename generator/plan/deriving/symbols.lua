-- The names that generated code is linked by: longhand_<role>_<id>, with role one word: spec; x8664, x8664v3, x8664v4,
-- aarch64 (the program of a level); cuda, images, text (the CUDA half); train, evaluate (its kernels).
--
-- Input: the id of a spec. Output: the id as these names have it.
-- Invariants: nothing else is called longhand_: the runtime has lh_, a task lh_task_. A role holds no underscore, so
-- that no id makes two names equal. Two underscores in a row belong to the compiler; the second is written U, which no
-- id holds. The Makefile does the same.

local M = {}

function M.of(id)
  return (id:gsub("__", "_U"))
end

return M
