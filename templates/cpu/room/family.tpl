lay_out_${name}_kept(&${at}${name}, memory, ${used}, w->sequences, w->length, mode == LH_MODE_TRAIN);
