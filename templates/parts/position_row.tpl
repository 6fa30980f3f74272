/* Table values of one position; the table has a row for every position that can occur. */
% for _, family in ipairs(attentions) do
% if family.rotation.kind == "rope" then
enum { ${family.PREFIX}ROTATION_PERIOD = ${family.rotation.period} }; /* number of channels after which the angles repeat, counted over all heads */
% end
% end
typedef struct position_row {
    real sinusoid[WIDTH]; /* sines, then cosines */ % if sinusoids
    real place[WIDTH]; /* ${additive.place_words} */ % if additive.member == "place"
% for _, family in ipairs(attentions) do
% if family.rotation.kind == "rope" then
    real ${family.prefix}rotation[2 * ${family.PREFIX}ROTATION_PERIOD]; /* cosines, then signed sines */
% end
% end
} position_row;
