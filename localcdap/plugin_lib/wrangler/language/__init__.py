"""The language of recipes: a text read as calls of directives, with everything that is wrong with it.

>>> from localcdap.plugin_lib.wrangler.recipe.registry import shipped
>>> parse("uppercase :name; rename :naem", shipped().arguments()).errors[0].usage
'rename :source :target'
"""

from localcdap.plugin_lib.wrangler.language.model import Call, Code, Load, Problem, Recipe
from localcdap.plugin_lib.wrangler.language.parser import (
    NO_RULES,
    DirectiveRules,
    loaded_names,
    parse,
)
from localcdap.plugin_lib.wrangler.language.printer import print_call, print_recipe

__all__ = [
    "NO_RULES",
    "Call",
    "Code",
    "DirectiveRules",
    "Load",
    "Problem",
    "Recipe",
    "loaded_names",
    "parse",
    "print_call",
    "print_recipe",
]
