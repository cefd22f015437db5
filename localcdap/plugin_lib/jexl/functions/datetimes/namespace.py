"""``datetime:``: what its functions are declared with."""

from __future__ import annotations

import datetime

from localcdap.plugin_lib.jexl.functions.registry import Namespace

moments = Namespace("datetime")
Date = datetime.date | None
Time = datetime.time | None
DateTime = datetime.datetime | None
