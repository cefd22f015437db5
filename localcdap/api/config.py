"""Plugin configuration: declared once, as a class with annotated fields.

From one declaration localcdap parses a stage's properties, reports failures, renders the form of every front
end, and gives the plugin typed values.
"""

from __future__ import annotations

import copy
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal

import msgspec

from localcdap.api.declarations import reject_declaration
from localcdap.api.errors import SchemaError
from localcdap.api.failures import FailureCollector
from localcdap.api.schema import Schema

_REQUIRED: Final = object()
_NAME: Final = re.compile(r"[A-Za-z_-][A-Za-z0-9_.-]*")
_Config = typing.TypeVar("_Config", bound="PluginConfig")
_PLUGIN_FORM: Final = re.compile(r"\{plugin:(\w+)\}")


class NamedPlugins(msgspec.Struct, frozen=True):
    """How the value of a property names other plugins, which the code of its plugin can then load.

    The host reads names by this declaration alone: it never runs the code of a plugin.
    """

    type: str
    """The type of the named plugins, such as ``directive``."""
    after: str | None = None
    """Words in the value that names follow, up to a semicolon or the end of the line; None: the value is a
    comma-separated list of names."""
    shares_properties: bool = False
    """Whether the properties of the stage are those of the named plugins, too, as those of formats are."""

    def find_names(self, value: str) -> list[str]:
        """Return the names in a value, each once. Some may name no plugin: a comment is not recognized."""
        if self.after is None:
            return list(dict.fromkeys(_parse_list(value)))
        words = self.after.split()
        if not words or words[0] not in value:  # most values name nothing, and each edit asks
            return []
        lists = re.findall(r"\s+".join(map(re.escape, words)) + r"\b([^;\n]*)", value)
        return list(dict.fromkeys(name for each in lists for name in _NAME.findall(each)))


class PluginProperty(msgspec.Struct, rename="camel"):
    """One configuration property as front ends see it. ``name`` is the key in a pipeline document."""

    name: str
    description: str
    type: str
    """``string``, ``int``, ``long``, ``float``, ``double``, ``boolean``, ``list``, ``schema``."""
    required: bool
    macro_supported: bool
    macro_escaping_enabled: bool = False
    default: str | None = None
    """The text of the default value; None when an absent property has no value."""
    choices: list[str] = []
    """Allowed values, compared without regard to case; empty when any value is allowed."""
    secret: bool = False
    syntax: str | None = None
    """Language of a multi-line value: ``javascript``, ``python``, ``sql``, ``wrangler``, ``text``."""
    form: str | None = None
    """The form of the value, or of each element of a comma-separated list: see :func:`field`."""
    group: str | None = None
    """The heading under which front ends show the property; None for the first properties."""
    uses: NamedPlugins | msgspec.UnsetType = msgspec.UNSET
    """How the value names other plugins; absent for a property that names none."""
    addition: str | msgspec.UnsetType = msgspec.UNSET
    """Why the property exists, where the plugin of this name in CDAP has no such property."""
    former_names: list[str] | msgspec.UnsetType = msgspec.UNSET
    """Names that the property had in earlier versions of the plugin; absent when there are none."""

    def is_default(self, value: str) -> bool:
        """Return whether a text says the same as no value: it is empty, or the default in any case."""
        text = value.strip().lower()
        return not text or text == (self.default or "").strip().lower()


class ConfigField:
    """A declared property, which :func:`field` creates."""

    def __init__(
        self,
        description: str,
        default: Any,
        choices: Iterable[str],
        macro: bool | None,
        name: str | None,
        secret: bool,
        syntax: str | None,
        form: str | None = None,
        group: str | None = None,
        uses: NamedPlugins | None = None,
        addition: str | None = None,
        former_names: Iterable[str] = (),
    ) -> None:
        self.description: Final = description
        self.default: Final = default
        self.choices: Final = tuple(choices)
        self.secret: Final = secret
        self.syntax: Final = syntax
        self.form: Final = form
        self.group: Final = group
        named = _PLUGIN_FORM.search(form or "")
        self.uses: Final = uses or (NamedPlugins(named[1]) if named else None)
        self.addition: str | None = addition
        self.former_names: Final = tuple(former_names)
        self.macro: bool | None = macro
        self.property: str = name or ""
        self.attribute: str = ""
        self.type: Any = str

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute = name

    def complete(self, type_: Any, rename: Literal["camel"] | None, macros: bool) -> None:
        """Set what the declaration leaves to the class."""
        self.type = type_
        self.property = self.property or _rename(self.attribute, rename)
        self.macro = macros if self.macro is None else self.macro

    @property
    def required(self) -> bool:
        return self.default is _REQUIRED

    @property
    def type_name(self) -> str:
        return _TYPE_NAMES[self.type]

    def parse(self, text: str) -> Any:
        """Parse the text of a property.

        :raises ValueError: when the text is invalid; the message completes "Property 'x' …".
        """
        value = _PARSERS[self.type](text)
        if self.choices and self.type is str:
            return self._match_choice(value)
        if self.choices and self.type == list[str]:
            return [self._match_choice(element) for element in value]
        return value

    def _match_choice(self, value: str) -> str:
        for choice in self.choices:
            if choice.lower() == value.strip().lower():
                return choice
        raise ValueError(f"must be one of {', '.join(self.choices)}, not '{value}'.")

    def describe(self) -> PluginProperty:
        """Return the property as front ends see it."""
        return PluginProperty(
            name=self.property,
            description=self.description,
            type=self.type_name,
            required=self.required,
            macro_supported=bool(self.macro),
            default=None if self.required else _format_default(self.default),
            choices=list(self.choices),
            secret=self.secret,
            syntax=self.syntax,
            form=self.form,
            group=self.group,
            uses=self.uses or msgspec.UNSET,
            addition=self.addition or msgspec.UNSET,
            former_names=list(self.former_names) or msgspec.UNSET,
        )


def field(
    description: str,
    *,
    default: Any = _REQUIRED,
    choices: Iterable[str] = (),
    macro: bool | None = None,
    name: str | None = None,
    secret: bool = False,
    syntax: str | None = None,
    form: str | None = None,
    group: str | None = None,
    uses: NamedPlugins | None = None,
    addition: str | None = None,
    former_names: Iterable[str] = (),
) -> Any:
    """Declare a property of a :class:`PluginConfig`.

    :param description: one or more sentences for the person who fills in the property.
    :param default: the value when the property is absent or empty; required when left out. None
        means an absent property has no value (annotate ``X | None``).
    :param choices: allowed texts, matched without regard to case; the value read is the declared
        spelling.
    :param macro: whether the property may contain macros, ``${…}``; by default what the class says. Until a
        macro is evaluated the property has its default value, and :meth:`PluginConfig.contains_macro` is
        true.
    :param name: the key in a pipeline document (``"schema.row.field"``); by default the name of the
        attribute, renamed as the class says.
    :param secret: whether the value is masked in front ends and never logged.
    :param syntax: language of a multi-line value, for editors: ``javascript``, ``python``, ``sql``.
    :param form: the form of the value, from which editors offer choices; it is not validated.
        ``{input-field}`` offers fields of the input, ``{output-field}`` fields of the output,
        ``{input-stage}`` input stages, ``{joined-field}`` fields of input stages as ``stage.field as
        name``, ``{join-keys}`` pairs of such fields as ``a.id = b.id``, ``{type}`` names of types,
        ``{path}`` files and folders, ``{folder}`` folders, ``{codec:snappy|gzip}`` these words,
        ``{plugin:directive}`` names of plugins of that type, which the stage can then use; any other word in
        braces is only a heading. A comma at the end, as in ``{input-field}:{type},``, makes it a list of such
        elements.
    :param group: the heading under which front ends show the property, with the others of that group.
    :param uses: how a text names other plugins that the plugin loads; a ``form`` with ``{plugin:TYPE}`` says
        so by itself.
    :param addition: why the property exists, for a plugin that replaces one of CDAP's which has no such
        property. CDAP and Data Fusion ignore the property; a pipeline that sets it gets a warning.
    :param former_names: names that the property had in earlier versions of the plugin. Pipelines that use
        them keep working and get a warning; the value under the present name goes first.
    """
    return ConfigField(
        description,
        default,
        choices,
        macro,
        name,
        secret,
        syntax,
        form,
        group,
        uses,
        addition,
        former_names,
    )


def use_present_names(
    properties: Mapping[str, str], declared: Mapping[str, ConfigField | PluginProperty]
) -> dict[str, str]:
    """Return properties with the present name of each that has a former one.

    A former name whose property also has a value under its present name is dropped.

    :param properties: texts by name, as a document has them.
    :param declared: the properties of the plugin by their present names.
    """
    present = {
        former: name for name, info in declared.items() for former in info.former_names or ()
    }
    if present.keys().isdisjoint(properties):
        return dict(properties)
    renamed = {present[name]: text for name, text in properties.items() if text and name in present}
    others = {
        name: text
        for name, text in properties.items()
        if name not in present and (text or name not in renamed)
    }
    return renamed | others


class PluginConfig:
    """Base of the ``Config`` class inside a plugin.

    Annotate fields with ``str``, ``int`` (32 bit checks are the plugin's), ``float``, ``bool``,
    ``list[str]`` (comma separated), :class:`Schema` (a record schema document), or one of these
    ``| None``.

    Two arguments of a class hold for the fields that it declares, not for those of its subclasses:
    ``macros=True`` allows macros in each, and ``rename="camel"`` makes the key ``fileRegex`` of the attribute
    ``file_regex``. The argument ``additions`` says of properties, by name, why the plugin has them and CDAP's
    has not, as ``addition`` of :func:`field` does; it holds for inherited properties and for subclasses too.
    """

    _declared: typing.ClassVar[dict[str, ConfigField]] = {}
    _additions: typing.ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(
        cls,
        *,
        macros: bool = False,
        rename: Literal["camel"] | None = None,
        additions: Mapping[str, str] | None = None,
    ) -> None:
        super().__init_subclass__()
        declared: dict[str, ConfigField] = {}
        inherited: dict[str, str] = {}
        for base in reversed(cls.__mro__[1:]):
            declared |= vars(base).get("_declared", {})
            inherited |= vars(base).get("_additions", {})
        hints = _get_hints(cls)
        for attribute, value in list(vars(cls).items()):
            if isinstance(value, ConfigField):
                type_ = _find_value_type(cls, attribute, hints.get(attribute, str))
                value.complete(type_, rename, macros)
                declared[value.property] = value
        cls._additions = inherited | dict(additions or {})
        for name in cls._additions.keys() - declared.keys():
            reject_declaration(
                cls, f"'additions' names '{name}', but the class has no such property."
            )
        cls._declared = {
            name: _mark_addition(info, cls._additions.get(name)) for name, info in declared.items()
        }

    def __init__(
        self,
        values: Mapping[str, Any],
        macros: Iterable[str] = (),
        texts: Mapping[str, str] | None = None,
    ) -> None:
        """Assign values by property name, unchecked; :meth:`build` checks them."""
        self._macros = frozenset(macros)
        self._texts = dict(texts or {})
        self._given: tuple[Mapping[str, str], frozenset[str]] = ({}, frozenset())
        for name, declared in self._declared.items():
            fallback = None if declared.required else copy.copy(declared.default)
            setattr(self, declared.attribute, values.get(name, fallback))

    @classmethod
    def get_fields(cls) -> dict[str, ConfigField]:
        """Return the declared properties by their names in documents, in the order of declaration."""
        return cls._declared

    @classmethod
    def build(
        cls,
        properties: Mapping[str, str],
        failures: FailureCollector,
        macros: Iterable[str] = (),
    ) -> typing.Self:
        """Read the properties of a stage; what is wrong is added to ``failures``.

        An empty text counts as absent. Properties that are not declared are ignored. A former name counts as
        the present one.

        :param macros: names of properties that hold a macro not evaluated yet.
        """
        properties = use_present_names(properties, cls._declared)
        unresolved = {
            name for name in macros if name in cls._declared and cls._declared[name].macro
        }
        values: dict[str, Any] = {}
        for name, declared in cls._declared.items():
            text = properties.get(name)
            if name in unresolved:
                continue
            if text is None or text == "":
                if declared.required:
                    message = f"Required property '{name}' has no value."
                    failures.add(message).with_config_property(name)
                continue
            try:
                values[name] = declared.parse(text)
            except ValueError as error:
                failures.add(f"Property '{name}' {error}").with_config_property(name)
            except SchemaError as error:
                failures.add(error.message, error.corrective_action).with_config_property(name)
        texts = {name: properties[name] for name in unresolved if name in properties}
        config = cls(values, unresolved, texts)
        config._given = (dict(properties), frozenset(macros))
        return config

    def build_for(self, cls: type[_Config], failures: FailureCollector) -> _Config:
        """Read the properties that this configuration was built from as those of another plugin.

        For plugins that a property names with :attr:`NamedPlugins.shares_properties`.
        """
        properties, macros = self._given
        return cls.build(properties, failures, macros)

    def get_given(self) -> dict[str, str]:
        """Return the texts of all properties that this was built from, also of undeclared ones."""
        return dict(self._given[0])

    def contains_macro(self, name: str) -> bool:
        """Return whether a property contains a macro that is not evaluated yet."""
        return name in self._macros

    def text_with_macros(self, name: str) -> str | None:
        """Return the text of a property that contains a macro not evaluated yet; else None."""
        return self._texts.get(name)

    @property
    def macros(self) -> frozenset[str]:
        """The names of all properties that contain a macro not evaluated yet."""
        return self._macros


def _mark_addition(declared: ConfigField, reason: str | None) -> ConfigField:
    if reason is None or declared.addition == reason:
        return declared
    marked = copy.copy(declared)
    marked.addition = reason
    return marked


def _rename(attribute: str, rename: Literal["camel"] | None) -> str:
    if rename is None:
        return attribute
    first, *others = attribute.split("_")
    return first + "".join(word.capitalize() for word in others)


def _get_hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except Exception as error:  # evaluating an annotation can raise anything
        reject_declaration(cls, f"its annotations cannot be read: {type(error).__name__}: {error}")
        return {}


def _find_value_type(owner: type, attribute: str, hint: Any) -> Any:
    """Return the annotated type without ``| None``; report an unsupported type, and return str for it."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = [m for m in typing.get_args(hint) if m is not type(None)]
        hint = members[0] if len(members) == 1 else hint
    if hint not in _PARSERS:
        reject_declaration(
            owner,
            f"field '{attribute}' has the unsupported type {_format_hint(hint)}; use str, int, float, bool, "
            "list[str] or Schema, or one of these | None.",
        )
        return str
    return hint


def _format_hint(hint: Any) -> str:
    return hint.__qualname__ if type(hint) is type else str(hint)


def _parse_int(text: str) -> int:
    if re.fullmatch(r"\s*[+-]?[0-9]+\s*", text) is None:
        raise ValueError(f"must be a whole number, not '{text}'.")
    return int(text)


def _parse_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"must be a number, not '{text}'.") from None


def _parse_bool(text: str) -> bool:
    match text.strip().lower():
        case "true":
            return True
        case "false":
            return False
    raise ValueError(f"must be true or false, not '{text}'.")


def _parse_list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


_PARSERS: Final[dict[Any, Callable[[str], Any]]] = {
    str: str,
    int: _parse_int,
    float: _parse_float,
    bool: _parse_bool,
    list[str]: _parse_list,
    Schema: Schema.parse_record,
}
_TYPE_NAMES: Final[dict[Any, str]] = {
    str: "string",
    int: "long",
    float: "double",
    bool: "boolean",
    list[str]: "list",
    Schema: "schema",
}


def _format_default(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(value)
    return str(value)
