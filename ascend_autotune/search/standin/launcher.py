"""A launch on the modelled NPU: what triton-ascend's own launcher checks, then the clock."""

from __future__ import annotations

import logging
import math
import os
from operator import index
from typing import TYPE_CHECKING, Any

from ascend_autotune.search.standin.model import Launch, duration
from ascend_autotune.search.standin.program import Program

if TYPE_CHECKING:
    from ascend_autotune.search.standin.driver import StandinDriver

logger = logging.getLogger("ascend_autotune")
MOST_PROGRAMS = 65_535
_KEPT = 1024  # durations of a kernel: some launches never have the same numbers twice


class Launcher:
    """One compiled kernel's launcher, called as triton-ascend 3.2.0 calls its own."""

    def __init__(self, driver: StandinDriver, src: Any, metadata: Any) -> None:
        self._driver = driver
        self._function = getattr(src, "fn", None)  # none for a kernel compiled from IR
        self._constants: dict[str, Any] = dict(getattr(src, "constants", None) or {})
        self._names = [str(name) for name in src.signature]
        self._types = [str(kind) for kind in src.signature.values()]
        self._values = {**metadata._asdict(), **self._constants}
        self._durations: dict[Launch, float] = {}

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: object,
        program: Program,
        packed: object,
        launch_metadata: object,
        enter_hook: Any,
        exit_hook: Any,
        *arguments: Any,
    ) -> None:
        """Launch over the grid. Raises RuntimeError for a grid that the chip does not take,
        TypeError for an argument that is no pointer where one is due."""
        grid = (index(x), index(y), index(z))  # a launcher takes whole numbers only
        programs = math.prod(grid)
        if programs <= 0:
            return
        if programs > MOST_PROGRAMS and os.getenv("TRITON_ALL_BLOCKS_PARALLEL", "0") == "0":
            raise RuntimeError(
                f"grid {grid}: {programs:,} programs, at most {MOST_PROGRAMS:,} can be launched; "
                f"export TRITON_ALL_BLOCKS_PARALLEL=1 to have them spread over the cores"
            )
        given = (*grid, stream, program, packed, launch_metadata, enter_hook, exit_hook, *arguments)
        # triton-ascend gives its hooks the launch's whole arguments.
        if enter_hook is not None:
            enter_hook(*given)
        self._check(arguments)
        self._launch(grid, program, arguments)
        if exit_hook is not None:
            exit_hook(*given)

    def _check(self, arguments: tuple[Any, ...]) -> None:
        for name, kind, value in zip(self._names, self._types, arguments, strict=True):
            if kind.startswith("*") and not (
                value is None or isinstance(value, int) or hasattr(value, "data_ptr")
            ):
                raise TypeError(f"{name}: a pointer argument must be an int or have data_ptr()")

    def _launch(
        self, grid: tuple[int, int, int], program: Program, arguments: tuple[Any, ...]
    ) -> None:
        driver = self._driver
        spoilt = driver.faults.launching(program.kernel, self._values)
        driver.count("launches")
        seconds = self._seconds(grid, program, arguments)
        driver.clock.advance(seconds)
        if driver.compute and self._function is not None:
            from ascend_autotune.search.standin.compute import compute

            compute(
                self._function,
                {**dict(zip(self._names, arguments, strict=True))} | self._constants,
                grid,
            )
        if spoilt:
            self._spoil(program, arguments)

    def _seconds(
        self, grid: tuple[int, int, int], program: Program, arguments: tuple[Any, ...]
    ) -> float:
        # Arguments that are specialised to a value are no arguments of the program.
        left = [v for n, v in zip(self._names, arguments, strict=True) if n not in self._constants]
        launch = Launch(grid, tuple(map(_scalar, left)), tuple(map(_bytes, left)))
        known = self._durations.get(launch)
        if known is None:
            if len(self._durations) >= _KEPT:
                self._durations.clear()
            known = duration(program, launch, self._driver.figures)
            self._durations[launch] = known
            logger.debug("%s over %s takes %.6f ms (modelled)", program.kernel, grid, known * 1e3)
        return known

    def _spoil(self, program: Program, arguments: tuple[Any, ...]) -> None:
        """NaN into what the kernel writes."""
        from ascend_autotune.analysis.addressing import READ, accesses_of

        left = [v for n, v in zip(self._names, arguments, strict=True) if n not in self._constants]
        for access in accesses_of(program.module).values():
            if access.effect == READ or access.base is None:
                continue
            tensor = left[access.base]
            if hasattr(tensor, "is_floating_point") and tensor.is_floating_point():
                tensor.fill_(math.nan)


def _scalar(value: Any) -> int | float | None:
    return value if isinstance(value, (int, float)) else None


def _bytes(value: Any) -> int | None:
    """The size of a tensor, where it tells."""
    count, size = getattr(value, "numel", None), getattr(value, "element_size", None)
    if not callable(count) or not callable(size):
        return None
    return int(count()) * int(size())
