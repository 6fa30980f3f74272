const ${stack.parameters} *p = &((const parameters *)w->step->parameters)->${stack.member}[l];
head.content_bias = p->${prefix}content_bias + h * ${PREFIX}HEAD_WIDTH;
head.position_bias = p->${prefix}position_bias + h * ${PREFIX}HEAD_WIDTH;
