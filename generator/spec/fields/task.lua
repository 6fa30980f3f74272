-- Fields of the section `task`, the task to learn. schema.lua describes entries.

local common = require("spec.fields.common")

return {
  { path = "task", type = "table", required = true, doc = "the task to learn" },
  { path = "task.kind", type = "kind", kinds_from = "tasks", optional = true,
    doc = "a built-in task, runtime/data/tasks/<kind>.c; a task has exactly one of kind, source and data" },
  { path = "task.source", type = "source", optional = true,
    doc = "the C file of a sampler of your own, relative to the spec file (docs/own-task.md)" },
  { path = "task.data", type = "file", optional = true,
    doc = "a file of training examples (JSON lines, columns with tabs, or SCAN's form), relative to the spec file "
      .. "(docs/own-task.md)" },
  { path = "task.name", type = "name", optional = true, requires = "data",
    doc = "the task's name in reports and tables; absent: the spec's name" },
  { path = "task.eval", type = "file", optional = true, requires = "data",
    doc = "a second file of examples, for evaluation; absent: the training examples are evaluated" },
  { path = "task.validation", type = "file", optional = true,
    doc = "a third file of examples, for validation; for a task that generates its examples, a file of puzzles "
      .. "(docs/latin-square.md)" },
  { path = "task.input_symbols", type = "symbols", optional = true, requires = "data",
    doc = "the alphabet of inputs; tokens in files are symbols, or integers from 0 to the size of the alphabet - 1; "
      .. "absent: the symbols of task.data" },
  { path = "task.output_symbols", type = "symbols", optional = true, requires = "data",
    doc = "the alphabet of targets, in the form of input_symbols; absent: the symbols of task.data" },
  { path = "task.symbols", type = "symbols", optional = true, requires = "data",
    doc = "one alphabet for inputs and targets, whose symbols have one vector each; it replaces input_symbols and "
      .. "output_symbols" },
  { path = "task.end_symbol", type = "symbol", optional = true, requires = "data",
    doc = "the symbol that ends every target; it is appended to the targets of the files, and a model that answers "
      .. "token by token stops at it" },
  { path = "task.longest", is_rare = true, type = "integer", min = 2, max = 100000, optional = true, requires = "data",
    unit = "tokens",
    doc = "the highest number of tokens that an input and its target may have together; absent, with data: 512" },
  { path = "task.axes", is_rare = true, type = "names", optional = true, requires = "data",
    doc = "names of further numbers in the lines of the files, such as { \"digits\" }; eval.by can evaluate by these "
      .. "numbers" },
  { path = "task.seed", type = "integer", min = 0, max = common.MAX_INTEGER, default = 0, omitted_value = 0,
    doc = "the seed of the examples that the task generates and of their split into sets; all other random numbers "
      .. "depend on the seed of the run" },
  { path = "task.options", type = "options",
    default_text = "the first choice of each option; for a range, the number in parentheses in ./longhand list tasks",
    doc = "options of the task, by name; ./longhand list tasks shows them" },
  { path = "task.loss", type = "choice",
    default_text = "counted for data files; for a C file, its line `mask:` decides",
    doc = "the labels over which the loss is a mean (docs/own-task.md)",
    choices = {
      { "all", "masked labels are included" },
      { "counted", "masked labels are left out" } } },
  { path = "task.computation", is_rare = true, type = "integer", min = 0, max = 1000, default = 0, omitted_value = 0,
    unit = "tokens per input token",
    doc = "tokens without content (pause tokens) between input and outputs, which give the network space for "
      .. "computation" },
}
