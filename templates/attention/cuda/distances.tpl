% slot("sets")
% slot("distance_count")
