/* Computes gradients of KEYS keys and values, from key j on${recomputed and "; with `more` adds to stored gradients" or ""}; lanes are channels here. */
INLINE void attend_${name}_keys(const ${name}_head *head, ${length_words}, int j, const real *restrict weights,
        const ${name}_scratch *scratch, bool more, real *restrict dkey, real *restrict dvalue) {
    if (${PREFIX}PAIRED) { % if paired then
        attend_${name}_pairs(head, ${T_S}, j, scratch, more, dkey, dvalue);
        return;
    }
    ${name}_part dk[${PREFIX}KEYS][${PREFIX}HEAD_PARTS], dv[${PREFIX}KEYS][${PREFIX}HEAD_PARTS];
    UNROLL
    for (int u = 0; u < ${PREFIX}KEYS; u++) {
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) dk[u][part] = dv[u][part] = (${name}_part){0};
    }
    for (int u = 0; more && u < ${PREFIX}KEYS && j + u < ${S}; u++) { % if recomputed then
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) {
            dk[u][part] = *(const ${name}_part *)(dkey + (j + u) * ${K} + part * ${PREFIX}HEAD_PART);
            dv[u][part] = *(const ${name}_part *)(dvalue + (j + u) * ${K} + part * ${PREFIX}HEAD_PART);
        }
    }
    % include("attention/cpu/groups_begin.tpl", { rows = "rows", vectors = terms.vectors })
        const real *weight = weights + group * ${name}_group_weights(${S}) + j * LANES;
        const real *dlogit = scratch->dlogits${zeros} + group * ${name}_group_${of_dlogits}(${S}) + j * LANES;
        % include("attention/cpu/groups_of_key.tpl", { vectors = terms.vectors })
        for (int i = ${bounded and "before" or "0"}; i < count; i++, row += ${terms.vectors} * ${PREFIX}HEAD_WIDTH) {
            UNROLL
            for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) {
                ${name}_part g = *(const ${name}_part *)(row + part * ${PREFIX}HEAD_PART);
                ${name}_part q = *(const ${name}_part *)(row + ${PREFIX}HEAD_WIDTH + part * ${PREFIX}HEAD_PART);
                UNROLL
                for (int u = 0; u < ${PREFIX}KEYS; u++) {
                    dv[u][part] += g * weight[u * LANES + i];
                    dk[u][part] += q * dlogit[u * LANES + i];
                }
            }
        }
    }
    for (int u = 0; u < ${PREFIX}KEYS && j + u < ${S}; u++) {
        UNROLL
        for (int part = 0; part < ${PREFIX}HEAD_PARTS; part++) {
            *(${name}_part *)(dkey + (j + u) * ${K} + part * ${PREFIX}HEAD_PART) = dk[u][part];
            *(${name}_part *)(dvalue + (j + u) * ${K} + part * ${PREFIX}HEAD_PART) = dv[u][part];
        }
    }
}
