"""Do hints ask for a search? All that decorating a kernel without one has to know."""

from __future__ import annotations

from collections.abc import Mapping


def wants_search(hints: object) -> bool:
    """Do these hints ask for our search, rather than for stock tuning?"""
    return isinstance(hints, Mapping) and (
        "search_params" in hints
        or any(hints.get(name) for name in ("split_params", "tiling_params"))
    )
