-- One HTML page: no other file, no script, light and dark, for the screen and for paper.
--
-- Input: { title, lead, sections = { { title, body } } }, lead and bodies being HTML. Output: text. It is XML as well.

local tongues = require("base.tongues")

local M = {}

local STYLE = [[
:root { color-scheme: light dark; --ink: #1b1d21; --soft: #5c616b; --line: #d7d9de; --back: #ffffff; --shade: #f5f6f8;
  --link: #0b57a8; --warn: #a03208; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ec; --soft: #a2a8b3; --line: #3a3e47; --back: #15171c; --shade: #1e2128; --link: #86b9f2;
    --warn: #f0a076; }
}
body { margin: 0 auto; max-width: 86rem; padding: 1.5rem 1.5rem 4rem; background: var(--back); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; padding-top: .6rem; border-top: 1px solid var(--line); }
p, li { max-width: 60rem; }
nav ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; }
a { color: var(--link); text-underline-offset: .15em; }
td a { color: inherit; text-decoration-color: var(--line); }
code { font: .88em ui-monospace, Menlo, Consolas, monospace; background: var(--shade); padding: .1em .3em;
  overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; margin: .4rem 0; }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem; }
th, td { padding: .15rem .55rem; text-align: right; white-space: nowrap; }
th[scope="row"], th[scope="rowgroup"], thead th:first-child { text-align: left; font-weight: 500; vertical-align: top; }
thead th { border-bottom: 1px solid var(--ink); vertical-align: bottom; }
thead th { font-weight: 600; }
tbody tr:hover td, tbody tr:hover th { background: var(--shade); }
tr.last td, tr.last th, tr.first td, tr.first th { border-top: 1px solid var(--line); }
tr.beside td, tr.beside th, tr.first th[scope="row"], small { color: var(--soft); font-weight: 400; }
tr.beside td, tr.beside th { padding-top: 0; font-size: .92em; }
td.best { font-weight: 700; }
td.missing, .flag { color: var(--warn); font-weight: 400; }
.facts td, .facts th { text-align: left; white-space: normal; vertical-align: top; }
figure { margin: 1rem 0; }
figure svg, figure img { width: 100%; height: auto; }
pre { font: .88em/1.35 ui-monospace, Menlo, Consolas, monospace; }
figcaption { color: var(--soft); max-width: 60rem; }
details { margin: .3rem 0; }
summary { cursor: pointer; }
:target { outline: 2px solid var(--link); outline-offset: 3px; }
@media print {
  body { max-width: none; padding: 0; font-size: 10px; }
  nav { display: none; }
  a { color: inherit; text-decoration: none; }
  figure, tr { break-inside: avoid; }
  .wide { overflow: visible; }
}
]]

function M.render(page)
  local links, bodies = {}, {}
  for i, section in ipairs(page.sections) do
    local id = "part-" .. i
    links[i] = ('<li><a href="#%s">%s</a></li>'):format(id, tongues.html(section.title))
    bodies[i] = ('<section id="%s"><h2>%s</h2>\n%s\n</section>'):format(id, tongues.html(section.title), section.body)
  end
  return table.concat({
    '<!DOCTYPE html>',
    '<html lang="en" xmlns="http://www.w3.org/1999/xhtml" xmlns:xlink="http://www.w3.org/1999/xlink">',
    '<head>', '<meta charset="utf-8"/>', '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
    ("<title>%s</title>"):format(tongues.html(page.title)), "<style>", STYLE .. "</style>", "</head>", "<body>",
    ("<header><h1>%s</h1>\n%s</header>"):format(tongues.html(page.title), page.lead),
    '<nav aria-label="Contents"><ul>' .. table.concat(links, "\n") .. "</ul></nav>", "<main>",
    table.concat(bodies, "\n"), "</main>", "</body>", "</html>", "",
  }, "\n")
end

return M
