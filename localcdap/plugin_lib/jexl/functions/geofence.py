"""``geo:``: whether a point lies inside geofences, which are given as GeoJSON."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import itertools
import json
from typing import Any

from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace

geo = FunctionNamespace("geo")


@geo("N N S -> B", "InFence", "inFence")
def InFence(latitude: Any, longitude: Any, geofences: str | None) -> bool:
    """Return whether any polygon of a feature collection contains the point, by its winding number.

    False if an argument is null, as in the original's ``GeoFences``.
    """
    if latitude is None or longitude is None or geofences is None:
        return False
    latitude, longitude = float(latitude), float(longitude)
    return any(_is_inside(ring, longitude, latitude) for ring in _rings(geofences))


def _rings(document: str | None) -> list[list[tuple[float, float]]]:
    """Return the outer rings; each must be closed, as GeoJSON requires."""
    try:
        features = json.loads(document or "null")["features"]
        return [_ring(feature["geometry"]) for feature in features]
    except (LookupError, TypeError, json.JSONDecodeError):
        raise ValueError("the fence is not a GeoJSON feature collection of polygons") from None


def _ring(geometry: Any) -> list[tuple[float, float]]:
    if geometry["type"] != "Polygon":
        raise ValueError(f"a fence is a {geometry['type']}, not a Polygon")
    ring = [(float(point[0]), float(point[1])) for point in geometry["coordinates"][0]]
    if len(ring) < 4 or ring[0] != ring[-1]:
        raise ValueError("a fence's polygon is not closed: its last point must be its first")
    return ring


def _is_inside(ring: list[tuple[float, float]], x: float, y: float) -> bool:
    winding = 0
    for (x0, y0), (x1, y1) in itertools.pairwise(ring):
        side = (x1 - x0) * (y - y0) - (x - x0) * (y1 - y0)
        if y0 <= y < y1 and side > 0:
            winding += 1
        elif y1 <= y < y0 and side < 0:
            winding -= 1
    return winding != 0
