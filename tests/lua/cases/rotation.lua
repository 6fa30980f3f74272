-- Generated files: rotations of queries and keys. cases.lua describes the entries.

-- Returns a function (case) that returns whether the case's rotations have this kind of scaling.
local function make_scaling_test(kind)
  return function(case)
    return case.family.rotation.kind == "rope" and case.family.rotation.scaling.kind == kind
  end
end

local M = {}

M.cases = {
  { "linear scaling", "encoding.rotation.kind=rope", "encoding.rotation.scaling={ kind = 'linear', factor = 4 }",
    compile = "checked" },
  { "NTK scaling", "encoding.rotation.kind=rope", "encoding.rotation.scaling={ kind = 'ntk', factor = 4 }",
    compile = "checked" },
  { "YaRN", "encoding.rotation.kind=rope", "encoding.rotation.scaling={ kind = 'yarn', factor = 4 }",
    compile = "complete" },
  { "YaRN at its largest", "encoding.rotation.kind=rope", "encoding.rotation.base=123456789012",
    "encoding.rotation.scaling={ kind = 'yarn', factor = 123456.789, original_length = 1048576, "
    .. "beta_slow = 123456.789, beta_fast = 234567.891, attention_factor = 123.456789 }", "precision=float64",
    compile = "checked" },
}

M.identifiers = {
  { "ROTATION_PERIOD", function(case) return case.family.rotation.kind == "rope" end },
  { "interpolated", make_scaling_test("linear") },
  { "log_base", make_scaling_test("ntk") },
  { "scale_speed", make_scaling_test("yarn") },
  { "growth", make_scaling_test("yarn") },
  { "kernels/cpu/rotation.h", function(case) return case.family.rotation.kind == "rope" end },
}

M.sections = {
  { "rotate.index", "none rope index 0.1 float32", "attention_self.inc", { "rotate_self" } },
  { "rotate.randomized_pass", "none rope pass 0.1 float32", "attention_self.inc", { "rotate_self" } },
  { "rotate.randomized_layer", "none rope layer 0.1 float32", "attention_self.inc", { "rotate_self" } },
  { "rotate.randomized_input_and_layer", "learned rope layer 0.1 float32", "attention_self.inc", { "rotate_self" } },
  { "positions.rope_linear", "linear scaling", "step.c", { "make_rotation" } },
  { "positions.rope_ntk", "NTK scaling", "step.c", { "make_rotation" } },
  { "positions.rope_yarn", "YaRN", "step.c", { "scale_speed", "make_rotation" } },
}

return M
