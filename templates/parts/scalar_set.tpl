% -- A struct of arrays, the function lay_out that places them in memory, and the function that counts their bytes.
% -- numbers: members that are numbers; members: the arrays (generator/expression/nests.lua).
typedef struct ${set} {
    ${n.type} ${n.name};${n.comment} % for _, n in ipairs(numbers)
    ${t.declared}${t.name};${t.comment} % for _, t in ipairs(members)
} ${set};

/* Lays out the arrays for ${cross and "T queries and S keys" or "T tokens"} in memory. If memory is NULL, only counts bytes. */
INLINE void ${lay_out}(${set} *s, char *memory, size_t *used, ${lengths}) {
    s->${n.name} = ${n.value}; % for _, n in ipairs(numbers)
    s->${t.name} = (${t.type} *)reserve(memory, used, ${t.count} * sizeof(${t.type})); % for _, t in ipairs(members)
    if (!memory) return; % if members.has_distance_tables
% -- Tables of distances have negative indices too: their pointers point to the element of distance 0.
% for _, t in ipairs(members) do
    s->${t.name} += ${S} - 1; % if t.class == "distance"
% end
}

INLINE size_t ${bytes}(${lengths}) {
    ${set} s;
    size_t bytes = 0;
    ${lay_out}(&s, NULL, &bytes, ${arguments});
    return bytes;
}
