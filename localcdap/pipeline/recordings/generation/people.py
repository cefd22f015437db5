"""The texts about one person, company and place, which fit each other within a record."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import LocalcdapError

if TYPE_CHECKING:
    from random import Random

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
