-- A table where a description is due.
return { layers = 5 }
