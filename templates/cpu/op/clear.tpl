% -- Sets an array to 0. only_with_free_passes: only in steps that have free passes (passes without gradient)
if (w.free_passes > 0) memset(${to}, 0, (size_t)${tokens} * ${width} * sizeof(real)); % if only_with_free_passes
memset(${to}, 0, (size_t)${tokens} * ${width} * sizeof(real)); % else
