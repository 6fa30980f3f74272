-- Names of an exported file: those of the description, unless Python or PyTorch has another use for them.
--
-- Input: words. Output: words that no other thing of the same scope is called by. An attribute of a module that cannot
-- have the name that checkpoints know gets another one: field renamed, a list of { name, word }.

local lists = require("base.lists")

local M = {}

local PYTHON = [[and as assert async await break class continue def del elif else except finally for from global if
  import in is lambda nonlocal not or pass raise return try while with yield ]]

-- Names that a local variable of a forward pass cannot have: words of Python, and names that such a pass reads.
local VARIABLES = lists.words(PYTHON .. [[self torch nn math range len sinusoid waves places place distance
  draw_positions draw_distances pair_distances]])

-- Attributes that modules and dictionaries of modules have already, and words of Python.
local ATTRIBUTES = lists.words(PYTHON .. [[add_module apply bfloat16 buffers call_super_init children clear compile cpu
  cuda double dump_patches eval extra_repr float forward get_buffer get_extra_state get_parameter get_submodule half ipu
  items keys load_state_dict modules mtia named_buffers named_children named_modules named_parameters parameters pop
  register_backward_hook register_buffer register_forward_hook register_forward_pre_hook register_full_backward_hook
  register_full_backward_pre_hook register_load_state_dict_post_hook register_load_state_dict_pre_hook
  register_module register_parameter register_state_dict_post_hook register_state_dict_pre_hook requires_grad_
  set_extra_state set_submodule share_memory state_dict to to_empty train training type update values xpu zero_grad]])

-- Classes of the file that are no part of the graph, names that it imports, and words of Python.
local CLASSES = lists.words("F Relative Geometric Direction None True False")

-- `word`, or the first of word .. ending, ... that is free; it is taken then.
local function free(taken, word, ending)
  while taken[word] do
    word = word .. ending
  end
  taken[word] = true
  return word
end

local Names = {}
Names.__index = Names

-- tensors: those of checkpoints; no other name may use their words.
function M.new(tensors)
  local words = lists.flat(tensors, function(tensor) return lists.matches(tensor.name, "[^.]+") end)
  return setmetatable({ in_files = lists.set(words), classes = setmetatable({}, { __index = CLASSES }), renamed = {},
    word_of = {} }, Names)
end

-- The names of one module's attributes.
function M.attributes()
  return setmetatable({}, { __index = ATTRIBUTES })
end

-- The attribute for a word of the names in files: that word where it is free.
function Names:attribute(attributes, word)
  local name, known = word, self.word_of
  while attributes[name] or name ~= word and (self.in_files[name] or known[name] and known[name] ~= word) do
    name = name .. "_"
  end
  attributes[name] = true
  if name ~= word and not known[name] then
    known[name] = word
    self.renamed[#self.renamed + 1] = { name = name, word = word }
  end
  return name
end

-- The names of one forward pass's variables; arguments: those that it has already.
function M.variables(arguments)
  return setmetatable(lists.set(arguments), { __index = VARIABLES })
end

-- A name for a variable, or for an attribute that files know nothing of.
function M.variable(variables, word)
  return free(variables, word, "_")
end

-- "parallel_block" as "ParallelBlock".
function M.camel(word)
  return (("_" .. word):gsub("_+(%w)", string.upper):gsub("_", ""))
end

-- "ParallelBlock" as "parallel_block".
function M.snake(name)
  return (name:gsub("(%u)", "_%1"):lower():gsub("^_", ""))
end

-- The name of a class for a `word` of the description.
function Names:class(word)
  return free(self.classes, M.camel(word), "Block")
end

return M
