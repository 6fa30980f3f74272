return {
  title = "a grid",
  axes = { { name = "heads", values = {} } },
}
