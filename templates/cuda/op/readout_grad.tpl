classify_backward(${x}, ${is_added} ? (parameters *)(real *)b->work.readout_more : (parameters *)b->gradient);
if (${is_added}) {
    const parameters *more = (const parameters *)(real *)b->work.readout_more;
% if device.class_table then
    add_numbers(CLASSES * WIDTH, more->${device.class_table} + OUTPUT_TOKEN * WIDTH, b->gradient->${device.class_table} + OUTPUT_TOKEN * WIDTH);
% else
    for (int e = threadIdx.x; e < WIDTH * CLASSES; e += THREADS) {
        const int at = e / CLASSES * CLASS_COLUMNS + e % CLASSES;
        b->gradient->output[at] += more->output[at];
    }
    add_numbers(CLASSES, more->output_bias, b->gradient->output_bias);
% end
}
