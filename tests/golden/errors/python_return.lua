-- Fields alone, as a module of Python has them; # below is Lua's length, and no comment.
local sizes = { 1, 2 }
{
  task = { kind = "bucket_sort" },
  train = { steps = #sizes, batch = 2 }, // half
}
