-- A wrong value in a base is shown where it stands.
return {
  use = "./bases/wide.lua",
  task = { kind = "bucket_sort" },
}
