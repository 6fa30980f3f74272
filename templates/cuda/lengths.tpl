/* Tokens of a sequence of each stream. */
typedef struct lengths {
% for _, stream in ipairs(streams) do
    int ${stream.name};
% end
} lengths;
