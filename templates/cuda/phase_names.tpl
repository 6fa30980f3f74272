/* The phases of a step, numbered for launches. */
enum {
% for i, name in ipairs(device.phases) do
% local first, comma = i == 1 and " = LH_CUDA_FIRST" or "", i < #device.phases and "," or ""
    ${name}${first}${comma}
% end
};
