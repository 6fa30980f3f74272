-- Contextual position encoding (Golovneva et al. 2024): the position of a key is a sum of gates from this key up to the
-- query's own token, each computed from the query and a key; a learned table is read at this sum.
return {
  mask = { kind = "causal" },
  relative = { kind = "cope", rows = 64 },
}
