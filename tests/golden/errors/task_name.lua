-- A file whose name is not a name of a C function.
return {
  task = { source = "../tasks/own/First-Repeat.c" },
}
