# Device text without the functions that speak to a GPU's compiler or in its instructions: cuda_emulation.h has them.
# Their lines are left empty, so that the others keep their numbers.
!inside && /^(NO)?INLINE / { inside = 1; speaks = 0; function_text = ""; lines = "" }
!inside { print; next }
{
    speaks = speaks || /asm|__builtin_assume/
    lines = lines "\n"
    function_text = function_text $0 "\n"
}
/^}/ || (/^(NO)?INLINE / && /}$/) { printf "%s", speaks ? lines : function_text; inside = 0 }
