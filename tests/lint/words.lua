-- Checks the rules of plain English that a program can check: lua5.4 tests/lint/words.lua [FILE...]
--
-- Reads the files of FOLDERS that are not stored results, or the named ones, and prints one line for each of these
-- problems; exit 1 if there is any:
--   a comment, or a docstring of Python, that begins with one of WORDS: then it is often only a part of a sentence,
--   documentation of a field that begins with such a word, or with "how" or "its",
--   a message about a user's mistake, LH_ERR_INPUT or LH_ERR_USAGE in the runtime, that names no file, field, flag,
--   line or step: its text has none of NAME_PATTERNS,
--   a file of more than MAX_LINES lines, or than its number in LINES_BY_PATH,
--   a line of C, C++ or CUDA of more than MAX_COLUMNS bytes: clang-format leaves comments as they are,
--   a subject of a commit since BASE that is not `area: imperative`, is longer than 72 columns or has a semicolon.
-- Commits are checked if git knows BASE; otherwise a line reports that they are not.

package.path = "generator/?.lua;?.lua;" .. package.path

local WORDS = { "What", "Which", "Where", "Of", "Those", "Such", "Likewise", "The same" }
local FOLDERS = "generator lab runtime include kernels templates tests spec examples python Makefile cuda.mk longhand "
  .. ".ci"
local NAME_PATTERNS = { "%%[%.%d]*s", "%-%-%l", "%f[%w]%l+%.%l", "^line %%", "^step %%" } -- %s: a filled-in name
local STORED_RESULTS = "^tests/golden/"
local SLASH_ENDINGS = { c = true, h = true, cu = true, cpp = true, tpl = true, inc = true } -- comments begin with /*
local HASH_ENDINGS = { sh = true, mk = true, py = true } -- comments begin with #
local BASE = "da3bb66ef04119e92544635c3bed7ef460003fe8" -- the commit before this file

local MAX_COLUMNS = 120
local MAX_LINES = 450
local LINES_BY_PATH = { -- files that hold several ideas; they may only become shorter
  ["tests/lua/test_export_network.lua"] = 466,
  ["tests/lua/test_load.lua"] = 455,
  ["tests/unit/test_cuda_jit.c"] = 456,
  ["tests/unit/test_functions.c"] = 470,
}

local problems = 0

local function report(...)
  problems = problems + 1
  print(string.format(...))
end

-- Returns three results for the ending or name of a file: the pattern of a line that is a comment, the pattern of a
-- comment after code, and whether each line of a long comment begins with the mark of comments.
local function get_comment_patterns(path)
  local ending = path:match("%.(%w+)$")
  if ending == "lua" then
    return "^%s*%-%-+%s?(.*)", "%-%-%s(.*)", true
  elseif SLASH_ENDINGS[ending] then
    return "^%s*/%*+%s?(.*)", "/%*%s(.*)", false
  elseif HASH_ENDINGS[ending] or not ending or path == ".ci/run" then
    return "^%s*#+%s(.*)", "%s#%s(.*)", true
  end
end

local function has_bad_first_word(text)
  for _, word in ipairs(WORDS) do
    if text:sub(1, #word) == word and not text:find("^[%w_]", #word + 1) then
      return true
    end
  end
end

-- Only the first line of a comment is its beginning.
local function check_comments(path, lines)
  local whole_line, line_end, by_line = get_comment_patterns(path)
  local follows_comment = false
  for number, line in ipairs(whole_line and lines or {}) do
    local text = line:match(whole_line)
    if not (text and by_line and follows_comment) then
      text = text or line:match(line_end) or path:find("%.py$") and line:match('^%s*"""(.*)')
      if text and has_bad_first_word(text) then
        report("%s:%d: a comment begins with %q", path, number, text:sub(1, 60))
      end
    end
    follows_comment = line:find(whole_line) ~= nil
  end
end

local function check_length(path, lines)
  local max_lines = LINES_BY_PATH[path] or MAX_LINES
  if #lines > max_lines then
    report("%s: %d lines, expected at most %d", path, #lines, max_lines)
  end
end

-- The text of a message consists of the strings after the kind of its error; macros such as PRId64 may be between the
-- strings.
local function check_messages(path, lines)
  local source, number = table.concat(lines, "\n"), 1
  local last = 1
  for position, kind, strings in source:gmatch('()lh_fail%([&%w_.>-]+,%s*LH_ERR_(%u+),%s*()"') do
    if kind == "INPUT" or kind == "USAGE" then
      local text = ""
      while strings do
        local piece, next_piece = source:match('^"([^\n]-[^\\])"%s*[%u%d_a-z]*%s*()', strings)
        text, strings = text .. (piece or ""), piece and source:find('^"', next_piece)
      end
      number, last = number + select(2, source:sub(last, position - 1):gsub("\n", "")), position
      local has_name = false
      for _, form in ipairs(NAME_PATTERNS) do
        has_name = has_name or text:find(form) ~= nil
      end
      if not has_name then
        report("%s:%d: a message names no file, field or flag: %q", path, number, text:sub(1, 60))
      end
    end
  end
end

local function check_width(path, lines)
  for number, line in ipairs(path:find("%.[ch]u?p?p?$") and lines or {}) do
    if #line > MAX_COLUMNS then
      report("%s:%d: %d columns, expected at most %d", path, number, #line, MAX_COLUMNS)
    end
  end
end

local function check_file(path)
  local lines = {}
  for line in io.lines(path) do
    lines[#lines + 1] = line
  end
  check_comments(path, lines)
  check_length(path, lines)
  check_width(path, lines)
  if path:find("%.[ch]$") and not path:find("^tests/") then
    check_messages(path, lines)
  end
end

local function check_fields()
  for _, field in ipairs(require("spec.schema").fields) do
    local first = field.doc:match("^%a+"):lower()
    if has_bad_first_word(field.doc:gsub("^%l", string.upper)) or first == "how" or first == "its" then
      report("%s: its documentation begins with %q", field.path, field.doc:sub(1, 60))
    end
  end
end

local function read_lines(command)
  local pipe = assert(io.popen(command .. " 2>/dev/null"))
  local list = {}
  for line in pipe:lines() do
    list[#list + 1] = line
  end
  return list, pipe:close()
end

local function check_commits()
  local subjects, is_readable = read_lines(("git log --no-merges --format=%%s %s..HEAD"):format(BASE))
  if not is_readable then
    print("skipped: subjects of commits, since git does not know " .. BASE)
  end
  for _, subject in ipairs(is_readable and subjects or {}) do
    if #subject > 72 or subject:find(";") or not subject:find("^[%w_/, .-]+: %l") then
      report("commit %q: expected `area: imperative` of at most 72 columns without a semicolon", subject)
    end
  end
end

if #arg > 0 then
  for _, path in ipairs(arg) do
    check_file(path)
  end
else
  for _, path in ipairs((read_lines(("find %s -type f | LC_ALL=C sort"):format(FOLDERS)))) do
    if get_comment_patterns(path) and not path:find(STORED_RESULTS) then
      check_file(path)
    end
  end
  check_fields()
  check_commits()
end
os.exit(problems == 0)
