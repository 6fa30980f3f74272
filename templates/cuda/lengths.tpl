/* The number of tokens of a sequence in each stream. */
typedef struct lengths {
% for _, stream in ipairs(streams) do
    int ${stream.name};
% end
} lengths;
