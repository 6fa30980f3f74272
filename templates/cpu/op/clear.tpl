memset(${to}, 0, (size_t)${tokens} * ${width} * sizeof(real));
