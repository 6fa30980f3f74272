static void update(const lh_update *u, size_t first, size_t count, lh_update_sums *sums) {
    static const adam constants = {${f64(optimizer.beta1)}, ${f64(optimizer.beta2)}, ${f64(optimizer.epsilon)}};
% if clip.kind == "global_norm" then
    static const double MAX_NORM = ${f64(clip.max_norm)};
    double clip = u->gradient_norm < MAX_NORM ? 1 : MAX_NORM / u->gradient_norm;
    adam_update(u, constants, clip, first, count, sums);
% else
    adam_update(u, constants, 1, first, count, sums);
% end
}
