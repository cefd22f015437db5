"""JSONPath as Jayway's library reads it, on plain values (dict, list, text, number, bool, None).

``$.store.book[0].title``, ``$['a b']``, ``$..author``, ``$.list[*].set.*``, ``[1:3]``, ``[0,-1]``,
``[?(@.price < 10 && @.isbn)]``, ``.length()``. A path that can select one thing at most gives it; any other
gives a list.
"""

from __future__ import annotations

from localcdap.java.json_path.errors import JsonPathError, NothingFoundError
from localcdap.java.json_path.path import check_path, select

__all__ = ["JsonPathError", "NothingFoundError", "check_path", "select"]
