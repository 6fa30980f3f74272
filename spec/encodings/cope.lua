-- Contextual position encoding (Golovneva et al. 2024): a query counts the keys from each key up to its own token, with
-- gates that depend on both, and reads a learned table at this count.
return {
  mask = { kind = "causal" },
  relative = { kind = "cope", rows = 64 },
}
