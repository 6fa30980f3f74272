% paragraph("parts/position_tables.tpl") % if tables
% for _, struct in ipairs(structs) do
% if struct.block and struct.panels[1] then
/* The weights of ${struct.article} ${struct.block} as panels (kernels/cpu/matmul.h); transposed: for the backward pass. */
typedef struct ${struct.block}_panels {
% for _, panel in ipairs(struct.panels) do
    real ${panel.name}[${panel.room}], ${panel.name}_transposed[${panel.room}]; % if panel.transposed
    real ${panel.name}[${panel.room}]; % else
% end
} ${struct.block}_panels;

% end
% end
/* Values that all blocks of sequences of a step share. */
typedef struct shared {
% for _, struct in ipairs(structs) do
    ${struct.block}_panels ${struct.block}[${struct.count}]; % if struct.block and struct.panels[1]
% end
% for _, panel in ipairs(structs[#structs].panels) do
    real ${panel.name}[${panel.room}], ${panel.name}_transposed[${panel.room}];
% end
    real output[WIDTH * CLASS_COLUMNS]; /* the vectors of the output's symbols, transposed */ % if cpu.tied
    real output_rows[CLASS_COLUMNS * WIDTH]; /* the output layer's weight, transposed, in training */ % else
% if input_draw and input_draw.apart and input_draw.kind == "randomized" then
    int32_t input_position[2][MAX_POSITION], input_scratch[2][MAX_POSITION]; /* sampled positions of each stream, and scratch memory of sampling */
% end
    % include("attention/cpu/shared_draws.tpl", family) % for _, family in ipairs(attentions)
} shared;
