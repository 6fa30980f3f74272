% local always = recomputed and recomputed.always
% include("parts/banner.tpl", { template = "attention/cpu/attention.inc.tpl", about = about.attention[name] })

/* Functions that layers call with the whole workspace:
 *
 *   attention_${name}            from rows of queries, keys and values to attended; stores values for the backward pass
 *   attention_${name}_backward   from the gradient of attended to the gradients of these rows
 *
 * They use the members step, sequences, ${queries.at}length, sums and ${name} of the workspace. ${name}_kept belongs to
 * the layer; l is the index of the layer in the stack.
 *
 * The functions process one head of one sequence at a time, with LANES queries in a vector and one key after another:
 * so sums over keys need no sums across lanes, and any head width fills the registers. Only the last group of queries
 * is padded. */

% include("attention/cpu/head.tpl")

% include("attention/cpu/logit.tpl")
% if terms.spans or terms.hides then

% include("attention/cpu/domain.tpl")
% end
% include("attention/cpu/shown.tpl")
% slot("rotate")

% slot("forward")
% slot("queries_grad")

% slot("back_to_queries")

% paragraph("attention/cpu/attend_pairs.tpl") % if paired
% include("attention/cpu/attend_keys.tpl")

% paragraph("attention/cpu/attend_backward_recomputed.tpl") % if recomputed
% paragraph("attention/cpu/attend_backward.tpl") % if not always
/* Advances the kept values to the next head. */
INLINE void skip_${name}_head(${name}_kept *kept, int T) {
    int groups = round_up(T, LANES) / LANES;
    if (kept->step) kept->weights += (size_t)groups * kept->step;
    % slot("skip_kept")
    kept->inverse_sum += kept->sums; % if terms.normalised
}

% include("attention/cpu/attention_heads.tpl")
