"""Directives that change the case of texts, or trim them."""

from __future__ import annotations

import re
from typing import Final

from localcdap.api.directive import Frame, plugin
from localcdap.plugin_lib.wrangler.directives.native_helpers import is_text
from localcdap.plugin_lib.wrangler.recipe.base_directives import TextMap

SPACES: Final = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u180e\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""The characters that the trimming directives remove."""

_WORD_START: Final = re.compile(
    r"(?:^|(?<=[ \t\n\x0b\f\r\x1c-\x1f\u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000])).",
    re.DOTALL,
)


class _SparkText(TextMap):
    """A change of texts for which Spark has a function."""

    spark: str
    """The name of the function in :mod:`pyspark.sql.functions`."""
    spark_arguments: tuple[str, ...] = ()

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions

        schema = frame.columns.schema(self.column)
        if schema is None or not is_text(schema):
            return
        given = [functions.lit(each) for each in self.spark_arguments]
        changed = getattr(functions, self.spark)(frame.column(self.column), *given)
        frame.put(self.column, changed, schema)


@plugin(name="uppercase", description="Changes texts to upper case.")
class Uppercase(_SparkText):
    categories = ("transform",)
    examples = ("uppercase :name",)
    spark = "upper"

    def map_text(self, text: str) -> str:
        return text.upper()


@plugin(name="lowercase", description="Changes texts to lower case.")
class Lowercase(_SparkText):
    categories = ("transform",)
    examples = ("lowercase :email",)
    spark = "lower"

    def map_text(self, text: str) -> str:
        return text.lower()


@plugin(
    name="titlecase",
    description="Changes the first letter of each word to upper case, the others to lower case.",
)
class Titlecase(TextMap):
    categories = ("transform",)
    examples = ("titlecase :title",)

    def map_text(self, text: str) -> str:
        return _WORD_START.sub(lambda first: _to_title_case(first.group()), text.lower())


def _to_title_case(letter: str) -> str:
    """Change a letter as ``Character.toTitleCase``: one whose title case is several letters stays."""
    titled = letter.title()
    return titled if len(titled) == 1 else letter


@plugin(name="trim", description="Removes the spaces at both ends of texts.")
class Trim(_SparkText):
    categories = ("transform",)
    examples = ("trim :name",)
    spark = "btrim"
    spark_arguments = (SPACES,)

    def map_text(self, text: str) -> str:
        return text.strip(SPACES)


@plugin(name="ltrim", description="Removes the spaces at the start of texts.")
class LeftTrim(_SparkText):
    categories = ("transform",)
    examples = ("ltrim :name",)
    spark = "ltrim"
    spark_arguments = (SPACES,)

    def map_text(self, text: str) -> str:
        return text.lstrip(SPACES)


@plugin(name="rtrim", description="Removes the spaces at the end of texts.")
class RightTrim(_SparkText):
    categories = ("transform",)
    examples = ("rtrim :name",)
    spark = "rtrim"
    spark_arguments = (SPACES,)

    def map_text(self, text: str) -> str:
        return text.rstrip(SPACES)
