% local format_real = precision == "float64" and f64 or f32
/* x [tokens][WIDTH] = ${format_real(deviation)} times normal random numbers, which depend on the step in training and on the draw in evaluation. */
static void draw_start(const workspace *w, real *x) {
    const lh_draw *draw = &w->step->draw;
    const uint32_t train_site = lh_site(LH_DOMAIN_START, 0, 0);
    const uint32_t site = w->step->mode == LH_MODE_TRAIN ? train_site : lh_site(LH_DOMAIN_EVAL_START, draw->example, 0);
    for (int m = 0; m < w->tokens; m++)
        draw_normal(false, draw, site, w->block->first_example + (uint32_t)(m / w->length), m % w->length, WIDTH,
                ${format_real(deviation)}, x + m * WIDTH);
}
