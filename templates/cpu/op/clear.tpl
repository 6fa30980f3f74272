if (w.free_passes > 0) memset(${to}, 0, (size_t)${tokens} * ${width} * sizeof(real)); % if after_free
memset(${to}, 0, (size_t)${tokens} * ${width} * sizeof(real)); % else
