-- The spec of a student: its teacher's spec with the found lines and, by default, without an encoding of positions.
--
-- Output: a text. Input:
--   base                 the path of the teacher's spec file, relative to the student's file ("./name.lua")
--   init                 the relative path of the student's initial checkpoint; nil: the spec has no field `init`;
--                        false: the spec has `init = false`, which cancels the teacher's initial checkpoint
--   lines                for the families "decoder" and "cross": { list = { { head, direction, index, value } },
--                        choices } (found_lines.lua); a family's lines replace its mask
--   teacher_encoding     the teacher's resolved encoding
--   disables_positions   whether the student disables the teacher's facets that encode positions
--   comment              lines of text

local canonical = require("base.canonical")
local lists = require("base.lists")

local M = {}

local SIDES = { decoder = "left", cross = "right" } -- the side from which specs count columns by default

-- Facets that encode positions, each with the kind that disables the facet.
local POSITION_FACETS = {
  { "positions", "index" }, { "additive", "none" }, { "rotation", "none" }, { "relative", "none" }, { "score", "none" },
}

-- Returns lines of a spec that disable the position facets of an encoding. indentation: the blanks that begin a line.
local function disable_facets(encoding, indentation)
  return lists.map(POSITION_FACETS, function(pair)
    local name, disabled_kind = pair[1], pair[2]
    local facet = encoding[name]
    return facet and facet ~= "none" and facet.kind ~= disabled_kind
      and ("%s%s = { kind = %q },"):format(indentation, name, disabled_kind) or nil
  end)
end

-- Returns the fields of the spec's table `lines` that differ from their defaults, other than `list`. name: the family.
local function list_settings(name, family_lines)
  local out, column_line = {}, lists.find(family_lines.list, function(line) return line.direction == 0 end)
  if name == "cross" and family_lines.choices.corner ~= "lines" then
    out[#out + 1] = ("zero_corner = %q,"):format(family_lines.choices.corner)
  end
  if column_line and family_lines.choices.align ~= SIDES[name] then
    out[#out + 1] = ("columns = %q,"):format(family_lines.choices.align)
  end
  return out
end

-- Whether the student's spec needs the table `lines` for a family: the family has lines, or it has no lines but its
-- corner is open in all heads.
local function has_lines(name, family_lines)
  return family_lines ~= nil and (#family_lines.list > 0 or name == "cross" and family_lines.choices.corner == "all")
end

-- Adds the table `lines` of a family to `out`, a list of lines of text.
local function write_lines(out, name, family_lines)
  if not has_lines(name, family_lines) then
    return
  end
  out[#out + 1] = "      lines = {"
  out[#out + 1] = #family_lines.list == 0 and "        list = {}," or nil
  lists.append(out, lists.map(list_settings(name, family_lines), function(text) return "        " .. text end))
  lists.append(out, lists.map(family_lines.list, function(line)
    local value = line.value == 0 and 0 or line.value -- never "-0"
    return ("        { head = %d, direction = %d, line = %d, value = %.9g },"):format(line.head, line.direction,
      line.index, value)
  end))
  out[#out + 1] = "      },"
end

local function replaces_mask(name, family_lines, encoding)
  local mask = encoding[name] and encoding[name].mask or encoding.mask
  return has_lines(name, family_lines) and mask ~= nil and mask.kind ~= "full"
end

-- Whether lines replace a mask of the teacher's encoding in any family.
function M.replaces_masks(lines, encoding)
  return lists.any(canonical.sort_keys(lines), function(name) return replaces_mask(name, lines[name], encoding) end)
end

-- Adds the table of an attention family to `out`, a list of lines of text, if it has any fields.
local function write_family(out, name, family_lines, encoding, disables_positions)
  local inner = disable_facets(disables_positions and encoding[name] or {}, "      ")
  if replaces_mask(name, family_lines, encoding) then
    inner[#inner + 1] = '      mask = { kind = "full" },'
  end
  write_lines(inner, name, family_lines)
  if #inner > 0 then
    out[#out + 1] = ("    %s = {"):format(name)
    lists.append(out, inner)
    out[#out + 1] = "    },"
  end
end

-- Returns the spec of a student, described at the head of this file.
function M.write_spec(student)
  local encoding, disables_positions = student.teacher_encoding, student.disables_positions
  local out = lists.map(student.comment, function(line) return "-- " .. line end)
  out[#out + 1] = ("return {\n  use = %q,"):format(student.base)
  if student.init ~= nil then
    out[#out + 1] = ("  init = %s,"):format(student.init and ("%q"):format(student.init) or "false")
  end
  out[#out + 1] = "  encoding = {"
  lists.append(out, disable_facets(disables_positions and encoding or {}, "    "))
  for _, name in ipairs({ "encoder", "decoder", "cross" }) do
    write_family(out, name, student.lines[name], encoding, disables_positions)
  end
  out[#out + 1] = "  },\n}\n"
  return table.concat(out, "\n")
end

return M
