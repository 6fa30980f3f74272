-- A task file whose header is wrong.
return {
  task = { source = "../tasks/own/no_lengths.c" },
}
