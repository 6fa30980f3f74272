# Prints device text without its functions that contain assembly or __builtin_assume: cuda_emulation.h defines these
# functions. Their lines become empty, so that line numbers do not change.
!inside && /^(NO)?INLINE / { inside = 1; has_assembly = 0; function_text = ""; lines = "" }
!inside { print; next }
{
    has_assembly = has_assembly || /asm|__builtin_assume/
    lines = lines "\n"
    function_text = function_text $0 "\n"
}
/^}/ || (/^(NO)?INLINE / && /}$/) { printf "%s", has_assembly ? lines : function_text; inside = 0 }
