-- Converts a template's text to Lua code, one line of code per template line, so that line numbers are the same.
--
-- Input: the template's name, path and text. Output: { name, path, source (a list of lines), code (text) } for
-- render.lua to load, or nil and an error { path, line, col, what, hint }. The code calls the functions __text, __hole,
-- __at and __end.
--
-- A line whose first non-blank character is % is Lua; every other line is a line of output, in which ${...} is a hole
-- for a value. This module checks, before the code runs, that blocks are balanced, that every line of Lua is complete
-- by itself (brackets may span lines), and that each hole contains a name, a field or one call of a helper.
--
-- A line of text, or a call that gives lines of output, may end with a condition for this line: `% if a`. The next line
-- may then end with `% elseif b` or `% else`. A line may also end with a loop: `% for _, a in ipairs(list)`. A
-- condition that ends with `then`, or a loop that ends with `do`, applies to all lines up to the one that closes the
-- brackets which the line opens.
--
-- A file may have sections, each below a head, the line `% section("name")`, which may end with a condition for the
-- section. From such a file, one section is read at a time, together with the text before the first section. A section
-- of one line may have its head at the end of this line.

local diagnostics = require("base.diagnostics")
local lists = require("base.lists")

local M = {}

-- The words that open a block -> the next word that the block needs.
local BLOCK = { ["if"] = "then", ["for"] = "do", ["while"] = "do", ["repeat"] = "until", ["do"] = "end" }
local FORBIDDEN = {
  ["function"] = "a template contains no functions; use a part and include, or plan.lua",
  ["return"] = "a template runs to its end",
  ["goto"] = "use if",
}
-- Calls that give lines of output; each must be on a line of its own.
local LINE_CALLS = { include = true, paragraph = true, splice = true, call = true, define = true, slot = true }
local CLOSING = { [")"] = "(", ["]"] = "[", ["}"] = "{" } -- closing bracket -> opening bracket

-- The state of reading, `reader`:
--   path              the path of the template
--   source            the lines of the template
--   code              the code of each line
--   first_columns     line -> the column of the first token of the statement that begins there
--   brackets          brackets that are open, outermost first: { text, line, col }
--   blocks            blocks that are open, outermost first: { word, line, col, has_head, has_else }; has_head: whether
--                     `then` or `do` of the block's head has been read; has_else: whether `else` has been read
--   pending           the statement whose brackets are open, { tokens, line, col }, or nil
--   section           the name of the requested section, or nil
--   current_section   the section of the current line (read_head)
--   open_suffixes     suffixes, which are conditions and loops at the end of lines, that still apply
--   last_suffix       the suffix that an `elseif` or `else` on the next line may continue, or nil

-- The kinds of tokens: kind, pattern of the first character, pattern of the token. A token has the first kind whose
-- pattern matches.
local FORMS = { { "name", "[%a_]", "^[%a_][%w_]*" }, { "number", "[%d.]", "^%.?%d[%w.]*" },
  { "string", "[\"']", "^([\"']).-%1" }, { "op", "[=~<>]", "^[=~<>]=" }, { "op", "/", "^//" },
  { "op", "%.", "^%.%." }, { "op", "[^\"']", "^." } }

-- Forms by the first byte of a token, since parsing takes much of a generation's time.
local FORMS_BY_BYTE = {}
for byte = 0, 255 do
  FORMS_BY_BYTE[byte] = lists.filter(FORMS, function(form) return string.char(byte):find(form[2]) end)
end

-- Returns the tokens of one line of Lua, without comments: { kind = "name" | "number" | "string" | "op", text, col };
-- nil and a column if a string does not end on its line.
local function tokenise(code, first_column)
  local mask, tokens, first = (code:gsub("\\.", "__")), {}, 1 -- mask: the code without escapes in strings
  while true do
    first = mask:find("%S", first)
    if not first or mask:find("^%-%-", first) then
      return tokens
    end
    local kind, stop
    for _, form in ipairs(FORMS_BY_BYTE[mask:byte(first)]) do
      kind, stop = form[1], select(2, mask:find(form[3], first))
      if stop then
        break
      end
    end
    if not stop then
      return nil, first_column + first - 1
    end
    tokens[#tokens + 1] = { kind = kind, text = code:sub(first, stop), col = first_column + first - 1 }
    first = stop + 1
  end
end

local function fail(reader, line, col, message, hint)
  error({ problem = true, path = reader.path, line = line, col = col, what = message, hint = hint }, 0)
end

-- Closes the innermost block.
local function close(reader, token, line)
  local block = table.remove(reader.blocks)
  if not block or (token.text == "until") ~= (block.word == "repeat") then
    fail(reader, line, token.col, ("'%s' closes nothing"):format(token.text))
  end
end

-- Opens, continues or closes a block at a keyword; does nothing at another name.
local function read_keyword(reader, token, line)
  local word, top = token.text, reader.blocks[#reader.blocks]
  if FORBIDDEN[word] then
    fail(reader, line, token.col, ("no '%s' in a template"):format(word), FORBIDDEN[word])
  elseif top and not top.has_head and word == BLOCK[top.word] then
    top.has_head = true
  elseif BLOCK[word] then
    local has_head = word == "do" or word == "repeat"
    table.insert(reader.blocks, { word = word, line = line, col = token.col, has_head = has_head })
  elseif word == "elseif" or word == "else" then
    if not top or top.word ~= "if" or top.has_else then
      fail(reader, line, token.col, ("'%s' without 'if'"):format(word))
    end
    top.has_head, top.has_else = word == "else", word == "else"
    top.line, top.col = line, token.col
  elseif word == "then" then
    fail(reader, line, token.col, "'then' without 'if'")
  elseif word == "end" or word == "until" then
    close(reader, token, line)
  end
end

-- Checks the syntax of the whole code. Each statement begins with ";", so that an incomplete statement is reported at
-- its own place.
local function check_syntax(reader)
  local _, message = load(table.concat(reader.code, "\n"), "=line", "t", {})
  if message then
    local line, fault, token = message:match("^line:(%d+): (.-) near (.*)$")
    local is_in_next = token == "';'" -- the ";" that begins the next statement
    local is_end = is_in_next or token == "<eof>"
    line = tonumber(line) - (is_in_next and 1 or 0)
    while not reader.first_columns[line] do
      line = line - 1
    end
    fail(reader, line, reader.first_columns[line], fault .. (is_end and " at the end of the line" or " near " .. token))
  end
end

-- Opens and closes brackets at the tokens of one line.
local function check_brackets(reader, tokens, line)
  for _, token in ipairs(tokens) do
    if token.kind == "op" and token.text:find("^[%(%[{]$") then
      table.insert(reader.brackets, { text = token.text, line = line, col = token.col })
    elseif token.kind == "op" and CLOSING[token.text] then
      local top = table.remove(reader.brackets)
      if not top or top.text ~= CLOSING[token.text] then
        fail(reader, line, token.col, ("'%s' closes nothing"):format(token.text))
      end
    end
  end
end

-- Checks the keywords of the pending statement. Puts a ";" before its code, so that check_syntax can report its place.
-- If the statement gives lines of output, puts a call after the ";" that records the place.
local function check_statement(reader)
  local pending = reader.pending
  local tokens, first = pending.tokens, pending.tokens[1]
  if not first then
    return
  end
  for _, token in ipairs(tokens) do
    if LINE_CALLS[token.text] and token.kind == "name" and token ~= first then
      fail(reader, token.line, token.col, token.text .. " must begin its line; a condition stands at the end of this "
        .. "line or on a line above")
    end
    if token.kind == "name" then
      read_keyword(reader, token, token.line)
    end
  end
  for _, block in ipairs(reader.blocks) do
    if not block.has_head then
      fail(reader, block.line, block.col, ("'%s' has no '%s'"):format(block.word, BLOCK[block.word]))
    end
  end
  local record = LINE_CALLS[first.text] and ("__at(%d, %d) "):format(pending.line, pending.col) or ""
  reader.code[pending.line], reader.first_columns[pending.line] = ";" .. record .. reader.code[pending.line], first.col
end

-- Reads a line of Lua. has_suffix: whether the line ends with a condition or loop.
local function read_control(reader, source, line, has_suffix)
  local col = source:find("%%")
  local code = source:sub(col + 1)
  local tokens, string_col = tokenise(code, col + 1)
  if not tokens then
    fail(reader, line, string_col, "a string that does not end on its line")
  end
  check_brackets(reader, tokens, line)
  local pending = reader.pending or { tokens = {}, line = line, col = col }
  reader.pending = pending
  for _, token in ipairs(tokens) do
    token.line = line
    table.insert(pending.tokens, token)
  end
  reader.code[line] = code
  if has_suffix and not (tokens[1] and LINE_CALLS[tokens[1].text] and #reader.brackets == 0) then
    fail(reader, line, col + 1, "a condition or loop at the end of a line without output")
  end
  if #reader.brackets == 0 then
    check_statement(reader)
    reader.pending = nil
  end
end

-- Returns the end of the hole whose "${" is at `start`, or nil. Braces in the hole must be balanced, except in strings.
local function find_hole_end(source, start)
  local name_end = source:match("^[%w_.]*()}", start + 2)
  if name_end then
    return name_end
  end
  local mask = source:sub(start + 1):gsub("()([\"']).-%2()", function(first, _, end_position)
    return ("_"):rep(end_position - first)
  end)
  local end_position = mask:match("^%b{}()")
  return end_position and start + end_position - 1
end

local is_correct = {} -- the set of codes of holes and suffixes without a mistake, since much code is repeated

-- Refuses a hole that contains more than a name, a field or one call. col: the column of its "${".
local function check_hole(reader, expression, line, col)
  if is_correct[expression] then
    return
  end
  local tokens = tokenise(expression, col + 2)
  if not tokens or #tokens == 0 then
    fail(reader, line, col, "an empty hole", "write ${name}, ${table.field} or ${helper(name)}")
  end
  for _, token in ipairs(tokens) do
    if token.kind == "op" and not token.text:find("^[.,%(%)%[%]]$") then
      fail(reader, line, token.col, ("'%s' in a hole"):format(token.text),
        "a hole contains a name, a field or one helper call; compute in plan.lua")
    elseif token.kind == "name" and (BLOCK[token.text] or FORBIDDEN[token.text] or LINE_CALLS[token.text]) then
      fail(reader, line, token.col, ("'%s' in a hole"):format(token.text))
    end
  end
  local _, message = load("return " .. expression, "=hole", "t", {})
  if message then
    fail(reader, line, col, "not an expression: " .. expression)
  end
  is_correct[expression] = true
end

-- Reads a line of output.
local function read_text(reader, source, line)
  local code, from = { ";" }, 1
  while true do
    local first = source:find("${", from, true)
    local literal = source:sub(from, first and first - 1)
    if literal ~= "" then
      code[#code + 1] = ("__text(%q)"):format(literal)
    end
    if not first then
      break
    end
    local stop = find_hole_end(source, first)
    if not stop then
      fail(reader, line, first, "this hole never closes", "a hole ends on its line: ${name}")
    end
    local expression = source:sub(first + 2, stop - 1)
    check_hole(reader, expression, line, first)
    code[#code + 1] = ("__at(%d, %d) __hole(%q, %s)"):format(line, first, expression, expression)
    from = stop + 1
  end
  code[#code + 1] = ("__end(%d)"):format(line)
  reader.code[line] = table.concat(code, " ")
end

local SUFFIXES = { ["if"] = "then", ["elseif"] = "then", ["else"] = "", ["for"] = "do" }
local SECTION = ' ?%% section%("([%w_]+)"%)$'

-- Returns the number of brackets that a line of text opens minus the number that it closes; brackets in holes, strings
-- and comments do not count.
local function count_opened(text)
  text = text:gsub("%$%b{}", ""):gsub('"[^"]*"', ""):gsub("/%*.-%*/", "")
  return select(2, text:gsub("[({[]", "")) - select(2, text:gsub("[)}%]]", ""))
end

-- Returns a line without its suffix, and the suffix or nil: { word, col, code, spans_brackets }; code: the text after
-- the word; spans_brackets: whether it applies to all lines up to the line that closes the brackets.
local function split_suffix(source)
  if not source:find(" % ", 1, true) then
    return source
  end
  for first, word, stop in source:gmatch(" ()%% (%a+)()") do
    local text, after_word = source:sub(1, first - 2), source:sub(stop + 1)
    if SUFFIXES[word] and (word == "else") == (after_word == "") and text:find("%S") then
      local spanning_code = count_opened(text) > 0 and after_word:match("^(.*) " .. SUFFIXES[word] .. "$")
      return text, { word = word, col = first + 2, code = spanning_code or after_word, spans_brackets = spanning_code }
    end
  end
  return source
end

-- Refuses a suffix whose code is not an expression, or for a loop not the head of a loop.
local function check_suffix(reader, line, suffix)
  local form = suffix.word == "for" and "for %s do end" or "return (%s)"
  local code = form:format(suffix.code)
  if is_correct[code] then
    return
  end
  local col = suffix.col + #suffix.word + 1
  for _, token in ipairs(tokenise(suffix.code, col) or {}) do
    local word = token.kind == "name" and token.text
    if BLOCK[word] or FORBIDDEN[word] or LINE_CALLS[word] then
      fail(reader, line, token.col, ("'%s' at the end of a line"):format(word))
    end
  end
  if suffix.word ~= "else" and not load(code, "=suffix", "t", {}) then
    fail(reader, line, col, suffix.word == "for" and "not a loop: for " .. suffix.code
      or "not an expression: " .. suffix.code)
  end
  is_correct[code] = true
end

-- Makes the code of a line depend on its suffix. In open_suffixes, `depth` is the number of open brackets since the
-- suffix (infinite for the head of a section, so that its suffix applies to the whole section); can_continue: whether
-- an `elseif` or `else` may follow.
local function add_suffix(reader, line, suffix, text)
  check_suffix(reader, line, suffix)
  local word, last_suffix = suffix.word, reader.last_suffix
  local is_chained = word == "elseif" or word == "else"
  if is_chained and not (last_suffix and last_suffix.line == line - 1) then
    fail(reader, line, suffix.col, ("'%s' without 'if' at the end of the line before"):format(word))
  elseif is_chained then
    reader.code[line - 1] = reader.code[line - 1]:gsub(" end$", "")
    suffix.spans_brackets = last_suffix.spans_brackets
  end
  reader.code[line] = ("%s%s %s %s %s"):format(is_chained and "" or ";", word, suffix.code, SUFFIXES[word],
    (reader.code[line]:gsub("^;", "")))
  table.insert(reader.open_suffixes, { line = line, col = suffix.col, depth = text == "" and math.huge or 0,
    spans_brackets = suffix.spans_brackets or text == "", can_continue = word:find("if$") })
end

-- Ends the suffixes that apply to one line, and the suffixes whose brackets this line closes.
local function end_suffixes(reader, line, text)
  if #reader.open_suffixes == 0 then
    return
  end
  local brackets = count_opened(text)
  for i = #reader.open_suffixes, 1, -1 do
    local suffix = reader.open_suffixes[i]
    suffix.depth = suffix.depth + brackets
    if suffix.depth <= 0 or not suffix.spans_brackets then
      reader.code[line] = reader.code[line] .. " end"
      reader.open_suffixes[i], suffix.line = nil, line
      reader.last_suffix = suffix.can_continue and suffix or nil
    end
  end
end

function M.has_section(text, section)
  return text:find(('%% section("%s")'):format(section), 1, true) ~= nil
end

-- Ends the condition of a section at the line before the next head, or at the last line.
local function end_section(reader, line)
  local suffix = table.remove(reader.open_suffixes)
  if suffix and suffix.depth < math.huge then
    fail(reader, suffix.line, suffix.col, "a condition or loop for brackets that are never closed")
  elseif suffix then
    reader.code[line] = reader.code[line] .. " end"
  end
end

-- Returns the text of a line without the head of a section, and whether the line is read. Lines before all sections and
-- lines of the requested section are read. Sets reader.current_section: the section of the lines below; false below a
-- section of one line.
local function read_head(reader, source, line)
  local first, _, head
  if source:find("section", 1, true) then -- this test is faster than the pattern, and most lines fail it
    first, _, head = source:find(SECTION)
  end
  if head and not reader.section then
    fail(reader, line, 1, "a section in a file that is included as a whole", "include it by slot")
  elseif not head and reader.current_section == false then
    fail(reader, line, 1, "a line below a section of one line", "begin the next section")
  elseif not head then
    return source, reader.current_section == nil or reader.current_section == reader.section
  end
  end_section(reader, line - 1)
  reader.current_section = first == 1 and head
  return source:sub(1, first - 1), head == reader.section
end

local FORBIDDEN_BLANKS = "[\r\t]"

local function read_lines(reader, text)
  local has_forbidden_blanks = text:find(FORBIDDEN_BLANKS)
  for source in (text:sub(-1) == "\n" and text or text .. "\n"):gmatch("([^\n]*)\n") do
    local line = #reader.source + 1
    reader.source[line] = source
    local blank_col = has_forbidden_blanks and source:find(FORBIDDEN_BLANKS)
    if blank_col then
      fail(reader, line, blank_col, "a tab or a carriage return", "templates use spaces and plain line feeds")
    end
    local without_suffix, suffix = split_suffix(source)
    local text_of_line, is_read = read_head(reader, without_suffix, line)
    if not is_read or text_of_line == "" and without_suffix ~= "" then
      reader.code[line] = ""
    elseif text_of_line:find("^ *%%") then
      read_control(reader, text_of_line, line, suffix)
    elseif #reader.brackets > 0 then
      break -- a line of text within brackets of Lua: the bracket is reported below
    else
      read_text(reader, text_of_line, line)
    end
    if is_read and suffix then
      add_suffix(reader, line, suffix, text_of_line)
    end
    end_suffixes(reader, line, is_read and text_of_line or "")
  end
  end_section(reader, #reader.source)
  local bracket = reader.brackets[#reader.brackets]
  if bracket then
    fail(reader, bracket.line, bracket.col, ("'%s' is never closed"):format(bracket.text))
  end
  local block = reader.blocks[#reader.blocks]
  if block then
    fail(reader, block.line, block.col, ("'%s' is never closed"):format(block.word), "add a line: % "
      .. (block.word == "repeat" and "until" or "end"))
  end
  check_syntax(reader)
end

local function read(name, path, text, section)
  local reader = { path = path, source = {}, code = {}, first_columns = {}, blocks = {}, brackets = {},
    open_suffixes = {}, section = section }
  local _, err = diagnostics.attempt(read_lines, reader, text == "" and "\n" or text)
  if err then
    return nil, err
  end
  return { name = name, path = path, source = reader.source, code = table.concat(reader.code, "\n") }
end

local cache = {} -- parsed texts by path and section, since parsing takes half the time of rendering

-- Converts a template, or one section of it. path: the template's name in errors.
function M.parse(name, path, text, section)
  local key = path .. "#" .. (section or "")
  local entry = cache[key]
  if entry and entry.text == text and entry.parsed.name == name then
    return entry.parsed
  end
  local parsed, err = read(name, path, text, section)
  cache[key] = parsed and { text = text, parsed = parsed }
  return parsed, err
end

return M
