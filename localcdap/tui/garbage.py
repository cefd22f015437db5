"""The garbage collector kept out of the way of keys."""

from __future__ import annotations

import gc


def set_aside() -> None:
    """Clear up now, and leave what is there out of later rounds, until this is called again.

    A full round over an open pipeline takes 50 ms and more, and would come every few dozen keys.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
