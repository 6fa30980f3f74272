% local open = terms.scaled and invoke(name .. "_open_score", "head", "group", "j", "logit") or "logit"
% if terms.scaled and terms.hides then

/* The logits of a group with key j after the score; all queries of the group see the key. */
INLINE vector ${name}_open_score(const ${name}_head *head, const ${name}_queries *group, int j, vector logit) {
    return ${inline("score", "logit")};
}
% end
% if terms.scaled or terms.hides then

/* The logits of a group with key j after score and mask. */
INLINE vector ${name}_score(const ${name}_head *head, const ${name}_queries *group, int j, vector logit) {
% if terms.hides then
    vector score = ${open};
    return choose(${inline("visible", false)}, score, broadcast(-(real)__builtin_inf()));
% else
    return ${inline("score", "logit")};
% end
}
% end
