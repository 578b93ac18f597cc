"""The kernels beside recorded landscapes: what one candidate launches, for the cost model."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_autotune.analysis.request import resolve, resolve_call
from ascend_autotune.search.replay import LAUNCH_FIELDS, Landscape
from ascend_autotune.search.work import KernelWork


@dataclass(frozen=True)
class _Tensor:
    """Stands for a tensor of which only the type matters."""

    dtype: str

    def data_ptr(self) -> int:
        return 4096


def load_kernels(folder: Path) -> Any:
    """The module `kernels.py` of a folder of landscapes."""
    path = folder / "kernels.py"
    name = f"landscape_kernels_{abs(hash(str(path.resolve())))}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def work_of(landscape: Landscape, folder: Path) -> KernelWork:
    """The work of a landscape's candidates, from its kernel's TTIR.

    A landscape gives one dtype; where the kernel does not trace with it for all tensors, one of
    them may hold indices.
    """
    count = load_kernels(folder).N_TENSORS[landscape.kernel]
    plain = [landscape.dtype] * count
    kinds = [plain, *([*plain[:i], "int32", *plain[i + 1 :]] for i in range(count))]
    candidates = [dict(row.config.candidate) for row in landscape.rows]
    for dtypes in kinds:
        work = _work_with(landscape, folder, dtypes)
        if work.of(candidates[len(candidates) // 2 :][:1]):
            return work
    return _work_with(landscape, folder, plain)


def _work_with(landscape: Landscape, folder: Path, dtypes: Sequence[str]) -> KernelWork:
    module = load_kernels(folder)
    kernel = module.KERNELS[landscape.kernel]
    tensors = [_Tensor(dtype) for dtype in dtypes]
    first = dict(landscape.rows[0].config.candidate)

    def launch(candidate: Mapping[str, object]) -> tuple[Any, Any, dict[str, Any]]:
        found = module.launch_of(landscape.kernel, landscape.problem, tensors, dict(candidate))
        grid, args, keywords = found
        return grid, args, {k: v for k, v in keywords.items() if k not in LAUNCH_FIELDS}

    def grid(meta: Mapping[str, object]) -> Any:
        return launch({**first, **{k: v for k, v in meta.items() if k in first}})[0]

    _, args, keywords = launch(first)
    fixed = {k: v for k, v in keywords.items() if k not in first}
    call = resolve_call(
        kernel, args, fixed, {k: [v] for k, v in first.items() if k not in LAUNCH_FIELDS},
        None, None, "Ascend910B3", None, None,
    )  # fmt: skip
    constants = {k: v for k, v in call.constants.items() if k not in first}
    request = resolve(kernel, call.signature, constants, "Ascend910B3", None, grid)
    values = dict(zip(call.info.arguments, args, strict=False))
    return KernelWork(request, {k: v for k, v in values.items() if isinstance(v, int)})
