% section("exists")
(unsigned int)j < (unsigned int)${keys}
