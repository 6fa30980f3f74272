% section("exists")
(unsigned int)j < (unsigned int)${key_count}
