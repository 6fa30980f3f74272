-- A file whose name is no name of a C function.
return {
  task = { source = "../tasks/own/First-Repeat.c" },
}
