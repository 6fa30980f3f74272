% -- No mask: a pair is visible if the key exists.
(unsigned int)j < (unsigned int)${key_count} % section("exists")
