% local embedding_drops = additive.dropout.kind == "bernoulli"
% local random, by_sequence = positions.kind == "randomized", positions.kind == "sequence"
% local row_place = by_sequence and "position[row]" or random and "position[row % v->T]" or "row % v->T"
% local place = by_sequence and "position[row]" or input_draw and "v->draws[row % v->T]" or "row % v->T"
% local table_row = positions.first == 1 and "(" .. place .. " - FIRST_POSITION)" or by_sequence and place or "(" .. place .. ")"
% local embed_adds = ({ none = "", sinusoid = " + sinusoid of its position",
%     learned = " + learned vector of its position" })[additive.kind]
% if device.drops then
/* The masks of the ${eval_dropout and "block" or "shard"}'s dropout sites. */
INLINE void draw_masks(${eval_dropout and "const bool training" or "void"}) {
% if device.masks[1] then
    const lh_cuda_step *in = &block()->step;
    const int bytes = in->T[0] * (WIDTH / 8), sequences = block()->sequences;
    for (int e = threadIdx.x; e < DROPOUT_SITES * sequences * bytes; e += THREADS) {
        const int site = e / (sequences * bytes), row = e % (sequences * bytes);
% for i, mask in ipairs(device.masks) do
% local at = mask.first > 0 and "(site - " .. mask.first .. ")" or "site"
% local times, rest = mask.places > 1 and " / " .. mask.places or "", mask.places > 1 and at .. " % " .. mask.places or "0"
% local layer = mask.layer > 0 and ("%s%s + %d"):format(at, times, mask.layer) or "0"
% local place = mask.layer > 0 and rest or at
% place = mask.place_text(place) or place
% if i == 1 then
        unsigned int layer = ${layer}, place = ${place}, below = ${mask.below_text};
% else
        if (site >= ${mask.first}) {
            layer = ${layer};
            place = ${place};
            below = ${mask.below_text};
        }
% end
% end
% if eval_dropout then
        const unsigned int in_counter = training ? DROPOUT_DOMAIN << 24 | layer << 8 | place
                : EVAL_DROPOUT_DOMAIN << 24 | in->draw << 8 | (${device.places} * layer + place);
        block()->work.keep[e] = keep_byte(in->key, in->step, block()->first + row / bytes, in_counter, row % bytes,
                below);
% else
        block()->work.keep[e] = keep_byte(in->key, in->step, block()->first + row / bytes,
                DROPOUT_DOMAIN << 24 | layer << 8 | place, row % bytes, below);
% end
    }
% end
% for _, m in ipairs(device.bits) do
    % call("draw_bits", "block()->work." .. m.name, m.uses, m.name .. "_bytes(block()->view.T)", m.layer, m.place, m.below, eval_dropout and "training")
% end
    __syncthreads();
}

% end
% if device.masks[1] then
/* The mask of a site. */
INLINE const unsigned char *mask_of(int site) {
    return block()->work.keep + (size_t)site * block()->sequences * block()->view.T * (WIDTH / 8);
}

% end
/* The first layer's input = scaled token embedding${embed_adds}. */
NOINLINE void embed(${embedding_drops and not eval_dropout and "const bool training" or "void"}) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const int rows = block()->sequences * v->T;
% if by_sequence and additive.kind ~= "none" then
    const int *position = positions_of_sequences();
% end
    for (int e = 4 * threadIdx.x; e < rows * WIDTH; e += 4 * THREADS) {
        const int row = e / WIDTH, c = e % WIDTH;
        quad x = *(const quad *)(v->p->token + block()->tokens[row] * WIDTH + c);
% if additive.kind == "sinusoid" then
        const quad place = *(const quad *)(v->tables[${place}].sinusoid + c);
% elseif additive.kind == "learned" then
        const quad place = *(const quad *)(v->p->position_table + ${table_row} * WIDTH + c);
% end
#pragma unroll
        for (int i = 0; i < 4; i++) {
% if additive.kind ~= "none" then
            x.v[i] = x.v[i] * EMBEDDING_SCALE + place.v[i];
% else
            x.v[i] *= EMBEDDING_SCALE;
% end
% if embedding_drops and eval_dropout then
            x.v[i] = kept(w->keep, e + i) ? x.v[i] * ${additive.dropout.name}_KEEP_SCALE : 0;
% elseif embedding_drops then
            if (training) x.v[i] = kept(w->keep, e + i) ? x.v[i] * ${additive.dropout.name}_KEEP_SCALE : 0;
% end
        }
        *(quad *)(w->${device.embedding.value} + e) = x;
    }
    __syncthreads();
}

/* Gradients of a shard's embeddings: a thread owns an element and adds up its rows in order. */
NOINLINE void embed_backward(${cuda.gradients} *g) {
    is_global(g);
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const unsigned short *tokens = block()->tokens;
    const int sequences = block()->sequences, rows = sequences * v->T;
% if embedding_drops then
    for (int e = threadIdx.x; e < rows * WIDTH; e += THREADS)
        w->${device.embedding.gradient}[e] = kept(w->keep, e) ? w->${device.embedding.gradient}[e] * ${additive.dropout.name}_KEEP_SCALE : 0;
    __syncthreads();
% end
    for (int e = threadIdx.x; e < TOKENS * WIDTH; e += THREADS) {
        const int token = e / WIDTH, c = e % WIDTH;
        real sum = 0;
        for (int first = 0; first < rows; first += SUMMANDS) {
            bool has[SUMMANDS];
            real part[SUMMANDS];
#pragma unroll
            for (int u = 0; u < SUMMANDS; u++) has[u] = first + u < rows && tokens[first + u] == token;
#pragma unroll
            for (int u = 0; u < SUMMANDS; u++) part[u] = has[u] ? w->${device.embedding.gradient}[(first + u) * WIDTH + c] : 0;
#pragma unroll
            for (int u = 0; u < SUMMANDS; u++) sum += part[u];
        }
% if device.tied then
        const bool read_out = token >= OUTPUT_TOKEN && token < OUTPUT_TOKEN + CLASSES; /* and stored by the readout */
        g->token[e] = (read_out ? g->token[e] : 0) + sum * EMBEDDING_SCALE;
% else
        g->token[e] = sum * EMBEDDING_SCALE;
% end
    }
% if additive.kind == "learned" and by_sequence then
    const int *position = positions_of_sequences();
    for (int e = threadIdx.x; e < POSITION_ROWS * WIDTH; e += THREADS) g->position_table[e] = 0;
    /* One sequence's positions differ from one another. */
    for (int sequence = 0; sequence < sequences; sequence++) {
        __syncthreads();
        for (int e = threadIdx.x; e < v->T * WIDTH; e += THREADS) {
            const int row = sequence * v->T + e / WIDTH, c = e % WIDTH;
            g->position_table[${table_row} * WIDTH + c] += w->${device.embedding.gradient}[row * WIDTH + c];
        }
    }
% elseif additive.kind == "learned" then
    for (int e = threadIdx.x; e < v->T * WIDTH; e += THREADS) {
        real sum = 0;
        for (int sequence = 0; sequence < sequences; sequence++) sum += w->${device.embedding.gradient}[sequence * v->T * WIDTH + e];
        block()->sums.places[e] = sum;
    }
% end
    __syncthreads();
}
% if rotation.kind == "rope" then

/* Turns queries and keys of all rows by their positions: direction 1; turns their gradients back: -1. */
NOINLINE void rotate(int direction, real *query_key_value) {
    const step_view *v = &block()->view;
    const int rows = block()->sequences * v->T;
% if by_sequence then
    const int *position = positions_of_sequences();
% elseif random then
    const int *position = positions_of(v, block()->l);
% end
    const int row_quads = 2 * WIDTH / 4, count = rows * row_quads;
    is_global(v->tables);
    is_global(query_key_value);
    for (int q = threadIdx.x; q < count; q += THREADS) {
        const int row = q / row_quads, c = q % row_quads * 4;
        const real *turn = v->tables[${row_place}].rotation + c % ROTATION_PERIOD;
        real *at = query_key_value + row * QUERY_STRIDE + c;
        const quad x = *(const quad *)at, cosine = *(const quad *)turn, sine = *(const quad *)(turn + ROTATION_PERIOD);
        quad y;
#pragma unroll
        for (int i = 0; i < 4; i++) y.v[i] = x.v[i] * cosine.v[i] + direction * (x.v[i ^ 1] * sine.v[i]);
        *(quad *)at = y;
    }
    __syncthreads();
}
% end
