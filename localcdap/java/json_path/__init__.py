"""JSONPath on decoded JSON, as in Jayway's library, which CDAP uses.

``$.store.book[0].title``, ``$['a b']``, ``$..author``, ``$.list[*].set.*``, ``[1:3]``, ``[0,-1]``,
``[?(@.price < 10 && @.isbn)]``, ``.length()``. A path without ``$`` starts at the root. A definite path,
which selects at most one value, gives that value; any other gives a list.

>>> parse_path("$.book[0].title").read({"book": [{"title": "Emma"}]})
'Emma'
"""

from __future__ import annotations

from localcdap.java.json_path.filters import JsonPathError, NothingFoundError
from localcdap.java.json_path.path import JsonPath, parse_path, select

__all__ = ["JsonPath", "JsonPathError", "NothingFoundError", "parse_path", "select"]
