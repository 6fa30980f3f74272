% slot("step_functions")
