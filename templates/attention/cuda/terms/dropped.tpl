% -- Dropout of the attention weights.
const unsigned char *keep; /* masks of the sequence's weights; NULL: no dropout */ % section("members_of_weights")
% section("set_members_of_weights")
const size_t bytes = ${attends.mask}_bytes(v->T);
a.keep = select_bits(block()->work.${attends.mask}, block()->${attends.index}, bytes) + sequence * bytes;
% section("dropout_factor")

/* The factor of a pair's weight after the softmax. */
INLINE real ${prefix}dropout_factor(const ${prefix}head *a, int i, int j) {
    return mask_bits(a->keep, (a->h * a->T + i) * a->${attends.keys} + j) & 1 ? ${rate}_KEEP_SCALE : 0;
}
if (!training) a.keep = NULL; % section("unless_training") % if attends.depends_on_mode
% section("weight_of_key")
${a}keep ? ${inner} * ${prefix}dropout_factor(${head}, i, ${j}) : ${inner} % if attends.depends_on_mode
${inner} * ${prefix}dropout_factor(${head}, i, ${j}) % else
const real keep = ${prefix}dropout_factor(&a, i, j); % section("keep")
keep * ${inner} % section("gradient_of_weight")
${inner} * keep % section("weight_of_value")
