${at}${name} = take(memory, ${used}, (size_t)${rows} * ${width} + KEEP_PAD);
