% if keep then
% call("dropout_apply", elements, keep, rate .. "_KEEP_SCALE", dy)
% end
% if vectors then
% call(routine, self, positions, dy, vectors)
% end
