-- Names of an exported file: the names of the network's description, unless Python or PyTorch uses them already.
--
-- Input: words. Output: names that are unique in their scope. If an attribute of a module cannot have its name in
-- checkpoints, it gets another name, and the field `renamed` records both.

local lists = require("base.lists")

local M = {}

local PYTHON = [[and as assert async await break class continue def del elif else except finally for from global if
  import in is lambda nonlocal not or pass raise return try while with yield ]]

-- Names that a local variable of a forward pass cannot have: words of Python, and names that the forward pass reads.
local VARIABLES = lists.split_set(PYTHON .. [[self torch nn math range len sinusoid waves places place distance
  draw_positions draw_distances pair_distances]])

-- Names that an attribute cannot have: attributes that PyTorch's modules and dictionaries of modules have already, and
-- words of Python.
local ATTRIBUTES = lists.split_set(PYTHON .. [[add_module apply bfloat16 buffers call_super_init children clear
  compile cpu cuda double dump_patches eval extra_repr float forward get_buffer get_extra_state get_parameter
  get_submodule half ipu items keys load_state_dict modules mtia named_buffers named_children named_modules
  named_parameters parameters pop register_backward_hook register_buffer register_forward_hook
  register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook
  register_load_state_dict_post_hook register_load_state_dict_pre_hook register_module register_parameter
  register_state_dict_post_hook register_state_dict_pre_hook requires_grad_ set_extra_state set_submodule share_memory
  state_dict to to_empty train training type update values xpu zero_grad]])

-- Names that a class cannot have: classes of the file's fixed part, names that the file imports, and words of Python.
local CLASSES = lists.split_set("F Relative Geometric Direction None True False")

-- Returns `word`, to which `ending` is appended until no used name equals it, and adds the result to used_names.
local function take_free(used_names, word, ending)
  while used_names[word] do
    word = word .. ending
  end
  used_names[word] = true
  return word
end

-- Fields:
--   in_files  the set of the words in names of tensors in checkpoints
--   classes   the set of taken names of classes
--   renamed   a list of { name, word }: an attribute, and its name in checkpoints
--   words     the name in checkpoints of each renamed attribute
local Names = {}
Names.__index = Names

-- Starts the names of a file. tensors: the tensors of its checkpoint. An attribute that cannot have the name of its
-- tensor gets a name that is no word of any tensor's name.
function M.new(tensors)
  local words = lists.collect(tensors, function(tensor) return lists.find_all(tensor.name, "[^.]+") end)
  return setmetatable({ in_files = lists.to_set(words), classes = setmetatable({}, { __index = CLASSES }), renamed = {},
    words = {} }, Names)
end

-- Starts the set of taken names of a class's attributes.
function M.new_attributes()
  return setmetatable({}, { __index = ATTRIBUTES })
end

-- Returns the attribute for a word of a tensor's name: the word itself if it is free, otherwise the word with "_"
-- appended until it is free. A name with "_" appended must neither occur in files nor stand for another word.
function Names:add_attribute(attributes, word)
  local name, words = word, self.words
  local function is_taken()
    local has_other_meaning = self.in_files[name] or words[name] and words[name] ~= word
    return attributes[name] or name ~= word and has_other_meaning
  end
  while is_taken() do
    name = name .. "_"
  end
  attributes[name] = true
  if name ~= word and not words[name] then
    words[name] = word
    self.renamed[#self.renamed + 1] = { name = name, word = word }
  end
  return name
end

-- Starts the set of taken names of a forward pass's variables.
function M.new_variables(arguments)
  return setmetatable(lists.to_set(arguments), { __index = VARIABLES })
end

-- Returns a name for a variable, or for an attribute that has no name in files.
function M.add_variable(variables, word)
  return take_free(variables, word, "_")
end

-- Converts "parallel_block" to "ParallelBlock".
function M.to_camel(word)
  return (("_" .. word):gsub("_+(%w)", string.upper):gsub("_", ""))
end

-- Converts "ParallelBlock" to "parallel_block".
function M.to_snake(name)
  return (name:gsub("(%u)", "_%1"):lower():gsub("^_", ""))
end

function Names:add_class(word)
  return take_free(self.classes, M.to_camel(word), "Block")
end

return M
