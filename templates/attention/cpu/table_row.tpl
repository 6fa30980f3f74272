/* The row of the table for a distance. A distance beyond a limit, -CLIP or ${rows.farthest}, has the row of that limit. */
INLINE int ${name}_table_row(int distance) {
    int near = distance < ${rows.farthest} ? distance : ${rows.farthest};
    return (near > -${PREFIX}CLIP ? near : -${PREFIX}CLIP) + ${PREFIX}CLIP;
}
