-- Escapes text of users and of other files for the languages that Longhand writes: a function for each language.
--
-- Input: any bytes. Output: text that the language reads as plain text, at the places where it expects text. c_string,
-- json, shell and make keep every byte. The other functions return one line of valid UTF-8, in which a control
-- character, a line separator and every byte that is not UTF-8 is a question mark. Text in a language that is nested in
-- another language passes through both functions, the inner language's first.

local M = {}

-- Code points that are not printable or not allowed in XML.
local UNPRINTABLE = { ["\u{FFFE}"] = true, ["\u{FFFF}"] = true, ["\u{2028}"] = true, ["\u{2029}"] = true }

-- The text with a question mark in place of each byte that is not part of a valid character.
local function replace_invalid_bytes(text)
  local parts, first = {}, 1
  while first <= #text do
    local length, invalid = utf8.len(text, first)
    local last = length and #text or invalid - 1
    parts[#parts + 1] = text:sub(first, last)
    parts[#parts + 1] = not length and "?" or nil
    first = last + 2
  end
  return table.concat(parts)
end

-- One line that a terminal, a page and a text file display unchanged.
function M.plain(text)
  text = tostring(text)
  if not text:find("[^ -~]") then
    return text
  end
  text = text:gsub("%c", "?")
  if not utf8.len(text) then
    text = replace_invalid_bytes(text)
  end
  return (text:gsub("\xC2[\x80-\x9F]", "?"):gsub("[\xE2\xEF]..", function(character)
    return UNPRINTABLE[character] and "?" or nil
  end))
end

-- Text inside /* */, which cannot end the comment or begin another.
function M.c_comment(text)
  return (M.plain(text):gsub("%*/", "* /"):gsub("/%*", "/ *"))
end

local C_ESCAPES = { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n", ["\t"] = "\\t" }

-- Text between double quotes of C, byte for byte; two question marks could begin a trigraph.
function M.c_string(text)
  return (tostring(text):gsub('[%c\\"]', function(byte)
    return C_ESCAPES[byte] or ("\\%03o"):format(byte:byte())
  end):gsub("%?+", function(marks)
    return "?" .. ("\\?"):rep(#marks - 1)
  end))
end

local JSON_ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r" }

-- A string of JSON with its quotes, byte for byte.
function M.json(text)
  return '"' .. text:gsub('[%c"\\]', function(byte)
    return JSON_ESCAPES[byte] or ("\\u%04x"):format(byte:byte())
  end) .. '"'
end

-- A gnuplot string with its quotes, in one line, since gnuplot ends a string at the end of a line and begins a command.
-- Text without a single quote goes into single quotes, where nothing else is special. Other text goes into double
-- quotes, since gnuplot misreads a doubled single quote at the front. Inside double quotes, backquotes are escaped,
-- since gnuplot would run the text between them.
function M.gnuplot(text)
  text = M.plain(text)
  return not text:find("'", 1, true) and "'" .. text .. "'"
    or '"' .. text:gsub('[`"\\]', function(byte) return ("\\%03o"):format(byte:byte()) end) .. '"'
end

local HTML_ESCAPES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

-- Text of HTML that is also XML, between tags or as an attribute's value.
function M.html(text)
  return (M.plain(text):gsub("[&<>\"']", HTML_ESCAPES))
end

local LATEX_ESCAPES = {
  ["\\"] = "\\textbackslash{}", ["{"] = "\\{", ["}"] = "\\}", ["$"] = "\\$", ["&"] = "\\&", ["#"] = "\\#",
  ["%"] = "\\%", ["_"] = "\\_", ["^"] = "\\textasciicircum{}", ["~"] = "\\textasciitilde{}",
  ["<"] = "\\textless{}", [">"] = "\\textgreater{}", ["|"] = "\\textbar{}", ['"'] = "\\textquotedbl{}",
}

-- Text of paragraphs and cells of LaTeX. LaTeX would read a leading star or bracket as an argument of the \\ that ends
-- the previous row.
function M.latex(text)
  return (M.plain(text):gsub('[\\{}$&#%%_^~<>|"]', LATEX_ESCAPES):gsub("±", "$\\pm$"):gsub("^( *)([%[*])", "%1{%2}"))
end

-- A field of a line of CSV, in quotes if it contains a comma or a quote.
function M.csv(text)
  text = M.plain(text)
  return text:find('[,"]') and '"' .. text:gsub('"', '""') .. '"' or text
end

-- A word of a POSIX shell, byte for byte.
function M.shell(word)
  return word:find("^[%w_./=:,+@-]+$") and word or "'" .. word:gsub("'", "'\\''") .. "'"
end

-- The path `word`, unchanged; nil if make and the recipes of the Makefile cannot handle it. MAKE_TEXT lists the
-- characters that the names in the path may have.
function M.make(word)
  return not word:find("[^%w_./+,=@^\x80-\xFF-]") and not word:find("^-") and word or nil
end

M.MAKE_TEXT = "only letters, digits and . _ - + , = @ ^, and no - at the beginning"

-- Text inside a Python comment, or inside a docstring in """.
function M.python(text)
  return (M.plain(text):gsub("\\", "/"):gsub('"', "'"))
end

return M
