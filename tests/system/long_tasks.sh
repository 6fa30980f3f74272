# Checks scores of analytic predictors on all tasks with ten times the examples of the unit tests, at every evaluation
# length; and ten thousand Latin square puzzles against the rules and all squares.

. tests/system/common.sh

for name in test_tasks test_tasks_strings test_tasks_expressions test_tasks_numbers; do
    program=build/asan/tests/unit/$name
    expect "${name}_at_length" sh -c "make -s VARIANT=asan LEVELS=best $program && LH_TASK_EXAMPLES=400 $program"
done
program=build/asan/tests/unit/test_latin_puzzles
expect latin_puzzles_obey_the_rules sh -c "make -s VARIANT=asan LEVELS=best $program && LH_LATIN_ITEMS=10000 $program"
finish
