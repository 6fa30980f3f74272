-- Measured speeds of trainers on this machine, recorded in the folder `speeds` of LONGHAND_CACHE or of the user's
-- cache, so that a later estimate needs no built trainer.
--
-- Input:
--   key          a text; trainers with equal keys share a measurement
--   conditions   the conditions of the measurement, plain data
--   rates        a result of `measure` in estimate.lua
-- M.read returns the recorded rates; nil without a valid record of this machine. M.write ignores errors.

local canonical = require("base.canonical")
local lists = require("base.lists")
local paths = require("base.paths")
local run_files = require("lab.study.read.run_files")
local sha256 = require("base.sha256")
local shapes = require("lab.study.read.shapes")
local tuned = require("render.builds.tuned")
local write = require("base.write")

local M = {}

local MAX_BYTES = 1 << 14 -- bytes of a record

local NUMBER = shapes.number({ above = 0, max = 1e30 })
-- the seconds of a step as a linear function of the step's operations (fit_line in estimate.lua)
local STEP_TIME = shapes.object({ step = shapes.number({ min = 0, max = 1e30 }), operation = NUMBER },
  { required = { "step", "operation" } })
local SHAPE = shapes.object({ id = shapes.text(64), side_by_side = NUMBER, train = NUMBER, eval = NUMBER,
  steps = NUMBER, length = NUMBER, lines = shapes.object({ train = STEP_TIME, eval = STEP_TIME },
    { required = { "train", "eval" } }) },
  { required = { "id", "side_by_side", "train", "eval", "steps", "length", "lines" } })

local function find_path(key, conditions)
  local folder = paths.find_cache("speeds")
  local text = canonical.format({ key = key, conditions = conditions, machine = tuned.read_machine().name })
  return folder and ("%s/%s.json"):format(folder, sha256.digest(text))
end

function M.read(key, conditions)
  local path = find_path(key, conditions)
  return path and run_files.read_json(path, path, MAX_BYTES, SHAPE) or nil
end

function M.write(key, conditions, rates)
  local path = find_path(key, conditions)
  return path and write.file(path, canonical.format(lists.merge(rates)))
end

return M
