-- Two answers to one question.
return {
  task = { kind = "bucket_sort", source = "../tasks/own/first_repeat.c" },
}
