% local open_score = terms.maps_logits and invoke(name .. "_open_score", "head", "group", "j", "logit") or "logit"
% if terms.maps_logits and terms.hides_keys then

/* The scores of a group with key j, from its logits; all queries of the group see the key. */
INLINE vector ${name}_open_score(const ${name}_head *head, const ${name}_queries *group, int j, vector logit) {
    return ${inline("score", "logit")};
}
% end
% if (terms.maps_logits or terms.hides_keys) and not terms.breaks_stick then

/* The scores of a group with key j, from its logits${terms.hides_keys and "; -infinity for queries that do not see the key" or ""}. */
INLINE vector ${name}_score(const ${name}_head *head, const ${name}_queries *group, int j, vector logit) {
% if terms.hides_keys then
    vector score = ${open_score};
    return choose(${inline("visible", false)}, score, broadcast(-(real)__builtin_inf()));
% else
    return ${inline("score", "logit")};
% end
}
% end
