"""The token of the REST server of an instance: a file that only its user can read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from localcdap.api.errors import StoreError
from localcdap.server.access import are_equal, create_secret

_MODE = 0o600


def read_token(file: Path) -> str:
    """Return the token, which is made if there is none. It stays the same, so that clients can keep it.

    :raises StoreError: when the file cannot be used, or other users can read it.
    """
    try:
        with file.open(encoding="ascii") as found:
            if os.fstat(found.fileno()).st_mode & 0o077:
                raise StoreError(
                    f"Other users can read the token in {file}.",
                    f"Remove the file; the next start makes another token: rm '{file}'",
                )
            token = found.read().strip()
    except FileNotFoundError:
        return _create_token(file)
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"The token in {file} cannot be read: {error}.") from None
    if not token:
        raise StoreError(f"There is no token in {file}.", f"Remove the file: rm '{file}'")
    return token


def _create_token(file: Path) -> str:
    token = create_secret()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
        with os.fdopen(descriptor, "w", encoding="ascii") as created:
            created.write(f"{token}\n")
    except FileExistsError:  # another server was faster
        return read_token(file)
    except OSError as error:
        raise StoreError(f"The token cannot be written to {file}: {error.strerror}.") from None
    return token


def has_token(headers: Mapping[str, str], token: str) -> bool:
    """Return whether a request has the token, as ``Authorization: Bearer TOKEN``."""
    scheme, _, given = headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and are_equal(given.strip(), token)
