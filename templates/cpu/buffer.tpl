% -- Reserves memory for a buffer: a record of list_requests (cpu_buffers.lua). Forms:
% --   row     one value for each token
% --   rows    all channels of all tokens
% --   step    all channels of one step of a recurrence
% --   steps   all channels: in training of all steps, else of one step
% -- row: C text, the bytes of one channel for all tokens; step_row, a C variable: for one step
% if form == "family" then
lay_out_${name}_saved(&${prefix}${name}, memory, ${used}, w->sequences, ${lengths}, mode == LH_MODE_TRAIN);
% elseif form == "mask" then
${prefix}${name} = reserve(memory, ${used}, (size_t)${rows} * ${width} + KEEP_PAD);
% elseif form == "row" then
${prefix}${name} = reserve(memory, ${used}, ${row});
% elseif form == "step" then
${prefix}${name} = reserve(memory, ${used}, step_row * ${width});
% elseif form == "steps" then
${prefix}${name} = reserve(memory, ${used}, (mode == LH_MODE_TRAIN ? row : step_row) * ${width});
% elseif form == "rows" then
${prefix}${name} = reserve(memory, ${used}, ${row} * ${width});
% else
${prefix}${name} = reserve(memory, ${used}, (size_t)w->vocabulary.rows * ${width} * sizeof(real));
% end
