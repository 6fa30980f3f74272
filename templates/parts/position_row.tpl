/* Table values of one position; the table has a row for every position that can occur. */
% for _, family in ipairs(attentions) do
% if family.rotation.kind == "rope" then
enum { ${family.PREFIX}ROTATION_PERIOD = ${family.rotation.period} }; /* number of channels after which the angles of a row of heads repeat */
% end
% end
typedef struct position_row {
% if sinusoids then
    real sinusoid[WIDTH]; /* sines, then cosines */
% end
% if additive.member == "place" then
    real place[WIDTH]; /* ${additive.place_words} */
% end
% for _, family in ipairs(attentions) do
% if family.rotation.kind == "rope" then
    real ${family.prefix}rotation[2 * ${family.PREFIX}ROTATION_PERIOD]; /* cosines, then signed sines */
% end
% end
} position_row;
