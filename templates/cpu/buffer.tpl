% if form == "family" then
lay_out_${name}_saved(&${at}${name}, memory, ${used}, w->sequences, ${lengths}, mode == LH_MODE_TRAIN);
% elseif form == "mask" then
${at}${name} = reserve(memory, ${used}, (size_t)${rows} * ${width} + KEEP_PAD);
% elseif form == "row" then
${at}${name} = reserve(memory, ${used}, ${row});
% elseif form == "rows" then
${at}${name} = reserve(memory, ${used}, ${row} * ${width});
% else
${at}${name} = reserve(memory, ${used}, (size_t)w->vocabulary.rows * ${width} * sizeof(real));
% end
