"""``string:``: what its functions are declared with."""

from __future__ import annotations

from localcdap.plugin_lib.jexl.functions.registry import Namespace

string = Namespace("string")
