% section("kept")
% include("attention/cpu/kept.tpl")
