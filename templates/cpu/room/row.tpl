${at}${name} = take(memory, ${used}, ${row});
