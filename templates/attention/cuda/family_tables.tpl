% if relative.kind == "transformer_xl" then
reals ${prefix}codes; /* [${PREFIX}RELATIVE_SETS][distances][WIDTH] sinusoids of signed distances */
% end
% if relative.kind ~= "none" then
% local heads_of = relative.biases and ("[%sHEADS]"):format(PREFIX) or ""
reals ${prefix}rows; /* [${stack.count}]${heads_of}[distances][${PREFIX}HEAD_WIDTH] vectors of distances */
% end
% if relative.biases then
real *${prefix}row_bias; /* [${stack.count}][${PREFIX}HEADS][distances] of a row with the position bias, times ${PREFIX}LOGIT_SCALE */
% end
% if score.kind ~= "none" then
char *${prefix}score; /* ${PREFIX}SCORE_SETS sets of score_tables */
% if score.trains then
reals ${prefix}scratch; /* of end_score */
% end
% end
