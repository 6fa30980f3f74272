backward_${name}s();
