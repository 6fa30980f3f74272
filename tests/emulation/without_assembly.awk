# Prints device text without the functions that cuda_emulation.h defines: those of a GPU's compiler, and those that
# consist of its instructions. Their lines become empty, so that line numbers do not change.
!inside && /^(NO)?INLINE / { inside = 1; speaks = 0; function_text = ""; lines = "" }
!inside { print; next }
{
    speaks = speaks || /asm|__builtin_assume/
    lines = lines "\n"
    function_text = function_text $0 "\n"
}
/^}/ || (/^(NO)?INLINE / && /}$/) { printf "%s", speaks ? lines : function_text; inside = 0 }
