-- The checkpoint whose parameters a run begins with (`init`), as its file's header describes it.
--
-- Input: the context of validate.lua with the paths of files, the node of the field. Output: nil if there is no
-- checkpoint or after an error, or a table with these fields:
--   shown          the file's displayed name
--   checksum       the trainer's checksum, which identifies the file's bytes
--   model_digest   the model's digest, or nil if the header lacks it
--   id             the spec's id, or nil if the header lacks it
--   entries        the file's tensors (safetensors.lua)
-- Only the trainer reads the data after the header and compares them with the checksum.

local safetensors = require("base.safetensors")
local escape = require("base.escape")
local values = require("spec.values")

local M = {}

local CHECKSUM_DIGITS = 16
local EXPECTED = "a checkpoint that a trainer wrote; a path is relative to the file that names it"

-- The text of a field of the metadata if it matches the pattern, or nil.
local function get_text(file, name, pattern)
  local text = file.metadata[name]
  return type(text) == "string" and text:find(pattern) and text or nil
end

function M.read(context, node)
  local paths = context.files.init
  if not paths then
    return nil
  end
  local file, message = safetensors.open(paths.real)
  if not file then
    values.add_error(context, node, "init", ("cannot read %s%s"):format(paths.shown,
      escape.plain(message:sub(#paths.real + 1))), EXPECTED)
    return nil
  end
  local checksum = get_text(file, "checksum", "^%x+$")
  if not checksum or #checksum ~= CHECKSUM_DIGITS then
    values.add_error(context, node, "init", ("%s has no checksum"):format(paths.shown), EXPECTED,
      "trainer train --init FILE starts from any file of parameters, and the plan does not record this file")
    return nil
  end
  return { shown = paths.shown, checksum = checksum, model_digest = get_text(file, "model_digest", "^%x+$"),
    id = get_text(file, "id", "^[%w_]+$"), entries = file.entries }
end

return M
