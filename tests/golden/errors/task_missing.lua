-- A file that is not there.
return {
  task = { source = "../tasks/own/second_repeat.c" },
}
