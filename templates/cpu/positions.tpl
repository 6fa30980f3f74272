% -- panel_structs: the structs of packed weights; fields of an entry:
% --   struct   the struct of parameters with these weights
% --   name     "maps": weights from which the tables of a length are computed; "panels": all other packed weights
% --   list     members of the struct
% local panel_structs = {}
% for _, struct in ipairs(structs) do
% local list = has_tables_by_length and struct.packed or struct.panels
% panel_structs[#panel_structs + 1] = { struct = struct, name = "panels", list = list }
% panel_structs[#panel_structs + 1] = has_tables_by_length and { struct = struct, name = "maps", list = struct.maps } or nil
% end
% paragraph("parts/position_tables.tpl") % if tables
% for _, pack in ipairs(panel_structs) do
% if pack.struct.block and pack.list[1] then
/* The weights of ${pack.struct.article} ${pack.struct.block} as panels (kernels/cpu/matmul.h); the backward pass reads the transposed panels. */
typedef struct ${pack.struct.block}_${pack.name} {
% for _, panel in ipairs(pack.list) do
    real ${panel.name}[${panel.elements_text}], ${panel.name}_transposed[${panel.elements_text}]; % if panel.has_transposed_copy
    real ${panel.name}[${panel.elements_text}]; % else
% end
} ${pack.struct.block}_${pack.name};

% end
% end
% if has_tables_by_length then
/* Packed weights, which all blocks of sequences of a step share. */
typedef struct step_panels {
% else
/* Values that all blocks of sequences of a step share. */
typedef struct shared {
% end
% for _, pack in ipairs(panel_structs) do
    ${pack.struct.block}_panels ${pack.struct.block}[${pack.struct.count}]; % if pack.struct.block and pack.list[1] and pack.name == "panels"
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
% for _, pack in ipairs(panel_structs) do
    ${pack.struct.block}_maps ${pack.struct.block}[${pack.struct.count}]; % if pack.list[1] and pack.name == "maps"
% has_members = has_members or pack.list[1] and pack.name == "maps"
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

/* Returns the shape for which the tables in step->shared were computed. Shorter sequences read only some of the rows. */
INLINE const lh_shape *get_tables_shape(const lh_cpu_step *step) {
    return step->tables_shape != NULL ? step->tables_shape : &step->shape;
}
/* Returns the number of rows at the start of a table that the step skips. Only longer sequences read these rows. */
INLINE int get_slice(const lh_cpu_step *step, int stream) {
    return get_tables_shape(step)->length[stream] - step->shape.length[stream];
}
% end
