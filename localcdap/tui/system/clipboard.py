"""The way to the clipboard of the terminal, also over SSH and out of tmux: OSC 52."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from typing import Final

MAX_BYTES: Final = 1_000_000
"""What is copied at most; many terminals take less, none of them says so."""


def build_osc52(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """The control sequence that has a terminal put a text into its clipboard.

    tmux gets it twice: as its own (``set-clipboard on``), and passed through to the terminal around it
    (``allow-passthrough on``); GNU screen only passed through.
    """
    coded = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    plain = f"\x1b]52;c;{coded}\x07"
    if environment.get("TMUX"):
        return plain + "\x1bPtmux;" + plain.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environment.get("TERM", "").startswith("screen"):
        return f"\x1bP{plain}\x1b\\"
    return plain
