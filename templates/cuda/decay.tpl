% if optimizer.spared then
/* Whether element e does not decay: ${optimizer.spared_text}. */
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
    return (real)(step->rate * (1 - whole_power(${f64(optimizer.corrects[1])}, step->step + 1)) * ${f64(optimizer.decay)});
}
% else
/* The share of each parameter that weight decay subtracts in this step: learning rate * decay. */
INLINE real decay_share(void) { return (real)(block()->step.rate * ${f64(optimizer.decay)}); }
% end

/* The share for each of a thread's four elements of a piece. */
% define("INLINE quad decay_of_piece", "int piece", "real share")
    quad shares;
% if optimizer.spared then
    const int first = piece * PIECE + 4 * (int)threadIdx.x;
#pragma unroll
    for (int i = 0; i < 4; i++) shares.v[i] = is_spared(first + i) ? 0 : share;
% else
#pragma unroll
    for (int i = 0; i < 4; i++) shares.v[i] = share;
% end
    return shares;
}
