% local first = input_draw.first == 1 and "FIRST_POSITION" or "0"
% local range = "MAX_POSITION" .. (input_draw.first == 1 and " - 1" or "")
/* Samples the positions of a stream's tokens, or copies given positions. Each position selects a vector that is
 * added to its token's vector. */
static void draw_input_positions(const lh_cpu_step *step, int stream) {
    static const uint32_t site[] = {${streams[1].first_site}, ${streams[2].first_site}};
    shared *s = step->shared;
    int count = step->shape.length[stream];
    lh_draw_or_copy_positions(step->positions[stream], &step->draw, site[stream], ${first}, ${range}, count,
            ${input_draw.sorted_text}, s->input_position[stream], s->input_scratch[stream]);
}
