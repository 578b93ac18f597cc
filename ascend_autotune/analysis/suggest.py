"""The closest known name, for messages about a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to `name`, letter case aside; None where none is close.

    Where no whole name is, one of whose words it is close to: BLOK is meant for BLOCK_SIZE.
    """
    folded = {candidate.lower(): candidate for candidate in known}
    words = {
        word: candidate
        for lower, candidate in reversed(folded.items())
        for word in lower.split("_")
        if len(word) > 2
    }
    for names, cutoff in ((folded, 0.6), (words, 0.75)):
        found = get_close_matches(name.lower(), names, n=1, cutoff=cutoff)
        if found:
            return names[found[0]]
    return None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'X'?`, or else the list of what is known."""
    names = list(dict.fromkeys(known))
    match = closest(name, names)
    if match is not None:
        return f"; did you mean {match!r}?"
    return f"; it has: {', '.join(names)}" if names else ""
