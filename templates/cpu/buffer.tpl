% if form == "family" then
lay_out_${name}_kept(&${at}${name}, memory, ${used}, w->sequences, ${lengths}, mode == LH_MODE_TRAIN);
% elseif form == "keep" then
${at}${name} = take(memory, ${used}, (size_t)${rows} * ${width} + KEEP_PAD);
% elseif form == "row" then
${at}${name} = take(memory, ${used}, ${row});
% elseif form == "rows" then
${at}${name} = take(memory, ${used}, ${row} * ${width});
% else
${at}${name} = take(memory, ${used}, (size_t)w->vocabulary.rows * ${width} * sizeof(real));
% end
