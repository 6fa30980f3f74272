-- Options of a command, as rows.
--
-- Input: a command of argparse; rows { "--name VALUE", help, ... }, which may also have these fields of argparse:
-- default, convert, choices, count, args, target. Output: none; the options are added to the command. A row with
-- neither VALUE nor choices is a flag, which has no such fields.

local lists = require("base.lists")

local M = {}

-- Returns a converter whose messages begin with the option's name.
local function add_name(name, convert)
  return function(text)
    local value, message = convert(text)
    return value, message and name .. " " .. message
  end
end

function M.add(command, rows)
  for _, row in ipairs(rows) do
    local name, value = row[1]:match("^(%S+) ?(.*)$")
    if value == "" and not row.choices then
      command:flag(name, row[2])
    else
      command:option(name, row[2])(lists.merge(row, { argname = value ~= "" and value or nil,
        convert = row.convert and add_name(name, row.convert) }))
    end
  end
end

-- The row of the option --trainer: the trainer with which a verb reads runs. owner: a possessive, such as "the run's".
function M.make_trainer_row(owner)
  return { "--trainer FILE", owner .. " trainer; default: the one in build/trainers, built again if it is missing" }
end

M.SET = { "--set FIELD=VALUE", "override a field of the spec, for example --set train.steps=1000", count = "*",
  args = 1 }

local SPEC = "a spec file, the name of a spec in spec/runs, or STUDY:CELL for a cell of a study"

-- Adds a verb with the argument SPEC and the option --set.
function M.add_spec_verb(parser, name, summary)
  local command = parser:command(name):summary(summary)
  command:argument("spec", SPEC)
  M.add(command, { M.SET })
  return command
end

return M
