-- Factors on which calibration (docs/calibration.md) and windows depend: each cell changes one factor of a base cell.
--
-- The base cell is a student with new parameters and without positions, under a bias that is calibrated by a vanilla
-- teacher. Frame, model and training of the base cell are those of the released code. A cell that changes only the
-- student shares the teacher of the base cell. A cell that changes the model, the number base or the learning rate has
-- a teacher with the same change. Students in a frame of 200 have a teacher in a frame of 50. Windows have no teacher.
-- In bases 4 and 16 the longest training numbers have 10 and 5 digits, so there calibration reads lines from 10 and 5
-- rows, not from 6.

-- The roles in which a factor is run.
local pair = { role = { "teacher", "student" } }
local teacher, student, untaught = { role = { "teacher" } }, { role = { "student" } }, { role = { "alone" } }

local function set_base(base) return { task = { options = { base = base } } } end

-- The configuration named `use`, with windows of this width.
local function set_window(use, width)
  return { encoding = { use = use, decoder = { mask = { left = width } }, cross = { mask = { width = width } } } }
end

local function set_period(period) return { encoding = { use = "abc_c", positions = { period = period } } } end

local digits = { 6, 10, 15, 20, 50 }

return {
  title = "Calibration and windows, one factor at a time",
  base = {
    task = { kind = "successor" },
    model = { use = "duan_encoder_decoder", encoder_layers = 0 },
    train = { use = "duan", epochs = 256 },
    eval = { use = "duan", splits = { "test", "validation" },
      during = { every = 128, splits = { "validation" }, examples = 1000 } },
  },
  axes = {
    { name = "role", values = {
      { name = "teacher", spec = { encoding = { use = "sinusoid" } } },
      { name = "student", spec = { train = { epochs = 4 } } },
      { name = "alone", spec = { train = { epochs = 16 } } },
    } },
    { name = "factor", values = {
      { name = "base", spec = {}, with = pair },
      { name = "encoding", spec = {}, with = student }, -- the student has the encoding of the teacher
      { name = "tuned", spec = {}, with = student }, -- the student has the teacher's encoding and parameters
      { name = "frame-50", with = teacher, spec = { task = { options = { width = 50 } },
        eval = { by = { digits = { 1, 49 } } } } },
      { name = "frame-200", with = student, spec = { task = { options = { width = 200 } },
        eval = { by = { digits = { list = { 1, 2, 3, 4, 5, 6, 7, 10, 15, 20, 50, 100, 199 } } } } } },
      { name = "encoder", spec = { model = { encoder_layers = 1 } }, with = pair },
      { name = "rate-1e-5", spec = { train = { learning_rate = 1e-5 } }, with = pair },
      { name = "width-64", spec = { model = { width = 64, feedforward = 256 } }, with = pair },
      { name = "width-256", spec = { model = { width = 256, feedforward = 1024 } }, with = pair },
      { name = "layers-3", spec = { model = { decoder_layers = 3 } }, with = pair },
      { name = "base-4", spec = set_base(4), with = pair },
      { name = "base-8", spec = set_base(8), with = pair },
      { name = "base-16", spec = set_base(16), with = pair },
      { name = "b-w1", spec = set_window("abc_b", 1), with = untaught },
      { name = "b-w2", spec = set_window("abc_b", 2), with = untaught },
      { name = "b-w4", spec = set_window("abc_b", 4), with = untaught },
      { name = "c-t3", spec = set_period(3), with = untaught },
      { name = "c-t2", spec = set_period(2), with = untaught },
      { name = "c-t8", spec = set_period(8), with = untaught },
      { name = "d-w1", spec = set_window("abc_d", 1), with = untaught },
      { name = "d-w2", spec = set_window("abc_d", 2), with = untaught },
      { name = "d-w4", spec = set_window("abc_d", 4), with = untaught },
    } },
    { name = "seed", use = "duan_seeds" },
  },
  stages = {
    { name = "teachers", cells = { role = { "teacher" }, factor = { "base" } } },
    { name = "narrow_teachers", cells = { role = { "teacher" }, factor = { "frame-50" } } },
    { name = "own_teachers", cells = { role = { "teacher" }, factor = { "encoder", "rate-1e-5", "width-64", "width-256",
      "layers-3", "base-4", "base-8", "base-16" } } },
    { name = "students", cells = { role = { "student" }, factor = { "base" } }, from = "teachers", verb = "calibrate" },
    { name = "encoding", cells = { role = { "student" }, factor = { "encoding" } }, from = "teachers",
      verb = "calibrate", options = { positions = "keep" } },
    { name = "tuned", cells = { role = { "student" }, factor = { "tuned" } }, from = "teachers", verb = "calibrate",
      options = { init = true } },
    { name = "wide_students", cells = { role = { "student" }, factor = { "frame-200" } }, from = "narrow_teachers",
      verb = "calibrate" },
    { name = "own_students", cells = { role = { "student" }, factor = { "encoder", "rate-1e-5", "width-64",
      "width-256", "layers-3", "base-8" } }, from = "own_teachers", verb = "calibrate" },
    { name = "base_4", cells = { role = { "student" }, factor = { "base-4" } }, from = "own_teachers",
      verb = "calibrate", options = { set = { "rows=10" } } },
    { name = "base_16", cells = { role = { "student" }, factor = { "base-16" } }, from = "own_teachers",
      verb = "calibrate", options = { set = { "rows=5" } } },
  },
  report = {
    metric = "exact_match", select = "validation",
    { kind = "numbers", rows = "factor", at = digits, pages = "role", over = "seed",
      title = "Exact match by significant digits" },
    { kind = "numbers", rows = "factor", at = { 50, 100, 199 }, where = { role = "student" },
      only = { factor = { "frame-200" } }, over = "seed", title = "In a frame of 200, taught in one of 50" },
    { kind = "reached", rows = "factor", threshold = 99.9, split = "validation", pages = "role", over = "seed",
      title = "Training to 99.9% exact match, held out" },
    { kind = "progress", lines = "factor", splits = { "validation" }, pages = "role", over = "seed" },
  },
  scales = {
    small = {
      base = {
        task = { options = { width = 30, numbers = 4096 } },
        model = { decoder_layers = 1, heads = 2, width = 32, feedforward = 64, dropout = 0 },
        train = { epochs = 9, batch = 64, learning_rate = 4e-3 },
        eval = { by = { digits = { 1, 29 } }, examples = 20, during = { every = 28, examples = 100 } },
      },
      axes = { factor = { "base", "encoding", "tuned", "frame-50", "frame-200", "base-4", "c-t3" }, seed = { 0 } },
    },
  },
}
