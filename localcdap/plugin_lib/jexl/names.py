"""Which names an expression reads."""

from __future__ import annotations

from localcdap.plugin_lib.jexl.tree import Node, plain_path


def read_names(root: Node) -> list[str]:
    """Names of variables in the order of the text, each once; ``a.b`` is read as ``a`` and as ``a.b``.

    A name with dots may be the name of a column. Names that the expression declares are not among them.
    """
    declared = {node.value for node in root.walk() if node.kind in ("declare", "for_each")}
    names: dict[str, None] = {}
    for node in root.walk():
        if node.kind == "name" and node.value not in declared:
            names[node.value] = None
        elif node.kind == "member":
            path = plain_path(node)
            if path is not None and path.split(".")[0] not in declared:
                names[path] = None
        elif node.kind == "assign" and node.value[0] != "=" and node.value[1] not in declared:
            names[node.value[1]] = None
    return list(names)


def local_names(root: Node) -> set[str]:
    """Names that the expression declares or assigns to."""
    found = {node.value for node in root.walk() if node.kind in ("declare", "for_each")}
    return found | {node.value[1] for node in root.walk() if node.kind == "assign"}
