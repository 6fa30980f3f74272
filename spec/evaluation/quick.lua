-- A dozen lengths, within the training lengths and beyond them.
return {
  lengths = { list = { 10, 20, 30, 40, 50, 60, 80, 100, 120, 150, 175, 200 } },
  examples = 64,
  draws = 4,
}
