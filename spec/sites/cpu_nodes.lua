-- An example: a cluster with many-core nodes and no GPUs; copy it, and change what your site calls differently.
return {
  partition = "standard",          -- sinfo shows yours
  account   = "my_project",        -- where jobs are charged; leave it out where your site has none
  -- qos    = "normal",
  time      = "04:00:00",          -- of a task: runs are packed so that they fit; a shorter one makes more tasks
  cpus      = 16,                  -- of a task; as many runs of a cell train side by side, one thread each
  memory    = "16G",
  levels    = { "x86-64-v3" },     -- AVX2; AVX-512, "x86-64-v4", where all nodes have it: runs go on at one level
  max_tasks = 200,                 -- of an array, so that others get their turn
  -- options  = { "--constraint=milan" },  -- anything else that sbatch takes
  -- prologue = { "module load gcc/12" },  -- lines of shell, before a task begins
}
