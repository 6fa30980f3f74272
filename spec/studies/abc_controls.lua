-- Controls that locate the effect of a calibrated bias: it is compared with biases that have one defect, and with
-- students without a bias.
--
-- Each task has three teachers (scale small: two), one per seed. Each bias made from a teacher has three students. The
-- biases `table`, `pairs` and `none` have no teacher: there, each value of the axis `teacher` is the seed of one run.
-- All cells except the teachers train for the same number of steps.
local short_training = { epochs = 4 } -- for all cells but the teachers, at every scale

-- The stage that calibrates a bias with one defect. control: the name of the defect (docs/calibration.md).
local function make_stage(control)
  return { name = control, cells = { bias = { control } }, from = "teachers", verb = "calibrate",
    options = { control = control }, seeds = { 0, 2 } }
end

return {
  title = "Calibrated biases and controls",
  base = {
    model = { use = "duan_encoder_decoder", encoder_layers = 0 },
    train = { use = "duan", epochs = 256 },
    eval = { use = "duan", splits = { "test", "validation" } },
  },
  axes = {
    { name = "task", use = "duan_tasks", only = { "successor", "addition" } },
    { name = "bias", values = {
      { name = "teacher", spec = { encoding = { use = "sinusoid" } } },
      { name = "calibrated", spec = { train = short_training } },
      { name = "values", spec = { train = short_training } },
      { name = "heads", spec = { train = short_training } },
      { name = "shifted", spec = { train = short_training } },
      { name = "random", spec = { train = short_training } },
      { name = "table", spec = { train = short_training, encoding = { use = "distance_table",
        cross = { use = "distance_table" } } } },
      -- Targets have 62 tokens, sources up to 125: the cross table has a number for each entry of a calibrated bias.
      { name = "pairs", spec = { train = short_training, encoding = { use = "pair_table",
        cross = { parameters = { columns = 128, bias = { shape = 8192 } } } } } },
      { name = "none", spec = { train = short_training, encoding = { use = "none" } } },
    } },
    { name = "teacher", use = "duan_seeds" },
  },
  stages = {
    { name = "teachers", cells = { bias = { "teacher" } } },
    { name = "calibrated", cells = { bias = { "calibrated" } }, from = "teachers", verb = "calibrate",
      seeds = { 0, 2 } },
    make_stage("values"), make_stage("heads"), make_stage("shifted"), make_stage("random"),
  },
  report = {
    metric = "exact_match", select = "validation",
    { kind = "numbers", rows = "bias", at = { 6, 10, 15, 20, 50 }, pages = "task", over = "teacher",
      title = "Exact match by significant digits" },
    { kind = "spread", rows = "bias", of = "teacher", pages = "task" },
    { kind = "curves", panels = "task", lines = "bias", over = "teacher", title = "Exact match by significant digits" },
  },
  scales = {
    small = {
      base = {
        task = { options = { width = 30, numbers = 4096 } },
        model = { decoder_layers = 1, heads = 2, width = 32, feedforward = 64, dropout = 0 },
        train = { epochs = 9, batch = 64, learning_rate = 4e-3 },
        eval = { by = { digits = { 1, 29 } }, examples = 20 },
      },
      axes = { task = { "successor" }, teacher = { 0, 1 } },
    },
  },
}
