% section("none")
