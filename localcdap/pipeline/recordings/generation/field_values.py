"""The values of generated fields, by the words of their names and by their types.

Texts about one person, company or place fit each other within a record.
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from random import Random
from typing import Any, Final

from localcdap.api.errors import LocalcdapError
from localcdap.api.schema import LogicalType, Schema, Type

_INSTALL: Final = "pip install 'localcdap[generate]'"


def load_provider(seed: int) -> Any:
    """Return the generator of names and addresses.

    :raises LocalcdapError: when its library is not installed.
    """
    try:
        from mimesis import Generic
        from mimesis.locales import Locale
    except ImportError:
        raise LocalcdapError(
            "Generated records need the library mimesis, which is not installed.",
            f"Install it: {_INSTALL}",
        ) from None
    return Generic(Locale.EN, seed=seed)


class Person:
    """The texts of one record. Each is made when it is first asked for.

    :param provider: see :func:`load_provider`.
    """

    def __init__(self, provider: Any, random: Random) -> None:
        self._provider = provider
        self._random = random

    @cached_property
    def first_name(self) -> str:
        return str(self._provider.person.first_name())

    @cached_property
    def last_name(self) -> str:
        return str(self._provider.person.last_name())

    @property
    def full_name(self) -> str:
        return f"{self.first_name} {self.last_name}"

    @property
    def user_name(self) -> str:
        return _make_plain(f"{self.first_name}.{self.last_name}")

    @property
    def email(self) -> str:
        # Domains that nobody can own (RFC 2606).
        return f"{self.user_name}@example.{self._random.choice(('com', 'org', 'net'))}"

    @property
    def phone(self) -> str:
        # Numbers for fiction (North American Numbering Plan).
        area, line = self._random.randint(201, 989), self._random.randint(100, 199)
        return f"+1 {area} 555 0{line}"

    @cached_property
    def city(self) -> str:
        return str(self._provider.address.city())

    @cached_property
    def state(self) -> str:
        return str(self._provider.address.state())

    @cached_property
    def country(self) -> str:
        return str(self._provider.address.country())

    @property
    def street(self) -> str:
        name = self._provider.address.street_name()
        kind = self._random.choice(("Street", "Road", "Avenue", "Lane"))
        return f"{self._random.randint(1, 400)} {name} {kind}"

    @property
    def address(self) -> str:
        return f"{self.street}, {self.postal_code} {self.city}"

    @cached_property
    def postal_code(self) -> str:
        return f"{self._random.randint(10000, 99950):05d}"

    @cached_property
    def company(self) -> str:
        return str(self._provider.finance.company())

    @property
    def web_address(self) -> str:
        return f"https://www.example.com/{_make_plain(self.company)}"

    def make(self, what: str) -> str:
        """Return any other text that the library knows, such as ``person.occupation``."""
        section, _, name = what.partition(".")
        method: Callable[[], object] = getattr(getattr(self._provider, section), name)
        return str(method())


def _make_plain(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")


_BORDER: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\W_]+")


def split_words(name: str) -> list[str]:
    """Return the words of a name in lower case, divided by signs and by capital letters.

    >>> split_words("CustomerID_key")
    ['customer', 'id', 'key']
    """
    return [word.lower() for word in _BORDER.split(name) if word]


MakeText = Callable[[Person, Random], str]
MakeValue = Callable[[Person, Random], Any]
_FIRST_DAY: Final = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
"""Times lie within a year from here, so that the same seed gives the same records on any day."""
_YEAR_S: Final = 365 * 24 * 3600
_MOST_ITEMS: Final = 3


def _choose(*texts: str) -> MakeText:
    return lambda _, random: random.choice(texts)


def _know(what: str) -> MakeText:
    return lambda person, _: person.make(what)


def _make_card(_: Person, random: Random) -> str:
    """Return a number with the form and check digit of a payment card, of a range for tests."""
    from stdnum import luhn

    digits = "411111" + "".join(random.choice("0123456789") for _ in range(9))
    return f"{digits}{luhn.calc_check_digit(digits)}"


def _make_iban(_: Person, random: Random) -> str:
    from stdnum import iban

    account = f"{random.randint(10**17, 10**18 - 1)}"
    return f"DE{iban.calc_check_digits(f'DE00{account}')}{account}"


_TEXTS: Final[tuple[tuple[frozenset[str], MakeText], ...]] = tuple(
    (frozenset(words.split()), make)
    for words, make in (
        ("email mail", lambda person, _: person.email),
        ("first given fname firstname vorname forename", lambda person, _: person.first_name),
        ("last family surname lname lastname nachname", lambda person, _: person.last_name),
        ("username login", lambda person, _: person.user_name),
        ("phone mobile cell tel telephone fax telf1", lambda person, _: person.phone),
        (
            "company organization organisation employer vendor supplier account bank",
            lambda person, _: person.company,
        ),
        ("street stras", lambda person, _: person.street),
        ("address addr", lambda person, _: person.address),
        ("city town ort01 location", lambda person, _: person.city),
        ("state province region regio", lambda person, _: person.state),
        ("zip postal postcode zipcode pstlz plz", lambda person, _: person.postal_code),
        ("country nation", lambda person, _: person.country),
        ("land1", _know("address.country_code")),
        ("url website link referer referrer uri", lambda person, _: person.web_address),
        ("ip host ipaddress", _know("internet.ip_v4")),
        ("agent useragent", _know("internet.user_agent")),
        ("uuid guid", _know("cryptographic.uuid")),
        ("currency waers curr", _choose("USD", "EUR", "GBP", "JPY")),
        ("iban", _make_iban),
        ("card creditcard pan", _make_card),
        (
            "ssn",
            lambda _, random: (
                f"{random.randint(900, 999)}-{random.randint(10, 99)}-{random.randint(1000, 9999)}"
            ),
        ),
        ("gender sex", _choose("female", "male")),
        ("language lang spras", _know("person.language")),
        ("job title occupation profession position", _know("person.occupation")),
        ("color colour", _know("text.color")),
        ("product item article material matnr sku", _know("food.fruit")),
        ("status", _choose("new", "open", "closed", "cancelled")),
        ("category class type kind group segment", _choose("A", "B", "C", "D")),
        ("department team", _choose("sales", "finance", "support", "research")),
        (
            "description comment text body message note content review tweet sentence summary subject",
            _know("text.sentence"),
        ),
        ("file path filename", lambda _, random: f"data/{random.randint(1, 99)}.csv"),
        (
            "name person customer employee contact user owner author patient",
            lambda person, _: person.full_name,
        ),
    )
)
"""By words of a field's name, the texts; the first entry with one of its words wins."""
_TIME_WORDS: Final = frozenset(
    [
        "date",
        "time",
        "timestamp",
        "datetime",
        "ts",
        "day",
        "created",
        "updated",
        "modified",
        "birthday",
        "birth",
        "dob",
        "at",
    ]
)
_NUMBERS: Final[tuple[tuple[frozenset[str], float, float], ...]] = tuple(
    (frozenset(words.split()), low, high)
    for words, low, high in (
        ("year", 2015, 2025),
        ("month", 1, 12),
        ("day", 1, 28),
        ("hour", 0, 23),
        ("minute second", 0, 59),
        ("age", 18, 90),
        ("latitude lat", -90, 90),
        ("longitude lon lng", -180, 180),
        ("percent percentage pct rate ratio share discount", 0, 1),
        ("temperature temp", -10, 40),
        ("quantity qty count number num items menge", 1, 20),
        ("rating score stars grade", 1, 5),
        ("price cost fee tax", 1, 500),
        ("amount total sum revenue sales value balance netwr", 10, 5000),
        ("salary income", 20_000, 150_000),
        ("zip postal", 10_000, 99_950),
    )
)
"""By words of a field's name, the smallest and the greatest number."""
_FLAG_WORDS: Final = frozenset(["is", "has", "flag", "active", "enabled", "deleted"])
_PLAIN_WORDS: Final = [
    "alpha",
    "bravo",
    "charlie",
    "delta",
    "echo",
    "foxtrot",
    "golf",
    "hotel",
    "india",
    "juliett",
    "kilo",
    "lima",
    "mike",
    "november",
    "oscar",
    "papa",
]
_SIMPLE_NUMBERS: Final = (Type.INT, Type.LONG, Type.FLOAT, Type.DOUBLE)


def build_value_maker(name: str, schema: Schema) -> MakeValue:
    """Return what makes the values of a field that are not null.

    :param name: of the field, whose words say what its values mean.
    """
    inner = schema.non_nullable
    words = split_words(name)
    if inner.logical_type is not None:
        return _build_logical(words, inner)
    match inner.type:
        case Type.BOOLEAN:
            return lambda _, random: random.random() < 0.5
        case kind if kind in _SIMPLE_NUMBERS:
            return _build_number(words, kind)
        case Type.STRING:
            return _build_text(words)
        case Type.BYTES:
            text = _build_text(words)
            return lambda person, random: text(person, random).encode()
        case Type.ENUM:
            symbols = list(inner.symbols)
            return lambda _, random: random.choice(symbols)
        case Type.NULL:
            return lambda _, __: None
    return _build_nested(name, inner)


def _build_text(words: Sequence[str]) -> MakeText:
    found = set(words)
    for keys, make in _TEXTS:
        if keys & found:
            return make
    if found & _TIME_WORDS:
        return lambda _, random: _make_time(random).strftime("%Y-%m-%d %H:%M:%S")
    if found & _FLAG_WORDS:
        return _choose("true", "false")
    bounds = _find_bounds(words)
    if bounds is not None:
        low, high = bounds
        if high > 1:
            return lambda _, random: str(random.randint(int(low), int(high)))
        return lambda _, random: f"{random.uniform(low, high):.2f}"
    return lambda _, random: random.choice(_PLAIN_WORDS)


def _find_bounds(words: Sequence[str]) -> tuple[float, float] | None:
    found = set(words)
    for keys, low, high in _NUMBERS:
        if keys & found:
            return low, high
    return None


def _build_number(words: Sequence[str], type: Type) -> MakeValue:
    found = set(words)
    if type is Type.LONG and found & _TIME_WORDS and not found & {"day"}:
        return lambda _, random: int(_make_time(random).timestamp() * 1000)
    low, high = _find_bounds(words) or (0, 1000)
    if type in (Type.INT, Type.LONG):
        high = high if high > 1 else 100
        return lambda _, random: random.randint(int(low), int(high))
    return lambda _, random: round(random.uniform(low, high), 2)


def _build_logical(words: Sequence[str], schema: Schema) -> MakeValue:
    is_birth = bool({"birth", "birthday", "birthdate", "dob"} & set(words))
    match schema.logical_type:
        case LogicalType.DATE if is_birth:
            return lambda _, random: (
                datetime.date(random.randint(1950, 2005), 1, 1)
                + (datetime.timedelta(random.randint(0, 364)))
            )
        case LogicalType.DATE:
            return lambda _, random: _make_time(random).date()
        case LogicalType.TIME_MILLIS | LogicalType.TIME_MICROS:
            return lambda _, random: _make_time(random).time()
        case LogicalType.TIMESTAMP_MILLIS | LogicalType.TIMESTAMP_MICROS:
            return lambda _, random: _make_time(random)
        case LogicalType.DATETIME:
            return lambda _, random: _make_time(random).replace(tzinfo=None)
    return _build_decimal(words, schema.precision or 1, schema.scale or 0)


def _build_decimal(words: Sequence[str], precision: int, scale: int) -> MakeValue:
    most = 10 ** (precision - scale) - 1
    low, high = _find_bounds(words) or (0, 1000)
    low, high = max(low, -most), min(high, most)

    def make(_: Person, random: Random) -> decimal.Decimal:
        units = random.randint(int(low * 10**scale), int(high * 10**scale))
        return decimal.Decimal(units).scaleb(-scale)

    return make


def _make_time(random: Random) -> datetime.datetime:
    return _FIRST_DAY + datetime.timedelta(seconds=random.randrange(_YEAR_S))


def _build_nested(name: str, schema: Schema) -> MakeValue:
    match schema.type:
        case Type.ARRAY if schema.items is not None:
            item = build_value_maker(name, schema.items)
            return lambda person, random: [
                item(person, random) for _ in range(random.randint(1, _MOST_ITEMS))
            ]
        case Type.MAP if schema.keys is not None and schema.values is not None:
            key = build_value_maker("", schema.keys)
            value = build_value_maker(name, schema.values)
            return lambda person, random: {
                key(person, random): value(person, random)
                for _ in range(random.randint(1, _MOST_ITEMS))
            }
        case Type.UNION:
            first = next(
                (m for m in schema.members if m.type is not Type.NULL), Schema.of(Type.NULL)
            )
            return build_value_maker(name, first)
    makers = {each.name: build_value_maker(each.name, each.schema) for each in schema}
    return lambda person, random: {key: make(person, random) for key, make in makers.items()}
