/* The row of the table for a distance. Distances beyond -CLIP or ${rows.farthest} have the row of this limit. */
INLINE int ${name}_table_row(int distance) {
    int near = distance < ${rows.farthest} ? distance : ${rows.farthest};
    return (near > -${PREFIX}CLIP ? near : -${PREFIX}CLIP) + ${PREFIX}CLIP;
}
