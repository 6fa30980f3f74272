-- A dozen lengths, inside the training range and beyond.
return {
  lengths = { list = { 10, 20, 30, 40, 50, 60, 80, 100, 120, 150, 175, 200 } },
  examples = 64,
  draws = 4,
}
