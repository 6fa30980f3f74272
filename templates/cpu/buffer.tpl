% -- Reserves memory for a buffer. Input: a record of list_requests (cpu_buffers.lua). Forms of buffers:
% --   family       the numbers that an attention saves
% --   mask         a mask of dropout: one byte for each channel of each token
% --   row          one value for each token
% --   rows         all channels of all tokens
% --   step         all channels of one step of a recurrence
% --   steps        in training "rows", in evaluation "step"
% --   vocabulary   all channels of all symbols
% -- channel_bytes: C text, the bytes of one channel for all tokens. The C variable step_row has the bytes for one step.
% if form == "family" then
lay_out_${name}_saved(&${prefix}${name}, memory, ${used}, w->sequences, ${lengths}, mode == LH_MODE_TRAIN);
% elseif form == "mask" then
${prefix}${name} = reserve(memory, ${used}, (size_t)${rows} * ${width} + KEEP_PAD);
% elseif form == "row" then
${prefix}${name} = reserve(memory, ${used}, ${channel_bytes});
% elseif form == "step" then
${prefix}${name} = reserve(memory, ${used}, step_row * ${width});
% elseif form == "steps" then
${prefix}${name} = reserve(memory, ${used}, (mode == LH_MODE_TRAIN ? ${channel_bytes} : step_row) * ${width});
% elseif form == "rows" then
${prefix}${name} = reserve(memory, ${used}, ${channel_bytes} * ${width});
% elseif form == "vocabulary" then
${prefix}${name} = reserve(memory, ${used}, (size_t)w->vocabulary.rows * ${width} * sizeof(real));
% end
