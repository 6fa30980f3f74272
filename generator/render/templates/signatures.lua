-- Parameters of generated functions: a function has those that its body mentions, and is called with these alone.
--
-- Input: what define and call of a template name, the lines of a body. Output: the words that stay. Names in comments
-- and of members mention nothing. A function is defined before it is called, in one file or in one that was rendered
-- before.

local M = {}

-- A record of functions: by name a list that says of every parameter whether it stays; and those called so far.
function M.new()
  return { kept = {}, called = {} }
end

-- As long a text in which nothing parts anything.
local function closed(text)
  return ("_"):rep(#text)
end

-- Words with one parameter or argument each: commas in brackets and strings part nothing.
function M.split(words)
  local list = {}
  for _, word in ipairs(words) do
    local masked = word:gsub("\\.", "__"):gsub('"[^"]*"', closed):gsub("%b()", closed):gsub("%b[]", closed)
      :gsub("%b{}", closed)
    for from, to in masked:gmatch("%s*()[^,]+()") do
      list[#list + 1] = word:sub(from, to - 1)
    end
  end
  return list
end

local function function_of(head)
  return head:match("([%a_][%w_]*)$") or head
end

-- The identifiers in the lines from `first` on, without those of comments and members of structs.
local function mentioned(lines, first)
  local text, names = table.concat(lines, "\n", first), {}
  text = text:gsub("/%*.-%*/", " "):gsub("//[^\n]*", ""):gsub("%->%s*[%a_][%w_]*", ""):gsub("%.[%a_][%w_]*", "")
  for name in text:gmatch("[%a_][%w_]*") do
    names[name] = true
  end
  return names
end

-- The parameters, in words, that a body mentions; or nil and a problem.
function M.settle(signatures, head, words, lines, first)
  local names, list, kept, whole = mentioned(lines, first), {}, {}, true
  for i, word in ipairs(words) do
    local name = word:gsub("%s*%[.*$", ""):match("([%a_][%w_]*)$")
    kept[i] = word == "void" or names[name] == true
    whole = whole and kept[i]
    list[#list + 1] = kept[i] and word or nil
  end
  local name = function_of(head)
  if not whole and signatures.called[name] then
    return nil, ("%s is called before its parameters are settled"):format(name)
  end
  signatures.kept[name] = kept
  return #list > 0 and list or { "void" }
end

-- The arguments, in words, whose parameters the function has; all where it is not known; or nil and a problem.
function M.passed(signatures, head, words)
  local name = function_of(head)
  local kept, list = signatures.kept[name], {}
  if not kept then
    signatures.called[name] = true
    return words
  elseif #kept ~= #words and not (#words == 0 and #kept == 1) then
    return nil, ("%s takes %d arguments, not %d"):format(name, #kept, #words)
  end
  for i, word in ipairs(words) do
    list[#list + 1] = kept[i] and word or nil
  end
  return list
end

return M
