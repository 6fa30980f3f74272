-- Hostile texts, and checks of pages. A page that contains a hostile text must be valid in its language, and must not
-- run a command.
--
-- Tests insert M.TEXTS wherever untrusted text may occur. Each check returns a problem as text, or nil.

local lists = require("base.lists")

local M = {}

M.TEXTS = {
  "a\n!touch FILE\n#", "a\r\n!touch FILE", "'\n!touch FILE\n'", "it's '' 'quoted'", "`touch FILE`",
  "'`touch FILE`\"\\", "$(touch FILE)", "@x", "*/ int x; /*", "/*/", "**//", "??/", "a\\", 'say "x"',
  '"""\nimport os\n"""', "</td><script>alert(1)</script>", "&amp;<b a='x'>&\"", "]]>", "<!--",
  "\\end{document}\\input{x}", "}{", "100% #1 $x_y^z ~&", "%", "%1 %s %n %0", "[x] y", "* z", "o;touch FILE;b", "a b",
  "-x", "../../x", "\0a\1\27[31m\127", "\xff\xfe\xc3", "\u{85}\u{2028}\u{FFFE}x", "\u{e9}\u{4e2d}", "EOD",
  ("x"):rep(300), "", " ",
}

-- Checks a text that people read: it must consist of lines of valid UTF-8 without control characters.
function M.find_text_problem(text)
  if not utf8.len(text) then
    return "invalid UTF-8"
  end
  local position = text:find("[%z\1-\9\11-\31\127]")
  local nearby = position and text:sub(math.max(1, position - 20), position + 20)
  return position and ("a control character at %d: %q"):format(position, nearby) or nil
end

local GNUPLOT_COMMANDS = { set = true, unset = true, plot = true, reset = true }

-- Checks that a line of a gnuplot script has, outside of quotes, only words, numbers and characters that Longhand's
-- scripts need. is_continued: the line before ends with a backslash.
local function find_command_problem(line, is_continued)
  local bare, position = "", 1
  while true do
    local quote_start, _, quote = line:find("(['\"])", position)
    if not quote_start then
      break
    end
    local stop = line:find(quote, quote_start + 1, true)
    if not stop or quote == '"' and line:sub(quote_start, stop):find("`", 1, true) then
      return "a string that does not end, or that runs a command"
    end
    bare, position = bare .. line:sub(position, quote_start - 1), stop + 1
  end
  bare = bare .. line:sub(position)
  if bare:find("[`!|;@{}&?]") then
    return "a special character outside of quotes"
  elseif not is_continued and not GNUPLOT_COMMANDS[line:match("^%l+") or ""] then
    return "an unknown command"
  end
end

function M.find_gnuplot_problem(script)
  local in_data, is_continued = false, false
  for line in script:gmatch("([^\n]*)\n") do
    local problem
    if in_data then
      in_data = line ~= "EOD"
      problem = in_data and line:find("[^%d%s.e+-]") and "a line of data that has other text than numbers" or nil
    elseif line:find("^%$[%w_]+ << EOD$") then
      in_data = true
    elseif line ~= "" then
      problem = find_command_problem(line, is_continued)
      is_continued = line:sub(-1) == "\\"
    end
    if problem then
      return ("%s: %q"):format(problem, line)
    end
  end
  return in_data and "data that does not end" or M.find_text_problem(script)
end

local ENTITIES = { amp = true, lt = true, gt = true, quot = true, ["#39"] = true }

local function find_entity_problem(text)
  for position, name in text:gmatch("()&([^;]?[^;&]*)") do
    if not ENTITIES[name] or text:sub(position + 1 + #name, position + 1 + #name) ~= ";" then
      return ("an entity: %q"):format(text:sub(position, position + 20))
    end
  end
end

local function find_attribute_problem(text)
  local remainder = text:gsub("%s+[%a:_-]+%s*=%s*\"[^\"<]*\"", ""):gsub("%s+[%a:_-]+%s*=%s*'[^'<]*'", "")
  return remainder:find("%S") and ("attributes: %q"):format(text) or find_entity_problem(text)
end

-- Reads one tag at a position; returns its end, or nil and an error.
local function read_tag(page, position, open_tags)
  local _, stop, name = page:find("^</([%a][%w]*)%s*>", position)
  if stop then
    return table.remove(open_tags) == name and stop or nil, "closes an element that is not open: " .. name
  end
  local attributes, slash
  _, stop, name, attributes, slash = page:find("^<([%a][%w]*)([^<>]-)(/?)>", position)
  if not stop then
    return nil, ("not a tag: %q"):format(page:sub(position, position + 40))
  elseif slash == "" then
    open_tags[#open_tags + 1] = name
  end
  local problem = find_attribute_problem(attributes)
  return not problem and stop or nil, problem
end

function M.find_xml_problem(page)
  local open_tags, position = {}, 1
  page = page:gsub("^<!DOCTYPE html>\n", "")
  while position <= #page do
    local next_tag = page:find("<", position, true) or #page + 1
    local problem = find_entity_problem(page:sub(position, next_tag - 1))
    if problem then
      return problem
    elseif next_tag > #page then
      break
    end
    local stop
    stop, problem = read_tag(page, next_tag, open_tags)
    if not stop then
      return problem
    end
    position = stop + 1
  end
  return #open_tags > 0 and "left open: " .. open_tags[#open_tags] or M.find_text_problem(page)
end

-- The commands of LaTeX that Longhand's tables use.
local LATEX_COMMANDS = lists.split_set([[begin end centering small caption label toprule midrule bottomrule cmidrule
  multicolumn textbf medskip smallskip raggedright footnotesize pm textbackslash textasciicircum textasciitilde
  textless textgreater textbar textquotedbl setlength tabcolsep addtocounter]])
local ENVIRONMENTS = { table = true, tabular = true }

function M.find_latex_problem(text)
  text = text:gsub("^%%[^\n]*\n", "")
  for name in text:gmatch("\\begin{(%a+)}") do
    if not ENVIRONMENTS[name] then
      return "an environment: " .. name
    end
  end
  for name in text:gmatch("\\(%a+)") do
    if not LATEX_COMMANDS[name] then
      return "a command: " .. name
    end
  end
  if text:find("\\\\%s*[%[*]") then
    return "an argument of \\\\ at the end of a row"
  end
  local bare, depth = text:gsub("\\[^%a]", ""):gsub("%$[^$\n]*%$", ""), 0
  for brace in bare:gmatch("[{}]") do
    depth = depth + (brace == "{" and 1 or -1)
    if depth < 0 then
      return "a closing brace without an opening one"
    end
  end
  local special = bare:match("[#%%_^~$]")
  return depth > 0 and "a brace left open" or special and "a special character: " .. special
    or M.find_text_problem(text)
end

-- Checks of files, by the ending of their names. In CSV only ends of lines and quotes are special.
local CHECKS = { gnuplot = M.find_gnuplot_problem, html = M.find_xml_problem, tex = M.find_latex_problem,
  txt = M.find_text_problem, csv = M.find_text_problem }

function M.find_problem(name, text)
  return CHECKS[name:match("[^.]*$")](text)
end

return M
