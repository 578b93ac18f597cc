"""One call of a tuned kernel: its arguments, its key, its types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any

from ascend_autotune.analysis.calling import Call, bind_call
from ascend_autotune.analysis.kernel import KernelInfo
from ascend_autotune.errors import RequestError
from ascend_autotune.hooks.reading import options_of


@dataclass(frozen=True)
class KernelCall:
    """The arguments of one call of a kernel; `unspecialised` are what it asks not to specialise."""

    info: KernelInfo
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    unspecialised: tuple[str, ...] = ()

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """Every argument of the kernel that was given, by name, in the kernel's order."""
        given = {**dict(zip(self.info.arguments, self.args, strict=False)), **self.kwargs}
        return {name: given[name] for name in self.info.arguments if name in given}

    @cached_property
    def options(self) -> dict[str, Any]:
        """Launch options that were given: compile options, num_warps and the like."""
        return options_of(self.info.arguments, self.kwargs)

    @property
    def grid(self) -> Any:
        return self.kwargs.get("grid")

    @cached_property
    def tensors(self) -> dict[str, Any]:
        return {n: v for n, v in self.arguments.items() if hasattr(v, "data_ptr")}

    @cached_property
    def scalars(self) -> dict[str, Any]:
        return {n: v for n, v in self.arguments.items() if not hasattr(v, "data_ptr")}

    @cached_property
    def bound(self) -> Call:
        """Types and constants as Triton specialises them. Raises `RequestError`."""
        return bind_call(
            self.info.name,
            self.info.arguments,
            self.info.constexprs,
            (),
            self.unspecialised,
            (),
            self.arguments,
        )

    def key(
        self, names: Sequence[str], buckets: Mapping[str, Callable[[Any], object]], target: str
    ) -> tuple[object, ...]:
        """The key of the tuned config: values (or their buckets), dtypes, target, options.

        Source of its first part: `Autotuner.run` of triton/runtime/autotuner.py.
        """
        given = self.arguments
        values = [buckets.get(n, _itself)(given[n]) for n in names if n in given]
        dtypes = [str(value.dtype) for value in given.values() if hasattr(value, "dtype")]
        options = [f"{name}={value}" for name, value in sorted(self.options.items())]
        return (*values, *dtypes, target, *options)

    def grid_for(self, tile: Mapping[str, Any]) -> tuple[int, ...] | None:
        """The grid as the launch with this tile would have it; None where it cannot be told."""
        grid = self.grid
        if callable(grid):
            try:
                grid = grid({**self.arguments, **self.options, **tile})
            except Exception:
                return None  # the launch itself will say what is wrong with it
        try:
            return tuple(index(dim) for dim in grid)
        except (TypeError, ValueError):
            return None


def _itself(value: Any) -> object:
    return value


def bucket_of(name: str, bucket: Any) -> Callable[[Any], object]:
    """A function from the value of the argument `name` to its bucket.

    "pow2": the next power of two. Edges: the first edge that is at least the value, and
    beyond the last the value's own next power of two. A callable's own errors become
    `RequestError`.
    """
    if callable(bucket):

        def asked(value: Any) -> object:
            try:
                return bucket(value)
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
                raise RequestError(f"key_buckets[{name!r}] fails for {value!r}: {said}") from error

        return asked
    if bucket == "pow2":
        return _pow2
    edges = sorted(bucket)

    def first_edge(value: Any) -> object:
        return next((edge for edge in edges if value <= edge), None) or _pow2(value)

    return first_edge


def _pow2(value: Any) -> object:
    return value if not isinstance(value, int) or value < 1 else 1 << (value - 1).bit_length()
