-- Fields of a spec: what is learnt. Entries are as schema.lua says.

local common = require("spec.fields.common")

return {
  { path = "task", type = "table", required = true, doc = "what is learnt" },
  { path = "task.kind", type = "kind", of = "tasks", optional = true,
    doc = "the sampler: runtime/data/tasks/<kind>.c; a task has one of kind, source and data" },
  { path = "task.source", type = "source", optional = true,
    doc = "a sampler of your own, relative to the spec file (docs/own-task.md)" },
  { path = "task.data", type = "file", optional = true,
    doc = "a file of examples, JSON lines, relative to the spec file (docs/own-task.md)" },
  { path = "task.eval", type = "file", optional = true, with = "data",
    doc = "another such file, to evaluate; absent: the training examples" },
  { path = "task.validation", type = "file", optional = true,
    doc = "a third one, or puzzles for a task that makes its examples (docs/latin-square.md)" },
  { path = "task.input_symbols", type = "symbols", optional = true, with = "data",
    doc = "the alphabet of inputs: tokens are below its size" },
  { path = "task.output_symbols", type = "symbols", optional = true, with = "data",
    doc = "the alphabet of targets" },
  { path = "task.longest", type = "integer", min = 2, max = 100000, optional = true, with = "data", unit = "tokens",
    doc = "the most that an input and its target have together; with data, 512 unless given" },
  { path = "task.axes", type = "names", optional = true, with = "data",
    doc = "numbers that lines of the files may have besides: { \"digits\" }; eval.by takes them" },
  { path = "task.seed", type = "integer", min = 0, max = common.MOST, default = 0, left_out = 0,
    doc = "of examples that the task makes, and of what they are for; seeds of runs are for the rest" },
  { path = "task.options", type = "options", default = common.settled_by_the_plan,
    default_text = "of each option the first choice, or of a range the number that is shown behind it",
    doc = "what a task leaves open, by name: ./longhand list tasks" },
  { path = "task.computation", type = "integer", min = 0, max = 1000, default = 0, left_out = 0,
    unit = "tokens per input token",
    doc = "tokens without content (pause tokens) between the input and the outputs: room to compute" },
}
