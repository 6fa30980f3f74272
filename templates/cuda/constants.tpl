% local format_real = precision == "float64" and f64 or f32
#define ${scale.name} ${format_real(scale.value)} /* ${scale.text} */ % for _, scale in ipairs(embedding_scales)
% for _, family in ipairs(attentions) do
% -- attention that visits keys outwards from the query has a learned scale instead
% if not family.terms.visits_outwards then
#define ${family.PREFIX}LOGIT_SCALE ${format_real(family.logit_scale)} /* 1 / sqrt(${family.PREFIX}HEAD_WIDTH)${family.tempered} */
% end
% end
% for _, d in ipairs(dropouts) do
#define ${d.name}_KEEP_SCALE ${format_real(d.keep_scale)} /* 1 / (1 - p), p = ${d.rate_text} */
enum { ${d.name}_DROP_BELOW = ${d.threshold} }; /* elements with 16 random bits below this number are dropped */
% end
% if device.has_dropout then
enum { DROPOUT_DOMAIN = 3u }; /* LH_DOMAIN_DROPOUT, stored in bits 24 and above of a site */
enum { EVAL_DROPOUT_DOMAIN = 6u }; /* LH_DOMAIN_EVAL_DROPOUT */ % if eval_dropout
% end
% for _, number in ipairs(optimizer.numbers) do
#define ${number.name} ((real)(1 - ${f64(number.complement)})) % if number.complement
#define ${number.name} ${format_real(number.value)} % else
% end
% if clip.kind == "global_norm" then
#define MAX_NORM ${f64(clip.max_norm)} /* gradients with a greater norm are clipped to this norm */
% end
