-- Finds constructs of other languages, mostly Python's, in the text of a spec that is not valid Lua.
--
-- Input: the text of a file that is not valid Lua, or a name in valid Lua that specs do not have. Output: mistakes
-- { line, col, what, expected } in the order of the text, or a hint. Invariant: the text never runs.

local locate = require("spec.reading.locate")
local foreign_names = require("spec.hints.foreign_names")

local M = {}

local function has_text(token, text)
  return token ~= nil and token.type ~= "string" and token.text == text
end

-- Whether token i and the next token have these two texts, without a gap between them.
local function are_pair(tokens, i, first, second)
  local a, b = tokens[i], tokens[i + 1]
  return has_text(a, first) and has_text(b, second) and a.line == b.line and a.col + 1 == b.col
end

local function starts_line(tokens, i)
  return i == 1 or tokens[i - 1].line < tokens[i].line
end

-- The index of the bracket `]` that closes the bracket `[` at token i, or nil.
local function find_closing(tokens, i)
  local depth = 0
  for j = i, #tokens do
    depth = depth + (has_text(tokens[j], "[") and 1 or has_text(tokens[j], "]") and -1 or 0)
    if depth == 0 then
      return j
    end
  end
end

local function is_word(token)
  return token ~= nil and (token.type == "name" or token.type == "keyword")
end

local OPERATORS = {
  { "*", "*", "`**` is not an operator", "^, as in x ^ 2" }, { "!", "=", "`!=` is not an operator", "~=" },
  { "&", "&", "`&&` is not an operator", "and" }, { "|", "|", "`||` is not an operator", "or" },
  { "+", "+", "`++` is not an operator", "a = a + 1" },
}

-- Rules that recognise a mistake at a token; the first matching rule of ORDER is reported. Each rule takes the tokens,
-- an index and the number of open brackets, and returns the mistake and what was expected, or nil.
local rules = {}

function rules.operator(tokens, i)
  for _, row in ipairs(OPERATORS) do
    if are_pair(tokens, i, row[1], row[2]) then
      return row[3], row[4]
    end
  end
  local sign = tokens[i].text
  if sign:find("^[-+*/%%]$") and are_pair(tokens, i, sign, "=") then
    return ("`%s=` is not an operator"):format(sign), ("a = a %s b"):format(sign)
  end
end

local IS_VALUE_END = { [")"] = true, ["]"] = true, ["}"] = true, ["end"] = true, ["true"] = true, ["false"] = true,
  ["nil"] = true }

-- Whether an expression may end with this token.
local function ends_value(token)
  return token.type ~= "symbol" and token.type ~= "keyword" or IS_VALUE_END[token.text] == true
end

-- Recognises a comment of another language. `#` begins a comment before words, or where Lua allows no length operator;
-- `//` begins one where Lua allows no division.
function rules.comment(tokens, i)
  local token, previous, first, second = tokens[i], tokens[i - 1], tokens[i + 1], tokens[i + 2]
  local is_before_words = not first or is_word(first) and (not second or is_word(second) or second.type == "number")
  local is_hash_comment = has_text(token, "#") and (not previous or ends_value(previous) or is_before_words)
  if is_hash_comment or has_text(token, "//") and not (previous and ends_value(previous)) then
    return ("`%s` begins no comment"):format(token.text), "-- before a comment"
  end
end

function rules.list(tokens, i)
  local previous = tokens[i - 1]
  local can_begin_value = previous and previous.type ~= "string"
    and (previous.text:find("^[=:,{%[(]$") or previous.text == "return")
  local closing = has_text(tokens[i], "[") and can_begin_value and find_closing(tokens, i)
  if closing and not has_text(tokens[closing + 1], "=") then
    return "a list in square brackets", "braces: { 1, 40 }"
  end
end

function rules.key(tokens, i)
  local token, previous = tokens[i], tokens[i - 1]
  local can_begin_field = i == 1 or starts_line(tokens, i) or has_text(previous, ",") or has_text(previous, "{")
  local is_method_call = is_word(tokens[i + 2]) and has_text(tokens[i + 3], "(")
  if not can_begin_field or not has_text(tokens[i + 1], ":") or is_method_call then
    return nil
  elseif token.type == "string" then
    local name = token.text:sub(2, -2)
    return ("a colon after the field %s"):format(token.text), name:find("^[%a_][%w_]*$") and name .. " = value"
      or ("[%s] = value"):format(token.text)
  elseif token.type == "name" and not foreign_names.STATEMENTS[token.text] and token.text ~= "lambda" then
    return ("a colon after the field %s"):format(token.text), token.text .. " = value"
  end
end

function rules.word(tokens, i)
  local token, next_token = tokens[i], tokens[i + 1]
  if has_text(token, "lambda") and (is_word(next_token) or has_text(next_token, ":")) then
    return "`lambda` makes no function", "function(x) return ... end"
  elseif token.type == "name" and foreign_names.STATEMENTS[token.text] and starts_line(tokens, i)
    and (is_word(next_token) or has_text(next_token, ":")) and next_token.line == token.line then
    return ("`%s` begins no statement"):format(token.text), foreign_names.STATEMENTS[token.text]
  elseif has_text(token, "not") and has_text(next_token, "in")
    or has_text(token, "is") and has_text(next_token, "not") then
    return ("`%s %s` is not an operator"):format(token.text, next_token.text), "== or ~="
  end
end

-- Recognises a table at the beginning of a statement: the table of the file, with `return` missing before it.
function rules.return_missing(tokens, i, depth)
  local previous = tokens[i - 1]
  local is_call = previous and (previous.type == "name" or previous.text == ")" or previous.text == "]")
  local can_begin_statement = not previous or ends_value(previous) and not is_call
  if has_text(tokens[i], "{") and starts_line(tokens, i) and depth == 0 and can_begin_statement then
    return "the table is not returned", "return { ... }"
  end
end

local ORDER = { "operator", "list", "key", "word", "return_missing", "comment" }

-- Returns the mistakes in a text. After the beginning of a comment or a statement of another language, the line is
-- skipped.
function M.find(text)
  local tokens, mistakes, skipped_line, depth = locate.tokenise(text), {}, 0, 0
  for i, token in ipairs(tokens) do
    for _, name in ipairs(token.line ~= skipped_line and ORDER or {}) do
      local message, expected = rules[name](tokens, i, depth)
      if message then
        mistakes[#mistakes + 1] = { line = token.line, col = token.col, what = message, expected = expected }
        skipped_line = (name == "comment" or foreign_names.STATEMENTS[token.text]) and token.line or skipped_line
        break
      end
    end
    if token.type ~= "string" then
      depth = depth + (token.text:find("^[{%(%[]$") and 1 or token.text:find("^[}%)%]]$") and -1 or 0)
    end
  end
  return mistakes
end

-- Returns a hint for a name that Lua parses but specs do not have, or nil. The line's tokens distinguish f"..." from
-- f(x).
function M.explain_name(name, text, line)
  if foreign_names.NAMES[name] then
    return "write " .. foreign_names.NAMES[name]
  end
  local tokens = locate.tokenise(text)
  for i, token in ipairs(tokens) do
    local next_token = tokens[i + 1]
    if token.line == line and has_text(token, name) and next_token and next_token.type == "string"
      and next_token.line == line and next_token.col == token.col + #name and #name == 1 then
      return ('a text has no prefix such as %s; .. joins texts: "a" .. b'):format(name)
    end
  end
end

return M
