"""The correctness gate: a finalist's result against a reference, or against the default config."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ascend_autotune.errors import ReferenceFailed
from ascend_autotune.search.buffers import Buffers
from ascend_autotune.search.comparing import Difference, compared, dtype_of, spread
from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed
from ascend_autotune.search.launching import as_failure

logger = logging.getLogger("ascend_autotune")

RUNS = 2
"""A config is compared so many times: the same program may be right once (user-cases.md 17)."""
NOISE = 2.0
"""What runs of the default config differ by, so many times, says nothing against another."""


class Gate:
    """Raises `ConfigFailed("wrong", ...)` for a config whose result differs.

    `launch` runs a config once on the caller's tensors, which `buffers` holds. `reference`
    returns what the written tensors must hold: one tensor, a tuple in argument order, or a dict
    by argument name. With no reference the result of `default` is taken for right (of the first
    of `others` that runs, where it does not run, else of the first finalist); where its own runs
    differ, that much is allowed to others too. Elements that a kernel does not write are left
    out, but for those that the default config does write.

    `first`, settable, is called before a launch and raises for a config that is known not to run:
    what hung in a worker must not be launched here for a comparison.

    `tolerances`: by dtype (relative, absolute), in place of `comparing.TOLERANCES`. After each
    call the tensors are as they were. Raises `ReferenceFailed` where the reference's answer does
    not fit the kernel, and `ConfigFailed` of another kind for a config that does not run.
    """

    def __init__(
        self,
        launch: Callable[[Config], object],
        buffers: Buffers,
        *,
        default: Config,
        others: Sequence[Config] = (),
        reference: Callable[[], object] | None = None,
        tolerances: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        self.kind = "reference_fn" if reference is not None else "default config"
        self.first: Callable[[Config], object] | None = None
        self._launch = launch
        self._buffers = buffers
        self._baselines = (default, *others)
        self._reference = reference
        self._tolerances = dict(tolerances or {})
        self._wanted: dict[str, Any] | None = None
        self._noise: dict[str, float] = {}
        self._left: dict[str, Any] | None = None  # what the baseline leaves untouched

    def __call__(self, config: Config) -> None:
        try:
            try:
                wanted = self._expected()
            except ConfigFailed as failure:
                if config in self._baselines:
                    raise
                self._unchecked(config, failure)
                wanted = self._expected()
            if self._reference is None and config == self._baseline:
                return
            runs = [self._result(config, run % 2) for run in range(RUNS)]
            left = {
                name: self._buffers.untouched(name, *(r[name] for r in runs)) for name in wanted
            }
            for number, got in enumerate(runs):
                for name in wanted:
                    found = self._differs(name, got[name], left[name])
                    if found is not None:
                        raise ConfigFailed("wrong", self._told(number, found))
        finally:
            self._buffers.restore()

    @property
    def _baseline(self) -> Config:
        return self._baselines[0]

    def _told(self, number: int, found: Difference | str) -> str:
        against = "reference" if self._reference else f"default config ({self._baseline})"
        again = "" if number == 0 else f" on run {number + 1}, after a right one,"
        noisy = (
            f" (its own runs differ by {self._noise[found.name]:.3g})"
            if isinstance(found, Difference) and self._noise.get(found.name)
            else ""
        )
        return f"differs{again} from the {against}{noisy}: {found}"

    def _result(self, config: Config, poison: int) -> dict[str, Any]:
        with self._buffers.trial(poison):
            try:
                if self.first is not None:
                    self.first(config)
                self._launch(config)
                return self._buffers.copies()
            except Exception as error:
                raise as_failure(error) from error

    def _expected(self) -> dict[str, Any]:
        """What is wanted, worked out once."""
        if self._wanted is None:
            own = self._own_runs()
            if self._reference is not None:
                self._buffers.restore()
                given = by_name(self._reference(), tuple(self._buffers.written))
                for name, tensor in given.items():
                    _same_shape(name, tensor, self._buffers.written[name])
                self._wanted = given
            else:
                assert own is not None
                self._wanted = own
        return self._wanted

    def _own_runs(self) -> dict[str, Any] | None:
        """Two runs of the default config: its result, its noise, and what it leaves alone."""
        failures: list[ConfigFailed] = []
        for at, baseline in enumerate(self._baselines):
            try:
                first, second = self._result(baseline, 0), self._result(baseline, 1)
            except ConfigFailed as failure:
                logger.info("gate: %s does not run: %s", baseline, failure)
                failures.append(failure)
                continue
            self._baselines = self._baselines[at:]
            self._left = {n: self._buffers.untouched(n, first[n], second[n]) for n in first}
            for name in first:
                left = self._left[name]
                a, b = (
                    (first[name], second[name])
                    if left is None
                    else _kept(first, second, name, left)
                )
                self._noise[name] = spread(a, b)
                if self._noise[name] > 0:
                    logger.info("%s: two runs of the default differ by %g", name, self._noise[name])
            return first
        if self._reference is None:
            raise failures[-1]
        return None

    def _unchecked(self, config: Config, failure: ConfigFailed) -> None:
        """Nothing to compare with: the first finalist, which ran, stands for the others."""
        logger.warning(
            "the default config (%s) does not run (%s): %s is taken for right, unchecked",
            self._baseline, failure, config,
        )  # fmt: skip
        self.kind = "none"
        self._baselines = (config,)

    def _differs(self, name: str, got: Any, left: Any) -> Difference | str | None:
        assert self._wanted is not None
        wanted, allowed = self._wanted[name], self._left[name] if self._left is not None else None
        if left is not None:
            if self._left is not None and (allowed is None or bool((left & ~allowed).any())):
                count = int((left if allowed is None else left & ~allowed).sum())
                return f"{name}: {count} elements are not written that the default config writes"
            # What nobody writes holds what the caller put there.
            got = got.where(~left, self._buffers.before(name).to(got.device))
        if allowed is not None and self._reference is None:
            wanted = wanted.where(~allowed, self._buffers.before(name).to(wanted.device))
        tolerance = self._tolerances.get(dtype_of(got))
        return compared(name, got, wanted, tolerance, NOISE * self._noise.get(name, 0.0))


def _kept(first: Mapping[str, Any], second: Mapping[str, Any], name: str, left: Any) -> Any:
    return first[name][~left], second[name][~left]


def by_name(given: object, written: Sequence[str]) -> dict[str, Any]:
    """What a reference returned, by the name of the tensor that must hold it.

    Raises `ReferenceFailed` where it does not say which.
    """
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in written]
        if unknown:
            raise ReferenceFailed(
                f"reference_fn returned {', '.join(map(repr, unknown))}, which the kernel does "
                f"not write (it writes {', '.join(written)})"
            )
        return dict(given)
    values = tuple(given) if isinstance(given, tuple | list) else (given,)
    if len(values) != len(written) or not all(hasattr(value, "shape") for value in values):
        raise ReferenceFailed(
            f"reference_fn returned {len(values)} values, the kernel writes {len(written)} "
            f"tensors: {', '.join(written)}; return one for each, or a dict by name"
        )
    return dict(zip(written, values, strict=True))


def _same_shape(name: str, wanted: Any, written: Any) -> None:
    if tuple(wanted.shape) != tuple(written.shape):
        raise ReferenceFailed(
            f"reference_fn: {name} has the shape {tuple(wanted.shape)}, the kernel writes "
            f"{tuple(written.shape)}"
        )
