-- An example: a cluster with many-core nodes and no GPUs; copy it, and change what your site calls differently.
return {
  partition = "standard",          -- sinfo shows yours
  account   = "my_project",        -- the account that jobs are charged to; leave it out if your site has none
  -- qos    = "normal",
  time      = "04:00:00",          -- limit of a task; a shorter limit makes more tasks of fewer runs
  cpus      = 16,                  -- cores of a task; as many runs of a cell train side by side, one thread each
  memory    = "16G",
  levels    = { "x86-64-v3" },     -- AVX2; use AVX-512, "x86-64-v4", if all nodes have it: runs keep their level
  max_tasks = 200,                 -- largest number of tasks in an array, so that other users get their turn
  -- further options of sbatch
  -- prologue = { "module load gcc/12" },  -- shell lines before a task begins
}
