-- The kinds of terms in an attention, and the rank of each kind.
--
-- Output: a list of { name, rank, about }. A skeleton includes, in each slot, the text of its terms in the order of
-- their ranks; terms of one kind keep the order in which they were added. Sums of floats follow this order, so ranks
-- determine the bits of results.

return {
  { name = "position_source", rank = 10, about = "where tokens stand, and how far apart those of a pair are" },
  { name = "contribution", rank = 20, about = "what the network makes for the attention of a block's input" },
  { name = "row_map", rank = 30, about = "rows of queries and keys before their products" },
  { name = "pair_vector", rank = 40, about = "what the logit of a pair gains by a vector and its query" },
  { name = "row_source", rank = 45, about = "what the rows of a pair vector are made of" },
  { name = "pair_scalar", rank = 50, about = "what becomes of the logit of a pair" },
  { name = "domain", rank = 60, about = "which pairs there are" },
  { name = "row_function", rank = 70, about = "how the logits of a query become weights" },
  { name = "weight_map", rank = 80, about = "what becomes of a weight" },
}
