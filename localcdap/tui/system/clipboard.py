"""The clipboard of the terminal, by the OSC 52 sequence, which works over SSH and in tmux."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from typing import Final

MAX_BYTES: Final = 1_000_000
"""The longest text that is copied. Many terminals accept less, and none reports it."""


def build_osc52(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the control sequence that puts a text into the clipboard of the terminal.

    tmux gets it twice: for itself (``set-clipboard on``), and passed through to the outer terminal
    (``allow-passthrough on``); GNU screen only passed through.
    """
    coded = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    plain = f"\x1b]52;c;{coded}\x07"
    if environment.get("TMUX"):
        return plain + "\x1bPtmux;" + plain.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environment.get("TERM", "").startswith("screen"):
        return f"\x1bP{plain}\x1b\\"
    return plain
