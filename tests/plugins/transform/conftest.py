"""Makes the packages of the shipped artifacts importable by their own names."""

from __future__ import annotations

import sys

from tests.conftest import REPOSITORY

for artifact in ("core-plugins", "transform-plugins"):
    folder = str(REPOSITORY / "plugins_dir" / artifact)
    if folder not in sys.path:
        sys.path.insert(0, folder)
