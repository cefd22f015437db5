"""Makes the packages of the shipped artifacts importable by their own names."""

from __future__ import annotations

import sys

from tests.conftest import REPOSITORY

for artifact in sorted((REPOSITORY / "plugins_dir").iterdir()):
    if (artifact / "pyproject.toml").exists() and str(artifact) not in sys.path:
        sys.path.insert(0, str(artifact))
