"""The functions of an expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from localcdap.plugin_lib.jexl.code import calls, choices, operators, values
from localcdap.plugin_lib.jexl.code.statements import is_statement, lines_of
from localcdap.plugin_lib.jexl.code.writer import Coded, Writer
from localcdap.plugin_lib.jexl.errors import EvaluationError
from localcdap.plugin_lib.jexl.names import local_names, read_names
from localcdap.plugin_lib.jexl.tree import Node


class Code:
    """The function of an expression, and one of whole columns."""

    def __init__(self, root: Node) -> None:
        self.names: Final = read_names(root)
        """The variables, in the order of the function's arguments."""
        writer = Writer(self.names, local_names(root), _KINDS)
        source = _functions(writer, root)
        scope = writer.scope
        exec(compile(source, "<expression>", "exec"), scope)  # noqa: S102 - written here, from a checked tree
        self.source: Final = source
        self.run: Final[Callable[..., Any]] = scope["run"]
        """The value, given those of the variables."""
        self.run_all: Final[Callable[..., tuple[list[Any], dict[int, EvaluationError]]]] = scope[
            "run_all"
        ]
        """The values and the errors by row, given sequences of values of the variables."""


def _functions(writer: Writer, root: Node) -> str:
    arguments = ", ".join(writer.arguments)
    single = _single(writer, root)
    body = [f"return {writer.code(single)}"] if single is not None else _script(writer, root)
    value = writer.code(single) if single is not None else f"run({arguments})"
    columns = ", ".join(f"c{at}" for at in range(len(writer.arguments)))
    rows = f"zip({columns}, strict=True)" if len(writer.arguments) > 1 else "c0"
    each = f"for {arguments} in {rows}:" if arguments else "for _ in range(count):"
    return "\n".join(
        (
            f"def run({arguments}):",
            "    try:",
            *(f"        {line}" for line in body),
            "    except EvaluationError:",
            "        raise",
            "    except Exception as error:",
            "        failed(error)",
            f"def run_all(count, {columns}):" if columns else "def run_all(count):",
            "    values = []",
            "    errors = {}",
            "    push = values.append",
            f"    {each}",
            "        try:",
            f"            push({value})",
            "        except EvaluationError as error:",
            "            errors[len(values)] = error",
            "            push(None)",
            "        except Exception as error:",
            "            errors[len(values)] = EvaluationError(str(error))",
            "            push(None)",
            "    return values, errors",
        )
    )


def _single(writer: Writer, root: Node) -> Node | None:
    """The one expression that a script is, or None."""
    if len(root.parts) != 1 or writer.has_locals or is_statement(root.parts[0]):
        return None
    return root.parts[0]


def _script(writer: Writer, root: Node) -> list[str]:
    lines = ["result = None", "steps = Steps()"]
    lines += [f"{v} = None" for v in writer.variables.values() if v not in writer.arguments]
    for part in root.parts:
        lines += lines_of(writer, part)
    return [*lines, "return result"]


_KINDS: Final[dict[str, Callable[[Writer, Node], Coded]]] = {
    "constant": values.constant,
    "name": values.name,
    "group": values.group,
    "member": values.member,
    "index": values.index,
    "list": values.make_list,
    "set": values.make_set,
    "map": values.make_map,
    "assign": values.assign,
    "unary": operators.unary,
    "binary": operators.binary,
    "chain": operators.chain,
    "ternary": choices.ternary,
    "elvis": choices.elvis,
    "coalesce": choices.coalesce,
    "call": calls.call,
    "method": calls.method,
}
