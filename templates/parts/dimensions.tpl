${block.count} = ${block.layers}, % for _, block in ipairs(cpu.blocks)
WIDTH = ${width},
% for _, family in ipairs(attentions) do
${family.PREFIX}HEADS = ${family.heads},
${family.PREFIX}HEAD_WIDTH = ${family.head_width},
% end
${width.name} = ${width.count}, % for _, width in ipairs(widths)
% if embeds_linearly and task.blank_count > 0 then
BLANKS = ${task.blank_count}, /* number of blank tokens; they come first in the list of tokens: ${tokens_text} */
INPUTS = ${inputs}, /* rows of the embedding: one for each token that is not blank */
% elseif embeds_linearly then
INPUTS = ${inputs}, /* rows of the embedding: ${tokens_text} */
% else
TOKENS = ${tokens}, /* rows of the ${is_step_major and "input's weight" or "embedding"}: ${tokens_text} */
% end
OUTPUT_TOKEN = ${cpu.first_class}, /* ${cpu.first_class_comment} */ % if cpu.class_table
CLASSES = ${classes},
CLASS_COLUMNS = ${class_columns}, /* classes, rounded up to a whole vector */
POSITION_ROWS = ${additive.rows}, % if additive.kind == "learned"
GRID_WIDTH = ${additive.grid}, /* tokens of a row of the grid */ % if additive.grid
% if input_draw and input_draw.is_separate then
FIRST_POSITION = 1, % if input_draw.first == 1
% local first = input_draw.first == 1 and "FIRST_POSITION" or "0"
MAX_POSITION = ${input_draw.bound}, /* positions of added vectors: ${first} .. MAX_POSITION - 1 */
% end
% include("parts/family_dimensions.tpl", family) % for _, family in ipairs(attentions)
