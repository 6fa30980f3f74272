-- Names that a user gives and that generated code, files and flags use: names of values, blocks and options.

local lists = require("base.lists")

local M = {}

local MAX_LENGTH = 40

-- A description of valid names (M.is_valid), for messages.
M.TEXT = ("up to %d characters: a-z, 0-9 and _, a letter first"):format(MAX_LENGTH)

function M.is_valid(name)
  return type(name) == "string" and name:find("^[a-z][a-z0-9_]*$") ~= nil and #name <= MAX_LENGTH
end

-- Keywords, alternative tokens and macros of C, C++ and CUDA that match the pattern of user names; macros that
-- compilers predefine, such as `linux`; and `real`, a type of generated code.
local COMPILER_WORDS = lists.split_set([[alignas alignof alloca and and_eq asm assert auto bitand bitor bool break case
  catch char char16_t char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval
  constexpr constinit continue decltype default delete do double dynamic_cast else enum explicit export extern false
  float for friend goto i386 if inline int linux long mutable namespace new noexcept not not_eq nullptr offsetof
  operator or or_eq private protected public real register reinterpret_cast requires restrict return short signed
  sizeof static static_assert static_cast stderr stdin stdout struct switch template this thread_local throw true try
  typedef typeid typename typeof typeof_unqual union unix unsigned using virtual void volatile wchar_t while xor
  xor_eq]])

-- A description of identifiers (M.is_identifier), for messages.
M.IDENTIFIER_TEXT = M.TEXT .. "; not a word of C, C++ or CUDA"

-- Whether a name is valid and can be an identifier in generated code.
function M.is_identifier(name)
  return M.is_valid(name) and not COMPILER_WORDS[name]
end

-- The first of name, name_2, name_3 and so on that is not in the set `used_names`.
function M.find_unused(name, used_names)
  local unused_name, number = name, 1
  while used_names[unused_name] do
    number = number + 1
    unused_name = ("%s_%d"):format(name, number)
  end
  return unused_name
end

-- The name of a value's gradient: the value's name with the prefix `d`, or with `d_` if the prefix `d` would make it a
-- word of COMPILER_WORDS.
function M.name_gradient(name)
  return (COMPILER_WORDS["d" .. name] and "d_" or "d") .. name
end

return M
