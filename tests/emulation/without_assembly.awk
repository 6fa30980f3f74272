# Prints device text without functions of a GPU's compiler or in its instructions, which cuda_emulation.h defines. Their
# lines are empty, so that line numbers do not change.
!inside && /^(NO)?INLINE / { inside = 1; speaks = 0; function_text = ""; lines = "" }
!inside { print; next }
{
    speaks = speaks || /asm|__builtin_assume/
    lines = lines "\n"
    function_text = function_text $0 "\n"
}
/^}/ || (/^(NO)?INLINE / && /}$/) { printf "%s", speaks ? lines : function_text; inside = 0 }
