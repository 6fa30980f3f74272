-- Page (pages.lua) of the facet `lines`: pairs of a query and a key that lie on straight lines, and values added to
-- their scores (Duan and Shi 2024, the bias of attention bias calibration).
--
-- Input of M.make_mask: the resolved encoding, the family so far, whether a query sees no later keys. Output: nil if
-- there are neither lines nor corners, or a mask (mask.lua) of kind "lines":
--   heads       for each head { lines, corner }: its lines { step, keys, first, value }; of S keys, a line opens to
--               query i the key first + step i if `keys` is 0, and S + first + step i if `keys` is 1; value: the given
--               number divided by the softmax's temperature; corner: query 0 sees key S - 1, with value 0
--   flat        the lines of all heads, head after head; starts: the indices in flat, from 0, at which each head's
--               lines begin, and the end of the last head's
--   starts_text, corners_text   C text: the starts, and whether each head has a corner; any_corner: whether one has
--   list, columns, corner   the lines as in the spec; the side; the choice of corners, "none" without cross-attention
--   about       a description in words
--   causal      whether keys after a query stay hidden
--   sees_all    true: a query for which its head opens no key sees all keys
--
-- The paper counts queries and keys from 1. Its line (n + 1) - (i + j) of the direction -1 is (S - 1) - (i + j) here;
-- both are 0 for the anti-diagonal through the corner of the first query and the last key. Its line l = j of the
-- direction 0 is key l - 1 counted from the left, and n - l counted from the right.

local expression_text = require("expression.text")
local lists = require("base.lists")
local wording = require("base.wording")

local M = { name = "lines", off = { list = {} }, by_place = true, without_kinds = true, exported = true }

-- The largest value of a line. A device starts the largest score of a query at -1e30: visible scores must be above it.
M.LARGEST = 1e20

M.fields = {
  { path = "encoding.lines", seldom = true, type = "table", optional = true, items = "list",
    doc = "constants that are added to scores along lines of query-key pairs, a table for each head; pairs on no line "
      .. "are hidden",
    more = { "for example lines = { { head = 0, direction = -1, line = 1, value = 2.5 }, ... }",
      "for a pair on several lines the largest constant counts; a query that no line of its head meets sees all keys",
      "in a decoder's self-attention no query sees later tokens, whatever the lines" } },
  { path = "encoding.lines.list", seldom = true, type = "lines", required = true, doc = "the lines, in any order",
    more = { "a line holds these pairs of query i and key j, counted from 0, with S keys, by its direction:",
      "1: j - i = line; -1: (S - 1) - (i + j) = line; 0: j = line, counted from the side that columns names" } },
  { path = "encoding.lines.zero_corner", seldom = true, type = "choice", default = "lines",
    doc = "heads in which the first query of cross-attention also sees the last key, with constant 0",
    choices = {
      { "lines", "heads that have lines" },
      { "all", "all heads" },
      { "none", "no head" } } },
  { path = "encoding.lines.columns", seldom = true, type = "choice", choices = { "left", "right" }, optional = true,
    doc = "the side from which lines of direction 0 are counted; absent: right in cross-attention, otherwise left" },
}

function M.is_off(lines)
  return lines.list ~= nil and #lines.list == 0 and lines.zero_corner ~= "all"
end

function M.check(view, report)
  local encoding = view.resolved.encoding
  if encoding.lines and encoding.mask and encoding.mask.kind ~= "full" and encoding.mask.kind ~= "causal" then
    report.refuse("encoding.mask.kind", "encoding.lines", "{ ... }", {
      what = "a mask next to lines, which already determine the keys that a query sees",
      expected = '"full", or "causal": then keys after the query stay hidden' })
  end
end

-- The streams of an attention's queries and keys, by number.
local SIDES = { decoder = { 2, 2 }, cross = { 2, 1 } }

-- Warns about lines that meet no pair of the longest sequences. name: of the attention; streams: tokens of each stream.
local function warn_beyond(view, report, name, streams)
  local encoding, sides = view.resolved.encoding, SIDES[name] or { 1, 1 }
  local queries, keys = streams[sides[1]], streams[sides[2]]
  local causal = name == "decoder" or view.resolved.model.kind == "decoder"
    or encoding.mask ~= nil and encoding.mask.kind == "causal"
  local beyond = lists.filter(encoding.lines.list, function(line)
    local last = causal and line.direction == 1 and 0 or keys - 1 -- the last line that meets a pair
    return line.line > last or line.line <= (line.direction == 0 and -1 or -queries)
  end)
  if beyond[1] then
    report.warn(("%s: line %d of direction %d in head %d%s: the longest sequences have %s and %s"):format(
      report.get_path("encoding.lines"), beyond[1].line, beyond[1].direction, beyond[1].head, beyond[2]
        and (", and %d more, open nothing"):format(#beyond - 1) or " opens nothing",
      queries == 1 and "1 query" or queries .. " queries", wording.count(keys, "key")))
  end
end

-- Whether a line of the spec counts its place from the last key. columns: the side from which columns are counted.
local function is_reversed(entry, columns)
  return entry.direction == -1 or entry.direction == 0 and columns == "right"
end

-- Words, if lines of a direction count their places from the last key and so depend on the length of the sequence.
function M.explain_length(resolved, sides)
  local lines = sides.key and resolved.encoding.lines
  return lines and lists.any(lines.list, function(line) return is_reversed(line, lines.columns or "left") end)
    and "has lines that begin at the last token"
end

function M.warn(view, report)
  local crosses, path = false, "encoding.lines.zero_corner"
  if not view.resolved.encoding.lines then
    return
  end
  local streams = report.find_longest_streams()
  for _, name in ipairs(view.holds_for) do
    crosses = crosses or name == "cross"
    warn_beyond(view, report, name, streams)
  end
  if not crosses and report.find_place(path) then
    report.warn(("%s has no effect: cross-attention alone has that corner"):format(report.get_path(path)))
  end
end

local function place_line(entry, columns)
  local reversed = is_reversed(entry, columns)
  return { step = entry.direction, keys = reversed and 1 or 0, first = reversed and -1 - entry.line or entry.line }
end

local function describe(mask, heads)
  local open = lists.count(mask.heads, function(head) return head.lines[1] end)
  return ("queries see what %s of %d of %d heads open, others see all"):format(wording.count(#mask.flat, "line"), open,
    heads)
end

-- The mask of a family (see the head of this file), or nil.
function M.make_mask(encoding, family, causal)
  local lines, temperature = encoding.lines, encoding.normaliser and encoding.normaliser.temperature or 1
  local columns = lines.columns or family.cross and "right" or "left"
  local corner = family.cross and lines.zero_corner or "none"
  local mask = { kind = "lines", heads = {}, flat = {}, starts = {}, any_corner = false, causal = causal,
    sees_all = true, list = lines.list, columns = columns, corner = corner }
  for h = 1, family.heads do
    mask.heads[h] = { lines = {}, corner = corner == "all" }
  end
  for _, entry in ipairs(lines.list) do
    local line = place_line(entry, columns)
    line.value = entry.value / temperature
    if math.abs(line.value) > M.LARGEST then
      error({ problem = true, field = "encoding.lines", expected = ("at most %g"):format(M.LARGEST),
        what = ("the value %g, divided by the temperature %g, is too large for a score"):format(entry.value,
          temperature) })
    end
    local head = mask.heads[entry.head + 1]
    table.insert(head.lines, line)
    head.corner = corner ~= "none"
  end
  local corners = {}
  for h, head in ipairs(mask.heads) do
    mask.starts[h] = #mask.flat
    lists.append(mask.flat, head.lines)
    corners[h] = tostring(head.corner)
    mask.any_corner = mask.any_corner or head.corner
  end
  mask.starts[family.heads + 1] = #mask.flat
  mask.starts_text, mask.corners_text = table.concat(mask.starts, ", "), table.concat(corners, ", ")
  mask.about = describe(mask, family.heads)
  if not mask.flat[1] and not mask.any_corner then
    return nil
  end
  mask.flat[1] = mask.flat[1] or { step = 0, keys = 0, first = -1, value = 0 } -- of no head: C arrays need an element
  return mask
end

-- The order of sums of attention with a corner and no line, which earlier versions computed as without a corner.
function M.identify_sums(plan)
  return { corner_alone = lists.any(plan.attentions, function(family)
    return family.mask.list and not family.mask.list[1]
  end) or nil }
end

local COLUMN = { left = "j", right = "keys - 1 - j" }

-- For templates of Python: rows, the lines as in the spec; column, the expression that lines of direction 0 count;
-- corners, the heads that have a corner, or false; causal.
function M.export_mask(mask)
  local rows = lists.map(mask.list, function(line)
    return ("(%d, %d, %d, %s)"):format(line.head, line.direction, line.line, expression_text.format_number(line.value))
  end)
  local corners = lists.map(mask.heads, function(head, h) return head.corner and tostring(h - 1) or nil end)
  return { rows = rows, column = COLUMN[mask.columns], corners = corners[1] and table.concat(corners, ", ") or false,
    causal = mask.causal }
end

return M
