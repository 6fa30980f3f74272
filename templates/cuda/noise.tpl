enum { NOISE_DOMAIN = 7u }; /* LH_DOMAIN_EVAL_NOISE, stored in bits 24 and above of a site */

/* Samples a quad of standard normal numbers for an evaluation.
 *   place         index of the embedding
 *   quad_number   index of the quad in an example's vectors, [T][WIDTH / 4] */
INLINE quad draw_noise(unsigned int example, unsigned int place, unsigned int quad_number) {
    const lh_cuda_step *in = &block()->step;
    return normal_quad(in->key, in->step, in->first + example, NOISE_DOMAIN << 24 | in->draw << 8 | place, quad_number);
}
% if noise == "relative" then

% local parameters = embeds_linearly and "const real *table, const real *bias, int token" or "const real *table, int token, real scale"
% local operation_words = embeds_linearly and " plus the bias" or ", times scale"
/* The root mean square of a token's vector in the table${operation_words}. */
INLINE real embedded_size(${parameters}) {
    real sum = 0;
    for (int c = 0; c < WIDTH; c++) {
% if embeds_linearly and task.blank_count > 0 then
        const real x = bias[c] + (token >= BLANKS ? table[(token - BLANKS) * WIDTH + c] : 0);
% elseif embeds_linearly then
        const real x = bias[c] + table[token * WIDTH + c];
% else
        const real x = table[token * WIDTH + c] * scale;
% end
        sum += x * x;
    }
    return sqrt_real(sum / WIDTH);
}
% end
