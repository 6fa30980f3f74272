-- Options that the task does not have, and choices that its options do not have.
return {
  task = { source = "../tasks/own/choices.c", options = { oder = "up", order = "dwon", base = "10" } },
}
