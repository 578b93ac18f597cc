"""The driver: what Triton asks of a device, answered for a modelled NPU."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from ascend_autotune.analysis.chips import Chip
from ascend_autotune.errors import JudgeUnavailable
from ascend_autotune.search.standin.clock import Clock, ModelledInterface
from ascend_autotune.search.standin.faults import FaultPlan, Faults
from ascend_autotune.search.standin.figures import Figures, figures_of, standin_info
from ascend_autotune.search.standin.launcher import Launcher
from ascend_autotune.search.standin.program import Program

if TYPE_CHECKING:
    from ascend_autotune.analysis.judge import Judge
    from ascend_autotune.search.device import DeviceInfo

logger = logging.getLogger("ascend_autotune")
# A JIT function keeps its kernels by device number: one that no other driver has, and another
# for each stand-in, so that none runs a kernel that was compiled for another.
_NUMBERS = count(9100)
_NONCE = count()


class StandinDriver:
    """A modelled NPU. Times are modelled, compile errors are the real compiler's.

    `stats` counts launches, compiles (kernels that Triton compiled or took from its disk cache,
    and those refused) and refused.
    """

    def __init__(
        self,
        described: Chip,
        *,
        compute: bool = False,
        faults: FaultPlan | None = None,
        judge: Judge | None = None,
    ) -> None:
        self.chip = described
        self.figures: Figures = figures_of(described)
        self.compute = compute
        self.faults = Faults(faults)
        self.clock = Clock()
        self.device = next(_NUMBERS)
        self.stats: dict[str, int] = {"launches": 0, "compiles": 0, "refused": 0}
        # Under a fault plan nothing is shared with other stand-ins: a cached kernel never fails.
        self.cache_tag = f"standin-{id(self)}-{next(_NONCE)}" if self.faults else "standin"
        self._judge = judge
        self._lock = threading.Lock()
        self._expected = threading.local()
        self.utils = _Utilities(self)

    def __repr__(self) -> str:
        return f"StandinDriver({self.chip.name}, modelled)"

    @property
    def info(self) -> DeviceInfo:
        return standin_info(self.chip)

    def elapsed_ms(self) -> float:
        """The modelled time of all launches so far."""
        return self.clock.now_ms()

    def judge(self) -> Judge:
        """The real compiler. Raises RuntimeError naming the install command where it is missing."""
        if self._judge is None:
            from ascend_autotune.analysis.judge import Judge

            try:
                self._judge = Judge.find(self.chip)
            except JudgeUnavailable as error:
                raise RuntimeError(
                    f"the modelled NPU needs the Ascend compiler: {error}"
                ) from error
        return self._judge

    def count(self, *names: str) -> None:
        with self._lock:
            for name in names:
                self.stats[name] += 1

    def expect(self, constants: Mapping[str, Any]) -> None:
        """The constants of what this thread compiles next."""
        self._expected.constants = dict(constants)

    def expected(self) -> Mapping[str, Any]:
        """What `expect` was told, once."""
        constants = getattr(self._expected, "constants", {})
        self._expected.constants = {}
        return dict(constants)

    # -- what Triton asks ----------------------------------------------------------

    @classmethod
    def is_active(cls) -> bool:
        return True

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("npu", self.chip.name, 0)

    def set_current_device(self, _device: object) -> None: ...

    def get_current_stream(self, _device: object = None) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_current_device(self) -> int:
        return self.device

    def get_device_interface(self) -> Any:
        return ModelledInterface(self.clock, self.device)

    def get_empty_cache_for_benchmark(self) -> Any:
        return _NoCache()

    def launcher_cls(self, src: Any, metadata: Any) -> Launcher:
        return Launcher(self, src, metadata)

    def get_benchmarker(self) -> Callable[..., Any]:
        return self.do_bench

    def do_bench(
        self,
        fn: Callable[[], object],
        warmup: object = 25,
        rep: object = 100,
        grad_to_none: object = None,
        quantiles: Sequence[float] | None = None,
        return_mode: str = "mean",
        **_ignored: object,
    ) -> Any:
        """The modelled ms of one call of `fn`, for each quantile: it is the same every time.

        As Triton's own do_bench, a float without quantiles or with one, else a list. The rest of
        Triton's parameters means nothing here.
        """
        before = self.clock.picoseconds
        fn()
        taken = (self.clock.picoseconds - before) / 1e9
        if quantiles is not None:
            return taken if len(quantiles) == 1 else [taken] * len(quantiles)
        return [taken] if return_mode == "all" else taken


class _Utilities:
    def __init__(self, driver: StandinDriver) -> None:
        self._driver = driver

    def get_device_properties(self, _device: object = 0) -> dict[str, int]:
        figures = self._driver.figures
        return {
            "max_shared_mem": self._driver.chip.capacity["ub"],
            "num_aicore": figures.cube_cores,
            "num_vectorcore": figures.vector_cores,
            "multiprocessor_count": figures.vector_cores,
            "warpSize": 32,
        }

    def get_arch(self) -> str:
        return self._driver.chip.name

    def get_aicore_num(self) -> int:
        return self._driver.figures.cube_cores

    def get_aivector_core_num(self) -> int:
        return self._driver.figures.vector_cores

    def load_binary(
        self, _name: str, content: bytes, _shared: int, _device: int
    ) -> tuple[object, Program, int, int]:
        """Module, function, registers and spills: the function is the program itself."""
        program = Program.from_bytes(content)
        return program, program, 0, 0


class _NoCache:
    def zero_(self) -> None:
        """There is no cache to flush: the model knows none between launches."""
