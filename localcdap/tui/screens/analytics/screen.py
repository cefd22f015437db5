"""The analytics screen: experiments, their splits and models, and the keys that work on them."""

from __future__ import annotations

from localcdap.tui.screens.analytics.model_keys import ModelKeys


class AnalyticsScreen(ModelKeys):
    """The area Analytics with all of its keys."""
