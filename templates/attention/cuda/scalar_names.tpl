const parameters *p = v->p;
const int *position = ${prefix}positions_of(v, l);
const int *key_position = ${prefix}key_positions_of(v, l);
const int *drawn = ${prefix}distances_of(v, l);
const int T = v->${attends.T};
const int S = v->${attends.S};
