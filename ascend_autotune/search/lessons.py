"""What failures teach: an overflow rules out everything that needs at least as much.

A `Lessons` may be kept by the caller and passed to the next search of the same kernel, so
that what overflowed for one key is not compiled again for another.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed

# The compiler or the chip refused the program itself: for any data it would do so again.
_LASTING = ("overflow", "timeout")


@dataclass(frozen=True)
class Overflow:
    """A config of `program` that did not fit, with its need in bytes by memory as far as known."""

    program: Hashable
    config: Config
    memory: str | None
    bytes: Mapping[str, int]
    kind: str = "overflow"

    def rules_out(self, program: Hashable, config: Config, needs: Mapping[str, int]) -> bool:
        """Whether `config` needs at least as much.

        By bytes where both are known. Else by size: the same program (other types or constants
        take other memory), the same profile and kinds, and no number smaller; a larger tile
        never needs less of a memory (docs/search.md has the exceptions that cost a config a
        chance, never a wrong result).
        """
        memory = self.memory or ""
        if self.kind == "overflow" and memory in self.bytes and memory in needs:
            return needs[memory] >= self.bytes[memory]
        return (
            program == self.program
            and config.profile == self.config.profile
            and _covers(config.candidate, self.config.candidate)
        )


# Fields of triton.Config that are no size: another number of warps is another program.
_KINDS = ("num_warps", "num_ctas", "maxnreg")


def _covers(larger: Mapping[str, object], smaller: Mapping[str, object]) -> bool:
    if larger.keys() != smaller.keys():
        return False
    for name, value in smaller.items():
        other = larger[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or name in _KINDS:
            if other != value:
                return False
        elif not isinstance(other, int | float) or other < value:
            return False
    return True


@dataclass
class Lessons:
    """Failures that say something about configs not yet tried."""

    overflows: list[Overflow] = field(default_factory=list)

    def learn(
        self, program: Hashable, config: Config, failed: ConfigFailed, needs: Mapping[str, int]
    ) -> None:
        if failed.kind in _LASTING:
            self.overflows.append(
                Overflow(program, config, failed.memory, dict(needs), failed.kind)
            )

    def verdict(self, program: Hashable, config: Config, needs: Mapping[str, int]) -> str:
        """Why `config` is not worth a compile; "" where nothing is known against it."""
        for past in self.overflows:
            if past.rules_out(program, config, needs):
                what = past.memory or "memory"
                if past.kind == "timeout":
                    return f"at least as large as [{past.config}], whose compile did not end"
                if past.config == config:
                    return f"{what} overflowed in an earlier search of this kernel"
                return f"needs at least as much {what} as [{past.config}], which overflowed"
        return ""
