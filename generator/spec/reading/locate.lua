-- Finds the positions of fields, of words, and of forbidden words and operators in the text of a spec file.
--
-- Input: the text of a Lua file. Output: lines and columns, both from 1, columns in bytes. Invariants: never runs the
-- text; never fails, whatever the text (a file with a syntax error gives partial results). Limits: reads only the
-- table constructor after the file's `return`; a value that is built in another way has the place of the nearest
-- enclosing field in the text.

local split_set = require("base.lists").split_set

local M = {}

local KEYWORDS = split_set("and break do else elseif end false for function goto if in local nil not or repeat return "
  .. "then true until while")
local SYMBOLS = split_set("... .. == ~= <= >= // :: << >>") -- every other character is a token of its own
local OPENING_TOKENS = split_set("( { [ function if do repeat")
local CLOSING_TOKENS = split_set(") } ] end until")

-- Tokens that a function body may not contain, each with its replacement.
M.INSTEAD = {
  ["<"] = "less(a, b)", [">"] = "less(b, a)", ["<="] = "less_equal(a, b)", [">="] = "less_equal(b, a)",
  ["=="] = "equal(a, b)", ["~="] = "negate(equal(a, b))", ["and"] = "all(a, b)", ["or"] = "any(a, b)",
  ["not"] = "negate(a)", ["if"] = "select(condition, a, b)", ["while"] = "for i = 1, n do ... end",
  ["repeat"] = "for i = 1, n do ... end",
}

-- The last byte of a quoted string that starts at byte i: the closing quote, or the last byte of the line.
local function find_quoted_end(text, i)
  local quote = text:sub(i, i)
  local j = i + 1
  while j <= #text do
    local c = text:sub(j, j)
    if c == "\\" then
      j = text:sub(j + 1, j + 1) == "z" and select(2, text:find("^%s*", j + 2)) or j + 1
    elseif c == quote then
      return j
    elseif c == "\n" then
      return j - 1
    end
    j = j + 1
  end
  return #text
end

-- The last byte of a long bracket ([[ or [==[) that starts at byte i; the end of the text if the bracket is not closed;
-- nil if no long bracket starts there.
local function find_long_end(text, i)
  local equals = text:match("^%[(=*)%[", i)
  return equals and (select(2, text:find("]" .. equals .. "]", i, true)) or #text)
end

-- The first byte after blanks and comments from byte i on; nil at the end of the text.
local function skip_blank(text, i)
  while true do
    i = text:find("%S", i)
    if not i or text:sub(i, i + 1) ~= "--" then
      return i
    end
    local last_byte = find_long_end(text, i + #"--")
    i = (last_byte or (text:find("\n", i, true) or #text)) + 1
  end
end

-- The type and the last byte of the token at byte i.
local function scan(text, i)
  local _, last_byte = text:find("^[%a_][%w_]*", i)
  if last_byte then
    return KEYWORDS[text:sub(i, last_byte)] and "keyword" or "name", last_byte
  end
  _, last_byte = text:find("^%.?%d[%w%.]*", i)
  if last_byte then
    while text:find("^[%+%-]%d", last_byte + 1) and text:find("^[eEpP]", last_byte) do
      _, last_byte = text:find("^[%+%-]%d[%w%.]*", last_byte + 1)
    end
    return "number", last_byte
  end
  last_byte = text:find("^[\"']", i) and find_quoted_end(text, i) or find_long_end(text, i)
  if last_byte then
    return "string", last_byte
  end
  local length = SYMBOLS[text:sub(i, i + 2)] and 3 or SYMBOLS[text:sub(i, i + 1)] and 2 or 1
  return "symbol", i + length - 1
end

local cached_tokens = setmetatable({}, { __mode = "v" }) -- tokens by text: callers tokenise a text repeatedly

-- All tokens of a text: { type, text, line, col }, type one of keyword, name, number, string, symbol.
function M.tokenise(text)
  if cached_tokens[text] then
    return cached_tokens[text]
  end
  local tokens = {}
  local line, line_start, next_break = 1, 1, text:find("\n", 1, true)
  local i = skip_blank(text, 1)
  while i do
    while next_break and next_break < i do
      line, line_start = line + 1, next_break + 1
      next_break = text:find("\n", line_start, true)
    end
    local kind, last_byte = scan(text, i)
    tokens[#tokens + 1] = { type = kind, text = text:sub(i, last_byte), line = line, col = i - line_start + 1 }
    i = skip_blank(text, last_byte + 1)
  end
  cached_tokens[text] = tokens
  return tokens
end

-- The index of the token after the expression that starts at token i; that token is a separator or a closing bracket.
local function skip_expression(tokens, i)
  local depth = 0
  while tokens[i] do
    local token = tokens[i]
    if token.type == "symbol" or token.type == "keyword" then
      if depth == 0 and (token.text == "," or token.text == ";" or CLOSING_TOKENS[token.text]) then
        return i
      end
      depth = depth + (OPENING_TOKENS[token.text] and 1 or CLOSING_TOKENS[token.text] and -1 or 0)
    end
    i = i + 1
  end
  return i
end

local function has_symbol(token, text)
  return token ~= nil and token.type == "symbol" and token.text == text
end

-- The key at token i, as a component of a path, and the index of the token at which the value starts. For a value
-- without a key: nil and i. For a computed key: nil and the index of the token after the value.
local function read_key(tokens, i)
  local token, next_token = tokens[i], tokens[i + 1]
  local is_in_brackets = next_token and has_symbol(tokens[i + 2], "]") and has_symbol(tokens[i + 3], "=")
  if token.type == "name" and has_symbol(next_token, "=") then
    return token.text, i + 2
  elseif not has_symbol(token, "[") then
    return nil, i
  elseif is_in_brackets and next_token.type == "string" then
    return next_token.text:match("^['\"](.*)['\"]$") or next_token.text, i + 4
  elseif is_in_brackets and next_token.type == "number" then
    return math.tointeger(tonumber(next_token.text)), i + 4
  end
  return nil, skip_expression(tokens, i)
end

-- The path of a field in a table: "model.width" for the path "model" and the key "width", "list[3]" for "list" and 3.
function M.join(path, key)
  return math.type(key) == "integer" and ("%s[%d]"):format(path, key) or path == "" and key or path .. "." .. key
end

-- Adds the positions of all fields of the table that opens at token i to `places`, by path. path: the table's path.
local function read_table(tokens, i, path, places)
  local item_count = 0
  i = i + 1
  while tokens[i] and not has_symbol(tokens[i], "}") do
    local first_token = tokens[i]
    local key, value_index = read_key(tokens, i)
    if key == nil and value_index == i then
      item_count = item_count + 1
      key = item_count
    end
    i = value_index
    if key ~= nil then
      local inner_path = M.join(path, key)
      places[inner_path] = { line = first_token.line, col = first_token.col }
      if has_symbol(tokens[i], "{") then
        read_table(tokens, i, inner_path, places)
      end
    end
    i = skip_expression(tokens, i)
    if has_symbol(tokens[i], ",") or has_symbol(tokens[i], ";") then
      i = i + 1
    elseif tokens[i] and not has_symbol(tokens[i], "}") then
      return -- the text is not valid Lua; positions found so far are kept
    end
  end
end

-- The positions of all fields of the returned table by path: { ["eval.lengths.list[3]"] = { line, col } }. The position
-- of a field is the position of its key; the position of a list item is the position of its value. The path "" has the
-- position of the returned table, or of `return` if the file returns no table, or of the first byte if there is no
-- `return`.
function M.find_fields(text)
  local tokens, depth, last_return = M.tokenise(text), 0, nil
  for i, token in ipairs(tokens) do
    if token.type == "keyword" then
      last_return = token.text == "return" and depth == 0 and i or last_return
      depth = depth + (OPENING_TOKENS[token.text] and 1 or CLOSING_TOKENS[token.text] and -1 or 0)
    end
  end
  if not last_return then
    return { [""] = { line = 1, col = 1 } }
  end
  local first = has_symbol(tokens[last_return + 1], "{") and last_return + 1 or last_return
  local places = { [""] = { line = tokens[first].line, col = tokens[first].col } }
  if first > last_return then
    read_table(tokens, first, "", places)
  end
  return places
end

-- The position of a path in the result of M.find_fields, or else the position of the nearest enclosing table.
function M.find_position(places, path)
  while not places[path] do
    path = path:match("^(.*)%[%d+%]$") or path:match("^(.*)%.[^%.]*$") or ""
  end
  return places[path]
end

-- The forbidden tokens (keys of M.INSTEAD) inside function bodies, a list of tokens as M.tokenise makes them.
function M.find_forbidden(text)
  local forbidden_tokens, blocks, function_depth = {}, {}, 0
  for _, token in ipairs(M.tokenise(text)) do
    if token.type == "keyword" or token.type == "symbol" then
      if function_depth > 0 and M.INSTEAD[token.text] then
        forbidden_tokens[#forbidden_tokens + 1] = token
      end
      if OPENING_TOKENS[token.text] then
        blocks[#blocks + 1] = token.text
        function_depth = function_depth + (token.text == "function" and 1 or 0)
      elseif CLOSING_TOKENS[token.text] then
        function_depth = function_depth - (table.remove(blocks) == "function" and 1 or 0)
      end
    end
  end
  return forbidden_tokens
end

-- The first line of the last statement `name = ...` that begins at `line` or before; `line` if there is none. (Lua
-- reports errors of an assignment at its last line.)
function M.find_assignment(text, line, name)
  local tokens, first_line = M.tokenise(text), line
  for i, token in ipairs(tokens) do
    if token.line > line then
      break
    elseif token.text == name and has_symbol(tokens[i + 1], "=") then
      first_line = token.line
    end
  end
  return first_line
end

-- The column of the first token `word` on a line. If the line has no token `word`: the column of the line's first
-- token, or 1 for a line without tokens.
function M.find_column(text, line, word)
  local first_column
  for _, token in ipairs(M.tokenise(text)) do
    if token.line == line and token.text == word then
      return token.col
    end
    first_column = first_column or token.line == line and token.col or nil
  end
  return first_column or 1
end

return M
