(unsigned int)j < (unsigned int)${key_count} % section("exists")
