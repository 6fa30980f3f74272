% -- Variables at the beginning of functions of attention.
const step_view *v = &block()->view;
const workspace *w = &block()->work;
const ${attends.state} *s = &block()->${attends.block};
const int sequences = block()->sequences;
const int l = block()->l;
