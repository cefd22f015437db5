"""The version of localcdap; the build reads it here. To look it up in the installed package takes 15 ms."""

from __future__ import annotations

VERSION = "0.1.0"
