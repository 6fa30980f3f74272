% -- Adds the weights and weighted values of `count` keys to the softmax m, from an array of their scores.
% -- key: C text of the index of key u
% -- names: C texts for the slot: a, the prefix of the head's members; head, the pointer to the head; j, the key
% local names = { a = "a->", head = "a", j = key }
    const real shrink = exp_negative(m->largest - highest);
    m->largest = highest;
    m->sum *= shrink;
#pragma unroll
    for (int d = 0; d < ${attends.head_part}; d++) m->out[d] *= shrink;
#pragma unroll
    for (int u = 0; u < count; u++) {
        real value[${attends.head_part}];
        ${prefix}load_head(value, a->value + (${key}) * ${attends.key_stride});
        const real weight = exp_negative(score[u] - highest);
        m->sum += weight;
        ${prefix}add_head(m->out, ${inline("weight_of_key", "weight", names)}, value);
    }
