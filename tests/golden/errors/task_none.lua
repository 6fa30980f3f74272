-- A task that is not named.
return {
  task = {},
}
