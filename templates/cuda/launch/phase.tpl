phase(list, ${phase}, ${layer});
