"""Converts a score from a Python function to the Lua function of a spec.

The function is called once, with an object whose attributes are symbols instead of numbers. Operators and the functions
of longhand.functions combine symbols into nodes of a tree, and the tree that the function returns is written as Lua.
Local variables keep their names. `longhand check` checks the Lua text like every other formula. This module refuses
operations that Python would apply to a node instead of recording them, such as `if`; if the generator refuses the same
operation in Lua, the message is the generator's.
"""

import inspect
import re
import sys

from . import launcher
from .errors import LonghandError
from .literals import WIDTH, format_literal, is_name

SUM, PRODUCT, UNARY, POWER, PRIMARY = 10, 11, 12, 14, 20  # Lua's operator precedences
MAX_COLUMNS = 96  # columns of a formula
LEVELS = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "//": PRODUCT, "%": PRODUCT, "^": POWER}


def _make_operator(word):
    """The methods of an operator, with the node as left and as right operand."""
    def forward(self, other):
        return Traced("operator", word, (self, other))

    def reflected(self, other):
        return Traced("operator", word, (other, self))

    return forward, reflected


def _make_refusal(event):
    """A method that refuses an operation with the generator's message. event: the name of the operation in Lua."""
    def refuse(*_):
        refusal = launcher.read_facts()["formulas"]["refused"][event]
        raise LonghandError(f"a formula cannot be traced: {refusal['what']}\n  expected: {refusal['expected']}")

    return refuse


def _make_misuse(what, expected):
    """A method that refuses an operation with this message."""
    def refuse(*_):
        raise LonghandError(f"a formula cannot be traced: {what}\n  expected: {expected}")

    return refuse


class Traced:
    """A placeholder for a number, a truth value or a table while a score is traced.

    kind   "symbol": word is its name, parts is its Symbols object
           "index" (of a sum): word is its name, parts is empty
           "operator": word is the operator, parts are its one or two operands
           "call": word is the function, parts are its arguments
    """

    __slots__ = ("kind", "word", "parts")
    __array_ufunc__ = None  # makes numpy numbers use the operators of this class

    def __init__(self, kind, word, parts):
        self.kind, self.word = kind, word
        self.parts = tuple(_wrap_argument(part) for part in parts) if kind == "call" else parts

    __add__, __radd__ = _make_operator("+")
    __sub__, __rsub__ = _make_operator("-")
    __mul__, __rmul__ = _make_operator("*")
    __truediv__, __rtruediv__ = _make_operator("/")
    __floordiv__, __rfloordiv__ = _make_operator("//")
    __mod__, __rmod__ = _make_operator("%")
    __pow__, __rpow__ = _make_operator("^")

    def __neg__(self):
        return Traced("operator", "-", (self,))

    def __abs__(self):
        return Traced("call", "abs", (self,))

    def __floor__(self):
        return Traced("call", "floor", (self,))

    __lt__ = __gt__ = _make_refusal("__lt")
    __le__ = __ge__ = _make_refusal("__le")
    __eq__ = __ne__ = _make_refusal("__eq")
    __len__ = _make_refusal("__len")
    __and__ = __rand__ = _make_refusal("__band")
    __or__ = __ror__ = _make_refusal("__bor")
    __xor__ = __rxor__ = _make_refusal("__bxor")
    __invert__ = _make_refusal("__bnot")
    __lshift__ = __rlshift__ = _make_refusal("__shl")
    __rshift__ = __rrshift__ = _make_refusal("__shr")
    __bool__ = _make_misuse("Python tests whether a traced value is true, as in `if`, `and`, `or`, `not`, min or max",
                            "select(condition, a, b), all, any, negate, min, max of longhand.functions")
    __hash__ = _make_misuse("Python looks a traced value up in a set or a dict",
                            "select(condition, a, b), equal of longhand.functions")
    __float__ = __int__ = __index__ = _make_misuse("Python needs the number that a traced value stands for",
                                                   "a function of longhand.functions in place of math's, or "
                                                   "a plain number where Python needs one, as in range(n)")
    __getitem__ = _make_misuse("Python takes an element of a traced value", "lookup(table, i) of longhand.functions")
    __call__ = _make_misuse("a traced value is called as a function",
                            "a function of longhand.functions; x.score is not a call")
    __round__ = _make_misuse("Python rounds a traced value", "floor(a + 0.5) of longhand.functions")
    __trunc__ = _make_misuse("Python truncates a traced value", "floor of longhand.functions")

    def __repr__(self):
        return f"<traced {self.word}>"


class Symbols:
    """The argument x of a score, with x.score, x.distance, x.<parameter>, ...; x["name"] is the same as x.name."""

    def __getitem__(self, name):
        return Traced("symbol", name, self)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Traced("symbol", name, self)


class Body:
    """The function whose results a sum adds: its index, its result, and the names of its local variables."""

    def __init__(self, f):
        self.index = Traced("index", _get_parameter_name(f, "m"), ())
        self.result, self.names = _trace_call(f, self.index)


def _wrap_argument(part):
    return Body(part) if callable(part) and not isinstance(part, Traced) else part


def _get_parameter_name(f, default):
    code = getattr(f, "__code__", None)
    name = code.co_varnames[0] if code and code.co_argcount else default
    return name if is_name(name) else name + "_"


def _expect_one_argument(f, argument):
    try:
        signature = inspect.signature(f)
    except ValueError:  # some functions that are written in C have no signature
        return
    try:
        signature.bind(argument)
    except TypeError as error:
        raise LonghandError(f"a formula cannot be traced: {getattr(f, '__name__', 'the function')}{signature}: {error}"
                            "\n  expected: a function of one argument") from None


def _trace_call(f, argument):
    """Calls f. Returns its result, and a dict from the id of a node to (node, name of its local variable)."""
    _expect_one_argument(f, argument)
    names, code, old_profile = {}, getattr(f, "__code__", None), sys.getprofile()

    def record_locals(frame, event, _):
        if event == "return" and frame.f_code is code:
            names.update((id(node), (node, name)) for name, node in frame.f_locals.items() if isinstance(node, Traced))

    sys.setprofile(record_locals)
    try:
        return f(argument), names
    finally:
        sys.setprofile(old_profile)


def _get_children(node):
    """The child nodes of a node, a list or a body."""
    if isinstance(node, Body):
        return [node.result]
    if isinstance(node, (list, tuple)):
        return list(node)
    return list(node.parts) if isinstance(node, Traced) and node.kind in ("operator", "call") else []


def _sort_inner_first(root):
    """The root and all nodes below it, each once, and each after its children."""
    order, visited, stack = [], set(), [(root, False)]
    while stack:
        node, has_children_done = stack.pop()
        if has_children_done:
            order.append(node)
        elif id(node) not in visited:
            visited.add(id(node))
            stack.append((node, True))
            stack.extend((inner, False) for inner in reversed(_get_children(node)))
    return order


class Writer:
    """Writes the result of a traced function as Lua: local variables, then the expression."""

    def __init__(self, root, symbols, names):
        self.symbols, self.names = symbols, names
        self.used_names = set()  # names that no variable may have
        self.uses = {}  # id of a node -> the number of its uses
        self.read_indices = {}  # id of a node -> the ids of the indices of sums that it reads
        self.variables = {}  # id of a node -> the name of its variable
        self.scopes = []  # (index, lines) of each function whose text is not complete, the outermost first
        for node in _sort_inner_first(root):
            self._count_uses(node)

    def _count_uses(self, node):
        """Counts the uses of a node's children, and records the indices of sums on which the node depends."""
        indices = {id(node)} if isinstance(node, Traced) and node.kind == "index" else set()
        for inner in _get_children(node):
            self.uses[id(inner)] = self.uses.get(id(inner), 0) + 1
            indices |= self.read_indices[id(inner)]
        if isinstance(node, Body):
            indices -= {id(node.index)}
            self.names.update(node.names)
        elif isinstance(node, Traced) and node.kind == "call":
            self.used_names.add(node.word)
        self.read_indices[id(node)] = indices

    def _choose_name(self, name):
        name = re.sub("[^A-Za-z0-9_]", "_", name)
        name = name if is_name(name) else name + "_"
        unique, count = name, 1
        while unique in self.used_names:
            count += 1
            unique = f"{name}_{count}"
        self.used_names.add(unique)
        return unique

    def write_body(self, index, result):
        """The lines of a function's body, for its result. index: the index of a sum, None for a score."""
        self.scopes.append((index, []))
        text = "nil" if result is None else self.write_text(result, 0, is_whole_result=True)
        return [*self.scopes.pop()[1], f"return {text}"]

    def is_local(self, node):
        """Whether a node becomes a local variable: it was one in Python, or it is used more than once."""
        return (isinstance(node, Traced) and node.kind in ("operator", "call") and len(self.scopes) > 0
                and (id(node) in self.names or self.uses.get(id(node), 0) > 1))

    def write_text(self, node, level, is_whole_result=False):
        """The text of an expression, in parentheses if its precedence is below level. is_whole_result: the expression
        is the complete result of a function."""
        if self.is_local(node) and not (is_whole_result and self.uses.get(id(node), 0) == 0):
            return self.variables.get(id(node)) or self._declare(node)
        text, precedence = self._write_node(node)
        return f"({text})" if precedence < level else text

    def _declare(self, node):
        """Declares a local variable for a node, in the innermost function on whose index the node depends."""
        text, _ = self._write_node(node)
        depths = [depth for depth, (index, _) in enumerate(self.scopes) if id(index) in self.read_indices[id(node)]]
        scope = max(depths, default=0)
        name = self._choose_name(self.names.get(id(node), (node, "part"))[1])
        self.scopes[scope][1].append(f"local {name} = {text}")
        self.variables[id(node)] = name
        return name

    def _write_node(self, node):
        """The text of a node, and its precedence."""
        if isinstance(node, Body):
            return self._write_function(node), PRIMARY
        if hasattr(node, "tolist"):
            node = node.tolist()
        if isinstance(node, (list, tuple)):
            return "{ " + ", ".join(self.write_text(item, 0) for item in node) + " }", PRIMARY
        if not isinstance(node, Traced):
            written = format_literal(node)
            if written is None:
                raise LonghandError(f"a number of a formula: {node!r} is a {type(node).__name__}; expected a number")
            return written, UNARY if written.startswith("-") else PRIMARY
        return getattr(self, "_write_" + node.kind)(node)

    def _write_symbol(self, node):
        if node.parts is not self.symbols:
            raise LonghandError(f"x.{node.word} is used outside the function that x was given to\n"
                                "  expected: each score uses its own x")
        return f"x.{node.word}" if is_name(node.word) else f"x[{format_literal(node.word)}]", PRIMARY

    def _write_index(self, node):
        return self.variables[id(node)], PRIMARY

    def _write_call(self, node):
        return f"{node.word}({', '.join(self.write_text(part, 0) for part in node.parts)})", PRIMARY

    def _write_operator(self, node):
        if len(node.parts) == 1:
            text = self.write_text(node.parts[0], UNARY)
            return f"-({text})" if text.startswith("-") else f"-{text}", UNARY
        level = LEVELS[node.word]
        if level == POWER:
            return f"{self.write_text(node.parts[0], POWER + 1)} ^ {self.write_text(node.parts[1], UNARY)}", POWER
        chain = [node]  # operators of this precedence, outermost first; a loop, since recursion has a limited depth
        while self._continues_chain(chain[-1].parts[0], level):
            chain.append(chain[-1].parts[0])
        pieces = [self.write_text(chain[-1].parts[0], level)]
        pieces += [f"{node.word} {self.write_text(node.parts[1], level + 1)}" for node in reversed(chain)]
        return _fill_lines(pieces), level

    def _continues_chain(self, node, level):
        return (isinstance(node, Traced) and node.kind == "operator" and len(node.parts) == 2
                and LEVELS[node.word] == level and not self.is_local(node))

    def _write_function(self, body):
        self.variables[id(body.index)] = name = self._choose_name(body.index.word)
        return _lay_out_function(name, self.write_body(body.index, body.result), 0)


def _fill_lines(pieces):
    """The pieces of a chain of operators, as many in each line as fit."""
    lines = pieces[:1]
    for piece in pieces[1:]:
        if len(lines[-1].rpartition("\n")[2]) + len(piece.partition("\n")[0]) < MAX_COLUMNS:
            lines[-1] += " " + piece
        else:
            lines.append("  " + piece)
    return "\n".join(lines)


def _lay_out_function(name, lines, used):
    """The text of a function: one line if its body is one line and fits, else one line for each line of the body. used:
    the number of columns before the function in its line."""
    line = f"function({name}) {lines[0]} end"
    if len(lines) == 1 and "\n" not in line and used + len(line) < WIDTH:
        return line
    return "\n".join([f"function({name})", *("  " + part.replace("\n", "\n  ") for part in lines), "end"])


def format_function(f, path, indent, used=0):
    """Converts a score to the text of a Lua function. `path` names the score in messages; indent: the indentation of
    its first line; used: the number of further columns before it in this line."""
    x = Symbols()
    try:
        result, names = _trace_call(f, x)
        writer = Writer(result, x, names)
        writer.used_names.add("x")
        lines = writer.write_body(None, result)
    except RecursionError:
        raise LonghandError(f"{path}: the formula is nested too deeply\n  expected: a smaller one; "
                            "sum(n, lambda m: ...) of longhand.functions repeats a part") from None
    except LonghandError as error:
        raise LonghandError(f"{path}: {error}") from None
    return _lay_out_function("x", lines, indent + used).replace("\n", "\n" + " " * indent)


def format_expression(node):
    """The text of a node outside of functions, such as exp(-1) among a parameter's values."""
    return Writer(node, None, {}).write_text(node, 0)
