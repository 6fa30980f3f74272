${at}${name} = take(memory, ${used}, (size_t)w->vocabulary.rows * ${width} * sizeof(real));
