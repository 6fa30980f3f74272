-- An example: a cluster with many-core nodes and no GPUs. Copy this file and replace its values by those of your site.
return {
  partition = "standard",          -- sinfo lists the partitions of a site
  account   = "my_project",        -- the account that jobs are charged to; leave it out if your site has none
  -- qos    = "normal",
  -- time   = "04:00:00",          -- limit of a task; without it, twice the time that is estimated for its runs
  cpus      = 16,                  -- cores of a task; this number of runs train side by side, one thread each
  memory    = "16G",
  levels    = { "x86-64-v3" },     -- AVX2; "x86-64-v4" (AVX-512) only if all nodes have it: a run keeps its level
  max_tasks = 200,                 -- largest number of tasks in an array, so that other users get their turn
  -- options = { "--constraint=milan" },   -- further options of sbatch
  -- prologue = { "module load gcc/12" },  -- shell lines before a task begins
}
