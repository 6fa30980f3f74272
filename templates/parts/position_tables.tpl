% include("parts/position_row.tpl")

static int position_rows(int max_length) {
% if attentions[2] then
    int rows = max_length;
% for _, family in ipairs(attentions) do
% if family.positions.max_position or family.positions.distance.max_position then
    rows = rows > ${family.PREFIX}MAX_POSITION ? rows : ${family.PREFIX}MAX_POSITION;
% end
% end
    return rows;
% elseif max_position then
    (void)max_length;
    return MAX_POSITION;
% else
    return max_length;
% end
}

static size_t tables_bytes(int max_length) { return (size_t)position_rows(max_length) * sizeof(position_row); }

% if sinusoids then
/* Ruoss et al. 2023: frequency 10000^(-2m / WIDTH), sines in the first half, cosines in the second. */
static void make_sinusoid(int position, real *row) {
    const double step = lh_log(10000.0) * 2 / WIDTH;
    for (int m = 0; m < WIDTH / 2; m++) {
        double sine, cosine;
        lh_sincos(position * lh_exp(-m * step), &sine, &cosine);
        row[m] = (real)sine;
        row[WIDTH / 2 + m] = (real)cosine;
    }
}

% end
% for _, family in ipairs(attentions) do
% if family.rotation.kind == "rope" then
% include("parts/make_rotation.tpl", family)

% end
% end
static void make_tables(void *tables, int max_length) {
    position_row *row = tables;
    for (int position = 0; position < position_rows(max_length); position++) {
% if sinusoids then
        make_sinusoid(position, row[position].sinusoid);
% end
% for _, family in ipairs(attentions) do
% if family.rotation.kind == "rope" then
        make_${family.prefix}rotation(position, row[position].${family.prefix}rotation);
% end
% end
    }
}
