-- One HTML page: no other file, light and dark, for the screen and for paper, and whole without its script.
--
-- Input: { title, lead, sections = { { title, body } } }, lead and bodies being HTML. Output: text. It is XML as well.
-- A browser sends no request, and runs no script but page_script.lua: the page's policy forbids both.

local study_analyses = require("lab.study.report.page.study_analyses")
local colours = require("lab.study.report.figures.colours")
local lists = require("base.lists")
local script = require("lab.study.report.page.page_script")
local sha256 = require("base.sha256")
local escape = require("base.escape")

local M = {}

local STYLE = ([[
:root { color-scheme: light dark; --ink: #1b1d21; --soft: #565b65; --line: #d7d9de; --back: #ffffff; --shade: LIGHT;
  --link: #0b57a8; --warn: #a03208; }
.curves [style] { --colour: var(--light); }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ec; --soft: #a2a8b3; --line: #3a3e47; --back: #15171c; --shade: DARK; --link: #86b9f2;
    --warn: #f0a076; }
  .curves [style] { --colour: var(--dark); }
}
body { margin: 0 auto; max-width: 86rem; padding: 1.5rem 1.5rem 4rem; background: var(--back); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; padding-top: .6rem; border-top: 1px solid var(--line); }
h3 { font-size: .95rem; margin: 0; }
p, li { max-width: 60rem; }
nav ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; }
a { color: var(--link); text-underline-offset: .15em; }
td a, th a { color: inherit; text-decoration-color: var(--soft); text-decoration-thickness: 1px; }
code { font: .88em ui-monospace, Menlo, Consolas, monospace; background: var(--shade); padding: .1em .3em;
  overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
:focus-visible, :target { outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; margin: .4rem 0; }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem; }
th, td { padding: .15rem .55rem; text-align: right; white-space: nowrap; }
th[scope="row"], th[scope="rowgroup"], thead th:first-child { text-align: left; font-weight: 500; }
tbody th { vertical-align: top; }
thead th { border-bottom: 1px solid var(--ink); vertical-align: bottom; font-weight: 600; }
tbody tr:hover td, tbody tr:hover th { background: var(--shade); }
tr.last td, tr.last th, tr.first td, tr.first th { border-top: 1px solid var(--line); }
tr.beside td, tr.beside th, tr.first th[scope="row"], small { color: var(--soft); font-weight: 400; }
tr.beside td, tr.beside th { padding-top: 0; font-size: .92em; }
td.best { font-weight: 700; }
td.missing, .flag { color: var(--warn); font-weight: 400; }
.facts td, .facts th { text-align: left; white-space: normal; vertical-align: top; }
figure { margin: 1rem 0; }
figure img { max-width: 100%; height: auto; }
pre { font: .88em/1.35 ui-monospace, Menlo, Consolas, monospace; }
figcaption { color: var(--soft); max-width: 60rem; }
details { margin: .3rem 0; }
summary { cursor: pointer; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.legend { list-style: none; padding: 0; margin: 0 0 .6rem; display: flex; flex-wrap: wrap; gap: .1rem .3rem; }
.legend li, .legend button { display: inline-flex; align-items: center; gap: .4rem; min-height: 1.6rem; }
.legend button, .legend li:not([data-toggle]) { padding: .1rem .5rem; }
.legend button { font: inherit; color: inherit; background: none; border: 0; border-radius: .3rem; cursor: pointer; }
.legend button:hover { background: var(--shade); }
.legend [aria-pressed="false"] { color: var(--soft); text-decoration: line-through; }
.legend [aria-pressed="false"] svg { opacity: .35; }
.key, .swatch { flex: none; width: 36px; height: 14px; }
.swatch { background: var(--shade); border-right: 1px dashed var(--soft); }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 25rem), 1fr)); gap: 1.4rem; }
.panel { min-width: 0; max-width: 38rem; }
.plot { position: relative; }
.plot > svg { display: block; width: 100%; height: auto; }
.curves text { font-size: 12.5px; fill: var(--ink); }
.curves .middle { text-anchor: middle; }
.curves .end { text-anchor: end; }
.curves path { fill: none; stroke-linejoin: round; }
.curves .grid { stroke: var(--line); stroke-width: .7; }
.curves .axis { stroke: var(--ink); }
.curves .shade { fill: var(--shade); }
.curves .limit { stroke: var(--soft); stroke-dasharray: 8 5; }
.curves .level { stroke: var(--soft); stroke-width: 1.2; }
.curves .mean { stroke: var(--colour); stroke-width: 2; stroke-linecap: round; }
.curves .mark { fill: var(--colour); stroke: var(--colour); stroke-width: 1.2; }
.curves .seed { stroke: var(--colour); stroke-width: 1; opacity: .4; }
.curves .band { fill: var(--colour); opacity: .16; }
.curves .rule { stroke: var(--ink); visibility: hidden; }
.read .rule { visibility: visible; }
.readout { display: none; position: absolute; top: 11%; right: 0; z-index: 1; padding: .3rem .6rem;
  pointer-events: none; background: var(--back); border: 1px solid var(--line); border-radius: .3rem;
  font-size: .85rem; line-height: 1.35; font-variant-numeric: tabular-nums; }
.read .readout { display: block; }
.readout.left { top: auto; bottom: 18%; right: auto; left: 12%; }
.readout svg { vertical-align: -.1em; }
@media screen and (max-width: 40rem) {
  body { padding: 1rem 1rem 3rem; }
  tbody th { white-space: normal; }
  tr:not(.beside) > th:first-child { position: sticky; left: 0; background: var(--back); }
}
@media print {
  :root { color-scheme: light; }
  body { max-width: none; padding: 0; font-size: 10px; }
  nav { display: none; }
  h1 { font-size: 17px; }
  h2 { font-size: 13px; margin: 1.4rem 0 .4rem; }
  h3 { font-size: 11px; }
  a { color: inherit; text-decoration: none; }
  h2, h3 { break-after: avoid; }
  .panel, tr { break-inside: avoid; }
  .panels { grid-template-columns: 1fr 1fr; }
  .wide { overflow: visible; }
  table { font-size: 8px; }
  th, td { white-space: normal; padding: .1rem .25rem; }
  td code { overflow-wrap: anywhere; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  .numbers { display: none; }
  .notes::details-content { content-visibility: visible; block-size: auto; }
}
]]):gsub("LIGHT", colours.LIGHT):gsub("DARK", colours.DARK)

-- The policy loads only pictures within the page, and runs only the one script.
local POLICY = ("default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-%s'; "
  .. "base-uri 'none'; form-action 'none'"):format(study_analyses.base64((sha256.hex(script):gsub("%x%x", function(byte)
    return string.char(tonumber(byte, 16))
  end))))

function M.render(page)
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
    ('<meta http-equiv="Content-Security-Policy" content="%s"/>'):format(POLICY),
    ("<title>%s</title>"):format(escape.html(page.title)), "<style>", STYLE .. "</style>", "</head>", "<body>",
    ("<header><h1>%s</h1>\n%s</header>"):format(escape.html(page.title), page.lead),
    '<nav aria-label="Contents"><ul>' .. table.concat(links, "\n") .. "</ul></nav>", "<main>",
    table.concat(bodies, "\n"), "</main>", '<script type="module">' .. script .. "</script>", "</body>", "</html>", "",
  }, "\n")
end

return M
