-- The module of the facet `lines`: attention sees only pairs of a query and a key on some straight lines, and adds a
-- value to the scores of each line (Duan and Shi 2024, attention bias calibration). modules.lua describes modules of
-- facets.
--
-- Input of M.make_mask: the resolved encoding, the family with the plans of earlier facets (modules.lua), and `causal`,
-- whether keys after a query are hidden. Output: nil if there are neither lines nor corners, or a mask
-- (mask.lua) of kind "lines". A corner is the pair of query 0 and the last key. Fields of the mask:
--   heads       a list with an entry for each head:
--     lines     the lines of the head, { step, key_factor, first, value }. With S keys, a line shows query i the key
--               with the index key_factor * S + first + step * i. key_factor is 1 if the line is counted from the last
--               key, otherwise 0. value is the number in the spec divided by the softmax's temperature
--     corner    whether the head has the corner, with value 0
--   flat        the lines of all heads, head after head
--   starts      a list with the index in `flat`, from 0, of each head's first line; its last item is the number of
--               lines
--   starts_text    C text of `starts`, such as "0, 2, 3"
--   corners_text   C text of the fields `corner` of all heads, such as "true, false"
--   any_corner  whether a head has a corner
--   list        the field `list` of the spec
--   columns     the side from which lines of direction 0 are counted, "left" or "right"
--   corner_choice   the heads with a corner: "lines" (heads with lines), "all" or "none"; "none" except in
--               cross-attention
--   description   the visible keys in words
--   causal      whether keys after a query are hidden
--   sees_all    always true: a query without a key on the lines of its head sees all keys
--
-- The paper counts queries i and keys j from 1 and has n keys; specs count i and j from 0 and have S keys. Lines of
-- direction -1 have the number (n + 1) - (i + j) in the paper, and (S - 1) - (i + j) in specs; both are 0 for the
-- anti-diagonal through the corner. A line of direction 0 has the number l = j in the paper. In specs its number
-- is (l - 1) if the spec counts from the left, and (n - l) if it counts from the right.

local expression_text = require("expression.text")
local lists = require("base.lists")
local wording = require("base.wording")

local M = { name = "lines", off_value = { list = {} }, excludes_cross = true, without_kinds = true,
  needs_no_export = true }

-- The largest value of a line. Device code starts the search for a query's largest score at -1e30, so scores of visible
-- keys must be above -1e30.
M.MAX_VALUE = 1e20

M.fields = {
  { path = "encoding.lines", is_rare = true, type = "table", optional = true, items = "list",
    doc = "constants that are added to scores along lines of query-key pairs, a table for each head; pairs on no line "
      .. "are hidden",
    details = { "for example lines = { { head = 0, direction = -1, line = 1, value = 2.5 }, ... }",
      "a pair on several lines gets the largest of their constants",
      "a query without a key on the lines of its head sees all keys",
      "in a decoder's self-attention no query sees later tokens, whatever the lines" } },
  { path = "encoding.lines.list", is_rare = true, type = "lines", required = true, doc = "the lines, in any order",
    details = { "the pairs of query i and key j on a line, by its direction (i and j count from 0; there are S keys):",
      "1: j - i = line; -1: (S - 1) - (i + j) = line; 0: j = line, counted from the side that columns names" } },
  { path = "encoding.lines.zero_corner", is_rare = true, type = "choice", default = "lines",
    doc = "heads in which the first query of cross-attention also sees the last key, with constant 0",
    choices = {
      { "lines", "heads that have lines" },
      { "all", "all heads" },
      { "none", "no head" } } },
  { path = "encoding.lines.columns", is_rare = true, type = "choice", choices = { "left", "right" }, optional = true,
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
      expected = '"full"; or "causal", which hides the keys after the query' })
  end
end

-- The indices, from 1, of the streams of an attention's queries and keys. Attentions that are not in this table read
-- stream 1 only.
local SIDES = { decoder = { 2, 2 }, cross = { 2, 1 } }

-- Warns about lines that contain no pair of the longest sequences. name: the name of the attention; stream_tokens: the
-- number of tokens of each stream.
local function warn_lines_without_pairs(view, report, name, stream_tokens)
  local encoding, sides = view.resolved.encoding, SIDES[name] or { 1, 1 }
  local queries, keys = stream_tokens[sides[1]], stream_tokens[sides[2]]
  local is_causal = name == "decoder" or view.resolved.model.kind == "decoder"
    or encoding.mask ~= nil and encoding.mask.kind == "causal"
  local lines_without_pairs = lists.filter(encoding.lines.list, function(line)
    -- A line of this direction contains pairs if its number is from low to high.
    local low = line.direction == 0 and 0 or 1 - queries
    local high = is_causal and line.direction == 1 and 0 or keys - 1
    return line.line < low or line.line > high
  end)
  local first_line = lines_without_pairs[1]
  if first_line then
    report.warn(("%s: line %d of direction %d in head %d%s: the longest sequences have %s and %s"):format(
      report.get_path("encoding.lines"), first_line.line, first_line.direction, first_line.head, lines_without_pairs[2]
        and (", and %d more, contain no pair"):format(#lines_without_pairs - 1) or " contains no pair",
      queries == 1 and "1 query" or queries .. " queries", wording.count(keys, "key")))
  end
end

-- Whether the number of a line of the spec is counted from the last key. columns: the side from which lines of
-- direction 0 are counted.
local function is_reversed(entry, columns)
  return entry.direction == -1 or entry.direction == 0 and columns == "right"
end

-- Words about lines that are counted from the last key; nil or false without such lines. modules.lua describes `sides`.
function M.explain_length(resolved, sides)
  local lines = sides.key and resolved.encoding.lines
  return lines and lists.any(lines.list, function(line) return is_reversed(line, lines.columns or "left") end)
    and "has lines that begin at the sequence's last token"
end

function M.warn(view, report)
  local crosses, path = false, "encoding.lines.zero_corner"
  if not view.resolved.encoding.lines then
    return
  end
  local stream_tokens = report.find_longest_streams()
  for _, name in ipairs(view.family_names) do
    crosses = crosses or name == "cross"
    warn_lines_without_pairs(view, report, name, stream_tokens)
  end
  if not crosses and report.find_origin(path) then
    report.warn(("%s has no effect: only cross-attention has that corner"):format(report.get_path(path)))
  end
end

-- The fields `step`, `key_factor` and `first` of a line. entry: the line in the spec.
local function place_line(entry, columns)
  local from_end = is_reversed(entry, columns)
  return { step = entry.direction, key_factor = from_end and 1 or 0,
    first = from_end and -1 - entry.line or entry.line }
end

local function describe(mask, heads)
  local heads_with_lines = lists.count(mask.heads, function(head) return head.lines[1] end)
  return ("queries see the keys on %s in %d of %d heads%s"):format(wording.count(#mask.flat, "line"), heads_with_lines,
    heads, heads_with_lines < heads and ", and all keys in the other heads" or "")
end

-- The mask of a family, or nil; the first comment of this file describes it.
function M.make_mask(encoding, family, causal)
  local lines, temperature = encoding.lines, encoding.normaliser and encoding.normaliser.temperature or 1
  local columns = lines.columns or family.cross and "right" or "left"
  local corner_choice = family.cross and lines.zero_corner or "none"
  local mask = { kind = "lines", heads = {}, flat = {}, starts = {}, any_corner = false, causal = causal,
    sees_all = true, list = lines.list, columns = columns, corner_choice = corner_choice }
  for h = 1, family.heads do
    mask.heads[h] = { lines = {}, corner = corner_choice == "all" }
  end
  for _, entry in ipairs(lines.list) do
    local line = place_line(entry, columns)
    line.value = entry.value / temperature
    if math.abs(line.value) > M.MAX_VALUE then
      error({ problem = true, field = "encoding.lines", expected = ("at most %g"):format(M.MAX_VALUE),
        what = ("the value %g, divided by the temperature %g, is too large for a score"):format(entry.value,
          temperature) })
    end
    local head = mask.heads[entry.head + 1]
    table.insert(head.lines, line)
    head.corner = corner_choice ~= "none"
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
  mask.description = describe(mask, family.heads)
  if not mask.flat[1] and not mask.any_corner then
    return nil
  end
  -- C arrays need an element, even if no head has a line.
  mask.flat[1] = mask.flat[1] or { step = 0, key_factor = 0, first = -1, value = 0 }
  return mask
end

-- Returns the field corner_alone for the plan digest: true if an attention has corners but no lines. Earlier versions
-- of Longhand ignored such corners, and their runs must have another digest.
function M.identify_sums(plan)
  return { corner_alone = lists.any(plan.attentions, function(family)
    return family.mask.list and not family.mask.list[1]
  end) or nil }
end

local COLUMN = { left = "j", right = "keys - 1 - j" }

-- The mask for templates of Python:
--   rows      Python texts of the lines in the field `list` of the spec
--   column    the expression that is constant on a line of direction 0
--   corners   the heads that have a corner, or false
--   causal    whether keys after a query are hidden
function M.export_mask(mask)
  local rows = lists.map(mask.list, function(line)
    return ("(%d, %d, %d, %s)"):format(line.head, line.direction, line.line, expression_text.format_number(line.value))
  end)
  local corners = lists.map(mask.heads, function(head, h) return head.corner and tostring(h - 1) or nil end)
  return { rows = rows, column = COLUMN[mask.columns], corners = corners[1] and table.concat(corners, ", ") or false,
    causal = mask.causal }
end

return M
