-- An example: a cluster with NVIDIA GPUs, one for each task. Copy this file and replace its values by those of your
-- site.
return {
  partition     = "gpu",
  account       = "my_project",
  qos           = "normal",
  time          = "1-00:00:00",           -- days-hours:minutes:seconds
  gpus          = 1,                      -- a trainer computes on one GPU
  architectures = { "sm_80", "sm_90" },   -- the GPUs of the site: A100, H100
  levels        = { "x86-64-v3" },        -- the processors of the nodes, which prepare the batches
  cpus          = 8,                      -- threads that prepare batches
  memory        = "32G",
  replicas      = 32,                     -- runs of a cell that train side by side on the GPU
  prologue      = { "module load cuda/12" },
  scratch       = "/scratch/$USER",       -- TMPDIR, and the driver's cache of compiled code
}
