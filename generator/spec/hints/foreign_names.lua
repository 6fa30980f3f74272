-- Names that other languages and libraries use for Lua's words, fields of a spec, and flags of a trainer.
--
-- Input: a user's word, such as --lr or num_heads; the repository's root. Output: the meanings of the word in Longhand.
-- Words for flags are in runtime/cli/usual_flags.c, which this module reads; trainers use it for hints, too.
-- M.FIELDS adds names of fields in other libraries and in papers. Invariants: pure functions, except that they read
-- usual_flags.c; a word that is in no table has no meaning.

local lists = require("base.lists")
local optimizers = require("spec.optimizers")
local write = require("base.write")

local M = {}

-- Words that begin a statement of another language, and the equivalents in Lua.
M.STATEMENTS = {
  import = "no import: a spec loads no modules, but may use presets: use = \"quick\"",
  from = "no import: a spec loads no modules, but may use presets: use = \"quick\"",
  def = "local function name(x) return ... end", class = "a table: { name = value, ... }",
  elif = "elseif", except = "nothing: a spec has no errors to catch", try = "nothing: a spec has no errors to catch",
  const = "local name = value", let = "local name = value", var = "local name = value",
}

-- Names of another language, or of a library, and the equivalents here.
M.NAMES = {
  True = "true", False = "false", ["None"] = "nil, or leave the field out", null = "nil, or leave the field out",
  range = "{ first, last } for lengths, or { first, last, step = n }", dict = "{ name = value, ... }",
  list = "{ 1, 2, 3 }", tuple = "{ 1, 2, 3 }", len = "#list", lambda = "function(x) return ... end",
  math = "exp(x), log(x), sqrt(x), abs(x), without the prefix `math.`",
  string = "texts joined with `..`; a spec has no string functions",
  softplus = "-log_sigmoid(-x), which is log(1 + exp(x)) without its overflow",
  torch = "the functions of a score: exp(x), log(x), abs(x)",
}
M.NAMES.np, M.NAMES.jnp, M.NAMES.numpy, M.NAMES.tf = M.NAMES.torch, M.NAMES.torch, M.NAMES.torch, M.NAMES.torch
M.NAMES.print = "no output; ./longhand check --print SPEC prints a spec"

-- Rows { field, words that mean the field, second field }; the second field, in some rows, is a less likely meaning of
-- the words. A word in several rows has the meaning of the first of these rows.
M.FIELDS = {
  { "train.learning_rate", "lr step_size base_lr peak_lr max_lr init_lr" },
  { "train.batch", "batch_size bs batchsize minibatch train_batch_size per_device_train_batch_size" },
  { "train.steps", "max_steps num_steps n_steps total_steps training_steps num_train_steps iterations iters max_iters "
    .. "num_iterations" },
  { "train.epochs", "num_epochs n_epochs max_epochs num_train_epochs" },
  { "train.optimizer", "optim optimiser" },
  { "train.schedule", "schedule scheduler lr_scheduler lr_schedule learning_rate_schedule lr_decay" },
  { "train.schedule.kind", "lr_scheduler_type scheduler_type decay_type" },
  { "train.schedule.warmup", "warmup warmup_steps warm_up num_warmup_steps warmup_iters lr_warmup" },
  { "train.schedule.final", "min_lr_ratio final_lr_ratio end_factor min_lr eta_min final_lr" },
  { "train.clip.max_norm", "grad_clip clip_grad max_grad_norm gradient_clipping gradient_clip_val clip_norm" },
  { "train.log_every", "log_interval log_freq logging_steps log_steps print_every" },
  { "train.checkpoint.every", "save_every save_steps save_interval checkpoint_every checkpoint_interval ckpt_every" },
  { "train.checkpoint.best", "save_best keep_best best_checkpoint load_best_model_at_end metric_for_best_model" },
  { "train.patience", "early_stopping early_stopping_patience early_stop" },
  { "train.lengths", "train_lengths train_length max_train_length min_length" },
  { "train.shards", "grad_accum gradient_accumulation_steps accumulate_grad_batches" },
  { "eval.lengths", "eval_lengths test_lengths test_length max_test_length eval_length" },
  { "eval.examples", "eval_examples num_eval_examples num_samples n_samples eval_size" },
  { "eval.batch", "eval_batch_size test_batch_size per_device_eval_batch_size" },
  { "eval.during.every", "eval_every eval_interval eval_steps eval_freq val_every val_check_interval" },
  { "model.layers", "num_layers n_layers n_layer nlayers num_hidden_layers num_blocks n_blocks depth encoder_layers" },
  { "model.heads", "num_heads n_heads n_head nhead nheads num_attention_heads attention_heads" },
  { "model.width", "d_model hidden_size hidden_dim embed_dim embedding_dim embedding_size emb_dim n_embd n_embed dim "
    .. "model_dim d_embed channels" },
  { "model.feedforward", "dim_feedforward d_ff d_ffn ff_dim ffn_dim ffn_hidden_size intermediate_size mlp_dim d_mlp "
    .. "hidden_mult mlp_ratio widening_factor" },
  { "model.norm", "norm_type normalization normalisation layer_norm layernorm rmsnorm rms_norm norm_layer" },
  { "model.norm.place", "norm_first pre_norm prenorm pre_ln post_norm" },
  { "model.activation", "act hidden_act act_fn activation_function ffn_activation nonlinearity mlp_act" },
  { "model.bias", "use_bias add_bias attention_bias qkv_bias bias_terms" },
  { "model.init", "initialization initialisation weight_init initializer init_scheme" },
  { "model.tied", "tie_embeddings tie_weights tie_word_embeddings tied_embeddings weight_tying share_embeddings" },
  { "model.dropout", "dropout_rate dropout_prob dropout_p hidden_dropout_prob resid_pdrop p_drop" },
  { "model.attention_dropout", "attn_dropout attn_pdrop attention_probs_dropout_prob attention_dropout_rate" },
  { "model.hidden_dropout", "activation_dropout relu_dropout ffn_dropout ff_dropout mlp_dropout" },
  { "model.embedding_dropout", "embd_pdrop emb_dropout embed_dropout embedding_dropout_rate" },
  { "encoding.rotation.base", "theta rope_theta rope_base rotary_base rotary_emb_base" },
  { "encoding.rotation.scaling", "rope_scaling" },
  { "encoding.positions.max_position", "max_len maxlen max_length num_positions n_positions max_positions "
    .. "noise_max_length", "encoding.additive.rows" },
  { "encoding.additive.rows", "num_embeddings max_position_embeddings" },
  { "encoding.additive.init_sigma", "init_std initializer_range init_scale" },
  { "encoding", "pos_encoding position_encoding positional_encoding pos_enc pe pos_emb position_embedding "
    .. "position_embedding_type positional_encodings" },
  { "encoding.mask.kind", "causal is_causal attention_mask attn_mask" },
  { "encoding.mask.left", "window window_size sliding_window" },
  { "encoding.score", "bias attention_bias attn_bias score_mod" },
  { "encoding.relative.clip", "max_relative_position clip_distance max_distance" },
  { "task.kind", "task_name" },
  { "task.data", "dataset data_path train_file train_data data_file" },
  { "task.eval", "test test_file test_data eval_file eval_data" },
  { "task.validation", "val valid validation_file valid_file val_file validation_data val_data" },
  { "precision", "dtype torch_dtype fp16 bf16 amp float_type" },
}
lists.append(M.FIELDS, lists.map(optimizers.fields, function(field) return { field.path, field.words } end))

local SCHEDULED_STEPS = "train.schedule falls until train.steps; train.schedule.warmup is a number of steps"
local NO_LENGTH = "lengths are those of train.lengths and eval.lengths; encoding.positions.max_position is the range "
  .. "of random positions"

-- Settings of other libraries that Longhand does not have: rows { reason, names of the settings }.
local MISSING_SETTINGS = {
  { SCHEDULED_STEPS, "warmup_ratio decay_steps lr_decay_steps t_max" },
  { "momentum is a plain running sum of gradients, without dampening or Nesterov's form", "nesterov dampening" },
  { NO_LENGTH, "max_len maxlen max_length max_seq_len max_seq_length seq_len seq_length sequence_length "
    .. "block_size context_length context_size" },
  { "a head's width is model.width / model.heads", "head_dim d_head head_width d_k d_v dim_head d_kv head_size" },
  { "the task defines its alphabets: ./longhand list tasks", "vocab_size vocab n_vocab num_tokens num_classes" },
  { "a spec is named after its file", "name id title run_name experiment_name" },
  { "norms have epsilon 1e-5", "layer_norm_eps norm_eps rms_norm_eps layernorm_epsilon" },
}

-- The words of usual_flags.c, with _ in place of -: a table from each word to the list of its meanings, flags or paths
-- of fields, in the order of the file.
function M.read_flags(root)
  local words = {}
  local text = write.read(root .. "/runtime/cli/usual_flags.c") or ""
  for row, meaning in text:gmatch('\n%s*{"([%w- ]+)",%s+"([^"]+)"}') do
    for word in row:gmatch("%S+") do
      lists.append_to(words, (word:gsub("-", "_")), meaning)
    end
  end
  return words
end

-- A table from each word of the rows to its meaning in the first row that has the word.
local function index_words(rows, get_meaning)
  local words = {}
  for _, row in ipairs(rows) do
    for word in row[2]:gmatch("%S+") do
      words[word] = words[word] or get_meaning(row)
    end
  end
  return words
end

local fields = index_words(M.FIELDS, function(row) return { row[1], row[3] } end)
local missing_settings = index_words(MISSING_SETTINGS, function(row) return row[1] end)
local flags_by_root = {} -- the results of M.read_flags, by the repository's root

-- Returns { fields, flags, hint }: the paths of the fields that a word means, the likeliest first; flags with their
-- values ("--device cuda"); a hint, if Longhand has no such setting.
function M.find_meanings(word, root)
  word = word:lower():gsub("^%-+", ""):gsub("%-", "_")
  flags_by_root[root] = flags_by_root[root] or M.read_flags(root)
  local meanings = { fields = table.move(fields[word] or {}, 1, 2, 1, {}), flags = {}, hint = missing_settings[word] }
  for _, meaning in ipairs(flags_by_root[root][word] or {}) do
    table.insert(meaning:find("^%-%-") and meanings.flags or meanings.fields, meaning)
  end
  return meanings
end

return M
