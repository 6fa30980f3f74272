memcpy(${to}, ${from}, (size_t)${tokens} * ${width} * sizeof(real));
