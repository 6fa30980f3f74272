/* The row of the table for a distance; all distances beyond the limits share a row. */
INLINE int ${name}_table_row(int distance) {
    int near = distance < ${rows.farthest} ? distance : ${rows.farthest};
    return (near > -${PREFIX}CLIP ? near : -${PREFIX}CLIP) + ${PREFIX}CLIP;
}
