% -- panel_structs: the structs of packed weights. Fields of an entry:
% --   struct   the struct of the parameters
% --   name     "panels"; "maps" for weights that each length reads to compute its tables
% --   list     the packed weights
% local panel_structs = {}
% for _, struct in ipairs(structs) do
% if has_tables_by_length then
% panel_structs[#panel_structs + 1] = { struct = struct, name = "panels", list = struct.product_panels }
% panel_structs[#panel_structs + 1] = { struct = struct, name = "maps", list = struct.maps }
% else
% panel_structs[#panel_structs + 1] = { struct = struct, name = "panels", list = struct.panels }
% end
% end
% paragraph("parts/position_tables.tpl") % if tables
% for _, packed in ipairs(panel_structs) do
% if packed.struct.block and packed.list[1] then
/* The weights of ${packed.struct.article} ${packed.struct.block} as panels (kernels/cpu/matmul.h); the backward pass reads the transposed panels. */
typedef struct ${packed.struct.block}_${packed.name} {
% for _, panel in ipairs(packed.list) do
    real ${panel.name}[${panel.elements_text}], ${panel.name}_transposed[${panel.elements_text}]; % if panel.has_transposed_copy
    real ${panel.name}[${panel.elements_text}]; % else
% end
} ${packed.struct.block}_${packed.name};

% end
% end
% if has_tables_by_length then
/* Packed weights, which all blocks of sequences of a step share. */
typedef struct step_panels {
% else
/* Values that all blocks of sequences of a step share. */
typedef struct shared {
% end
% for _, packed in ipairs(panel_structs) do
    ${packed.struct.block}_panels ${packed.struct.block}[${packed.struct.count}]; % if packed.struct.block and packed.list[1] and packed.name == "panels"
% end
% for _, panel in ipairs(structs[#structs].panels) do
    real ${panel.name}[${panel.elements_text}], ${panel.name}_transposed[${panel.elements_text}];
% end
    real output[WIDTH * CLASS_COLUMNS]; /* the vectors of the output symbols, transposed */ % if cpu.class_table
    real output_rows[CLASS_COLUMNS * WIDTH]; /* the output layer's weight, transposed, in training */ % else
% if has_tables_by_length then
} step_panels;

/* Values that blocks of sequences of equal length share. */
typedef struct shared {
% local has_members = input_draw and input_draw.is_separate
% for _, packed in ipairs(panel_structs) do
    ${packed.struct.block}_maps ${packed.struct.block}[${packed.struct.count}]; % if packed.list[1] and packed.name == "maps"
% has_members = has_members or packed.list[1] and packed.name == "maps"
% end
% for _, family in ipairs(attentions) do
% has_members = has_members or family.positions.kind == "randomized" or family.positions.distance.draws
% end
    char none; /* C has no structs without members */ % if not has_members
% end
% if input_draw and input_draw.is_separate and input_draw.kind == "randomized" then
    int32_t input_position[2][MAX_POSITION], input_scratch[2][MAX_POSITION]; /* sampled positions of each stream, and scratch memory */
% end
    % include("attention/cpu/shared_draws.tpl", family) % for _, family in ipairs(attentions)
} shared;
% if slices then

/* Returns the shape for which the tables in step->shared were computed. Shorter sequences read some of their rows. */
INLINE const lh_shape *get_tables_shape(const lh_cpu_step *step) {
    return step->tables_shape != NULL ? step->tables_shape : &step->shape;
}
/* Returns the index of the first row of a table that the step reads. Only longer sequences read earlier rows. */
INLINE int get_slice(const lh_cpu_step *step, int stream) {
    return get_tables_shape(step)->length[stream] - step->shape.length[stream];
}
% end
