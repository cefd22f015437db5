"""What the settings mean: the docstrings of their one declaration."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from itertools import pairwise

from localcdap.settings import OPTIONS, Settings


@functools.cache
def descriptions() -> dict[str, str]:
    """What each setting means, by key."""
    body = ast.parse(textwrap.dedent(inspect.getsource(Settings))).body[0]
    assert isinstance(body, ast.ClassDef)
    said: dict[str, str] = {}
    for declared, docstring in pairwise(body.body):
        match declared, docstring:
            case (
                ast.AnnAssign(target=ast.Name(id=attribute)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                said[attribute] = " ".join(text.replace("``", "").split())
    return {key: said[attribute] for key, attribute in OPTIONS.items() if attribute in said}
