"""The language of recipes: a :class:`Recipe` is what a text says, as :class:`DirectiveCall` and
:class:`~localcdap.workspace_views.RecipeProblem` objects.

>>> from localcdap.plugin_lib.wrangler.recipe.registry import load_shipped_directives
>>> declared = load_shipped_directives().arguments
>>> parse_recipe("uppercase :name; rename :naem", declared).errors[0].usage
'rename :source :target'
"""

from localcdap.plugin_lib.wrangler.language.model import (
    DirectiveCall,
    ExpressionSource,
    LoadPragma,
    Recipe,
)
from localcdap.plugin_lib.wrangler.language.parser import (
    NO_RULES,
    DirectiveRules,
    format_call,
    format_recipe,
    list_loaded_directives,
    parse_recipe,
)

__all__ = [
    "NO_RULES",
    "DirectiveCall",
    "DirectiveRules",
    "ExpressionSource",
    "LoadPragma",
    "Recipe",
    "format_call",
    "format_recipe",
    "list_loaded_directives",
    "parse_recipe",
]
