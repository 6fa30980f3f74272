% -- Variables that the statements of nests read.
const parameters *p = v->p;
const int *position = ${prefix}find_positions(v, l);
const int *key_position = ${prefix}find_key_positions(v, l);
const int *drawn = ${prefix}find_distances(v, l);
const int T = v->${attends.T};
const int S = v->${attends.S};
