-- Facet `relative`: vectors of a pair's signed distance in its logit.
--
-- Input: the resolved encoding, the family with its positions, the model's width. Output:
--   kind       "none", "transformer_xl", "shaw"
--   toeplitz   a pair's row depends on key - query alone, so that neighbouring queries have neighbouring rows
--   turned     transformer_xl by differences of positions: a pair has no row, queries are turned by their positions
--   sets       how many sets of distances a step has: one for each layer, or one that all layers share
--   width      channels of a row: all heads side by side (transformer_xl), or one head's, shared by the heads (shaw)
--   biases     transformer_xl: content and position bias
--   vectors    of a head's width that the keys' pass reads per query: output gradient, query with each bias
--   behind     rows are made in begin_step, behind the struct shared
--   clip, rows, room   shaw: farthest distance, rows of the table, elements of it rounded up to vectors
--   left       shaw: only keys up to the query have vectors; rows_text: how many rows, as C text;
--              farthest: the farthest distance to the right that has one
--   init_sigma shaw: of the table's first values
-- and words for the templates.

local M = {}

local WIDEST_VECTOR = 16

local function sets(distance, positions, layers)
  local draws = distance.kind == "difference" and positions.draws or distance.draws or layers
  return draws >= layers and layers or 1
end

local NONE = { kind = "none", toeplitz = false, turned = false, biases = false, behind = false, vectors = 2 }

local function add_words(plan)
  plan.sets_words = plan.sets == 1 and ", shared by all layers" or ", one for each layer"
  plan.width_words = plan.biases and "all heads side by side" or "the heads share it"
  plan.behind_words = not plan.biases and "the rows of each layer"
    or plan.turned and "the sinusoids of the sets' keys, and of their queries, channel by channel"
    or "the sets' sinusoids, the layers' rows, and these before they are transposed"
end

function M.plan(encoding, family, width)
  local relative, positions = encoding.relative, family.positions
  local distance = positions.distance
  if relative.kind == "none" then
    return NONE
  end
  local toeplitz, biases = distance.kind ~= "difference", relative.kind == "transformer_xl"
  local plan = {
    kind = relative.kind,
    toeplitz = toeplitz,
    turned = biases and not toeplitz,
    sets = sets(distance, positions, family.layers),
    biases = biases,
    behind = toeplitz or biases,
    width = width,
    vectors = biases and 3 or 2,
  }
  if relative.kind == "shaw" then
    plan.width = family.head_width
    plan.clip = relative.clip
    plan.left = relative.sides == "left"
    plan.rows = plan.left and relative.clip + 1 or 2 * relative.clip + 1
    plan.rows_text = ("%s%sCLIP + 1"):format(plan.left and "" or "2 * ", family.PREFIX)
    plan.farthest = plan.left and "0" or family.PREFIX .. "CLIP"
    plan.init_sigma = relative.init_sigma or math.sqrt(2 / (plan.rows + plan.width))
    plan.room = (plan.rows * plan.width + WIDEST_VECTOR - 1) // WIDEST_VECTOR * WIDEST_VECTOR
  end
  add_words(plan)
  return plan
end

return M
