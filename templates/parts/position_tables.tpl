% include("parts/position_row.tpl")

/* The number of positions that can occur. */
static int count_positions(const int longest[LH_MAX_STREAMS]) {
% if attentions[2] then
    int rows = longest[0] > longest[1] ? longest[0] : longest[1];
    rows = rows > MAX_POSITION ? rows : MAX_POSITION; % if input_draw and input_draw.is_separate
% for _, family in ipairs(attentions) do
% if family.positions.bound or family.positions.distance.bound then
    rows = rows > ${family.PREFIX}MAX_POSITION ? rows : ${family.PREFIX}MAX_POSITION;
% end
% end
    return rows;
% elseif any_draws then
    return MAX_POSITION;
% else
    return longest[0];
% end
}

static size_t tables_bytes(const int longest[LH_MAX_STREAMS]) {
    return (size_t)count_positions(longest) * sizeof(position_row);
}

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
% paragraph("parts/make_place.tpl") % if additive.member == "place"
% for _, family in ipairs(attentions) do
% paragraph("parts/make_rotation.tpl", family) % if family.rotation.kind == "rope"
% end
static void make_tables(void *tables, const int longest[LH_MAX_STREAMS]) {
    position_row *row = tables;
    for (int position = 0; position < count_positions(longest); position++) {
        make_sinusoid(position, row[position].sinusoid); % if sinusoids
        make_place(position, row[position].place); % if additive.member == "place"
% for _, family in ipairs(attentions) do
% if family.rotation.kind == "rope" then
        make_${family.prefix}rotation(position, row[position].${family.prefix}rotation);
% end
% end
    }
}
