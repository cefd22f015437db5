"""Makes the modules of the shipped artifact importable, as its own plugins import them."""

from __future__ import annotations

import sys

from tests.conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "plugins_dir" / "wrangler"))
