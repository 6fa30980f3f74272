% slot("begin")
