-- Builds one HTML page without other files, with light and dark colours, for screen and print, usable without script.
--
-- Input: { title, lead, sections = { { title, body } } }, where lead and bodies are HTML. Output: text, which is also
-- valid XML. The style is page.css and the script page.js, in the folder of this module. The page's content security
-- policy forbids requests and other scripts.

local study_analyses = require("lab.study.report.page.study_analyses")
local colours = require("lab.study.report.figures.colours")
local lists = require("base.lists")
local sha256 = require("base.sha256")
local escape = require("base.escape")
local write = require("base.write")

local M = {}

local FOLDER = select(2, ...):match("^.*/") -- the folder of this module

local function text_of(name)
  return assert(write.read(FOLDER .. name))
end

-- A content security policy that allows only embedded pictures, inline styles and this script.
local function policy_of(script)
  return ("default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-%s'; "
    .. "base-uri 'none'; form-action 'none'"):format(study_analyses.base64((sha256.hex(script):gsub("%x%x",
    function(byte) return string.char(tonumber(byte, 16)) end))))
end

-- The page with gnuplot's symbols once, which the first picture defines for all.
local function with_symbols_once(text)
  local first = true
  return (text:gsub("<defs>.-</defs>", function(symbols)
    first, symbols = false, first and symbols or ""
    return symbols
  end))
end

function M.render(page)
  local style = text_of("page.css"):gsub("LIGHT", colours.LIGHT):gsub("DARK", colours.DARK)
  local script = text_of("page.js")
  local links = lists.map(page.sections, function(section, i)
    return ('<li><a href="#part-%d">%s</a></li>'):format(i, escape.html(section.title))
  end)
  local bodies = lists.map(page.sections, function(section, i)
    return ('<section id="part-%d"><h2>%s</h2>\n%s\n</section>'):format(i, escape.html(section.title), section.body)
  end)
  return table.concat({
    '<!DOCTYPE html>',
    '<html lang="en" xmlns="http://www.w3.org/1999/xhtml">',
    '<head>', '<meta charset="utf-8"/>', '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
    ('<meta http-equiv="Content-Security-Policy" content="%s"/>'):format(policy_of(script)),
    ("<title>%s</title>"):format(escape.html(page.title)), "<style>", style .. "</style>", "</head>", "<body>",
    ("<header><h1>%s</h1>\n%s</header>"):format(escape.html(page.title), page.lead),
    '<nav aria-label="Contents"><ul>' .. table.concat(links, "\n") .. "</ul></nav>", "<main>",
    with_symbols_once(table.concat(bodies, "\n")), "</main>",
    '<script type="module">' .. script .. "</script>", "</body>", "</html>", "",
  }, "\n")
end

return M
