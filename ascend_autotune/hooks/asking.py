"""Do hints ask for a search? All that decorating a kernel without one has to know."""

from __future__ import annotations

from collections.abc import Mapping

_SEARCH = "search_params"


def complain(hints: object) -> None:
    """Raise `RequestError` for hints that were meant for a search and do not say so."""
    from difflib import get_close_matches

    from ascend_autotune.errors import RequestError

    if not isinstance(hints, Mapping):
        raise RequestError(f"hints is {hints!r}: give a dict such as {{'search_params': {{...}}}}")
    for name in hints:
        if get_close_matches(str(name), [_SEARCH], 1, 0.8):
            raise RequestError(f"hints: unknown field {name!r}; did you mean {_SEARCH!r}?")
        if name in ("params", "values"):
            raise RequestError(f"hints: {name} belongs inside {_SEARCH}")


def wants_search(hints: object) -> bool:
    """Do these hints ask for our search, rather than for stock tuning?"""
    return isinstance(hints, Mapping) and (
        "search_params" in hints
        or any(hints.get(name) for name in ("split_params", "tiling_params"))
    )
