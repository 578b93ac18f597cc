"""The closest known name, for messages about a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to `name`, letter case aside; None where none is close."""
    folded = {candidate.lower(): candidate for candidate in known}
    found = get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'X'?`, or else the list of what is known."""
    names = list(dict.fromkeys(known))
    match = closest(name, names)
    if match is not None:
        return f"; did you mean {match!r}?"
    return f"; it has: {', '.join(names)}" if names else ""
