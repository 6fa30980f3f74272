${at}${name} = take(memory, ${used}, (size_t)w->rows * ${width} + KEEP_PAD);
