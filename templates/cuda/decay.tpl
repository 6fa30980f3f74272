% if optimizer.spared then
/* Whether weight decay leaves out element e: ${optimizer.spared_text}. */
INLINE bool is_spared(int e) {
    bool found = false;
    if (e >= ${range.first} && e <= ${range.last}) found = true; % for _, range in ipairs(optimizer.spared)
    return found;
}

% end
% if optimizer.corrects then
/* The share of each parameter that weight decay subtracts in this step: learning rate * decay. step->rate is the
 * learning rate / (1 - beta1^t). */
INLINE real decay_share(void) {
    const lh_cuda_step *step = &block()->step;
    return (real)(step->rate * (1 - integer_power(${f64(optimizer.corrects[1])}, step->step + 1)) * ${f64(optimizer.decay)});
}
% else
/* The share of each parameter that weight decay subtracts in this step: learning rate * decay. */
INLINE real decay_share(void) { return (real)(block()->step.rate * ${f64(optimizer.decay)}); }
% end

/* Writes the share for each element that this thread updates in the piece. */
% define("INLINE void spread_decay", "int piece", "real share", "real shares[PIECE_PART]")
#pragma unroll
    for (int i = 0; i < PIECE_PART; i++) shares[i] = is_spared(piece * PIECE + piece_element(i)) ? 0 : share; % if optimizer.spared
    for (int i = 0; i < PIECE_PART; i++) shares[i] = share; % else
}
