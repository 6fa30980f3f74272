-- Ways to draw that contradict each other.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    kind = "relative",
    positions = { kind = "randomized", draw = "sequence", reading = "clamped", range = "one_based" },
  },
}
