lay_out_${name}_kept(&${at}${name}, memory, ${used}, w->sequences, ${lengths}, mode == LH_MODE_TRAIN);
