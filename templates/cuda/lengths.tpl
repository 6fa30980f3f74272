/* The number of tokens of a sequence in each stream. */
typedef struct lengths {
    int ${stream.name}; % for _, stream in ipairs(streams)
} lengths;
