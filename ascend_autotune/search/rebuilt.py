"""A kernel and one call's arguments as JSON, and made again from that in a worker.

Tensors are made anew with the same shapes, strides and sharing. Whole numbers are copied, since
they may be indices; floating-point ones too where they are small, else random ones stand in.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ascend_autotune.search.isolation import IsolationUnavailable, Job

COPIED = 64 << 20
"""Bytes of a storage of floating-point numbers up to which it is copied."""
MOST = 2 << 30
"""Bytes of whole numbers up to which they are copied; beyond, there is no worker."""
_SCALARS = (bool, int, float, str, type(None))


def job_for(kernel: Any, arguments: Mapping[str, Any], folder: Path) -> Job:
    """What a worker needs to launch a kernel with these arguments; contents lie in `folder`.

    `kernel` is a JITFunction. Raises `IsolationUnavailable` with the reason where it cannot be
    made again: it is not found in a module, or its module would run more than definitions.
    """
    storages: dict[int, dict[str, object]] = {}
    described = {
        name: _described(name, value, storages, folder) for name, value in arguments.items()
    }
    return Job(
        "ascend_autotune.search.rebuilt:Rebuilt",
        {
            **_place(kernel),
            "described": described,
            "storages": list(storages.values()),
        },
    )


def _place(kernel: Any) -> dict[str, object]:
    function = getattr(kernel, "fn", kernel)
    module, name = str(function.__module__), str(function.__qualname__)
    if "<locals>" in name:
        raise IsolationUnavailable(f"{name} is defined within a function")
    file = getattr(sys.modules.get(module), "__file__", None)
    if module == "__main__":
        if file is None or not only_defines(Path(file)):
            raise IsolationUnavailable(
                "the kernel's script does its work at the top level: move that under "
                "`if __name__ == '__main__':` to have configs tried in a worker process"
            )
        return {"module": str(Path(file).resolve()), "name": name}
    if importlib.util.find_spec(module) is None:
        if file is None:
            raise IsolationUnavailable(f"the kernel's module {module} has no file")
        return {"module": str(Path(file).resolve()), "name": name}
    return {"module": module, "name": name}


def only_defines(file: Path) -> bool:
    """Does a script define things and no more, but for what stands under its main guard?"""
    harmless = (
        ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign,
        ast.AsyncFunctionDef,
    )  # fmt: skip
    try:
        body = ast.parse(file.read_text(encoding="utf-8")).body
    except (OSError, SyntaxError):
        return False
    for node in body:
        guard = isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not (guard or text or isinstance(node, harmless)):
            return False
    return True


def _described(
    name: str, value: Any, storages: dict[int, dict[str, object]], folder: Path
) -> dict[str, object]:
    if hasattr(value, "untyped_storage"):
        storage = value.untyped_storage()
        key = storage.data_ptr()
        if key not in storages:
            storages[key] = _contents(name, value, len(storages), folder)
        return {
            "storage": list(storages).index(key),
            "offset": value.storage_offset(),
            "shape": list(value.shape),
            "stride": list(value.stride()),
            "dtype": str(value.dtype).rsplit(".", 1)[-1],
        }
    if isinstance(value, _SCALARS):
        return {"value": value}
    if type(value).__module__.startswith("triton.language") and hasattr(value, "name"):
        return {"triton": str(value)}
    raise IsolationUnavailable(f"argument {name} is a {type(value).__name__}")


def _contents(name: str, value: Any, number: int, folder: Path) -> dict[str, object]:
    """A storage: its device, size and dtype, and the file that holds its bytes."""
    import torch

    count = value.untyped_storage().nbytes()
    found: dict[str, object] = {"device": str(value.device), "bytes": count, "file": None,
                                "dtype": str(value.dtype).rsplit(".", 1)[-1]}  # fmt: skip
    if value.dtype.is_floating_point and count > COPIED:
        return found
    if count > MOST:
        raise IsolationUnavailable(f"argument {name} holds {count:,} bytes of whole numbers")
    whole = torch.empty(0, dtype=torch.uint8, device=value.device)
    whole = whole.set_(value.untyped_storage())
    file = folder / f"storage_{number}.bin"
    whole.cpu().numpy().tofile(file)
    found["file"] = str(file)
    return found


class Rebuilt:
    """A kernel with its arguments, in a worker: what `isolation` calls."""

    def __init__(
        self,
        module: str,
        name: str,
        described: Mapping[str, Mapping[str, Any]],
        storages: Sequence[Mapping[str, Any]],
    ) -> None:
        from ascend_autotune.analysis.kernel import unwrap
        from ascend_autotune.search.worker import load

        found: Any = load(module)
        for part in name.split("."):
            found = getattr(found, part)
        self.kernel = unwrap(found)
        made = [_storage(storage) for storage in storages]
        self.arguments = {n: _argument(value, made) for n, value in described.items()}
        self.device = str(storages[0]["device"]) if storages else "cpu"

    def compile(self, values: Mapping[str, Any], grid: Sequence[int] | None) -> None:
        """Compile a config without a launch, where this Triton can."""
        self.kernel.warmup(**self._keywords(values), grid=tuple(grid or (1,)))

    def launch(self, values: Mapping[str, Any], grid: Sequence[int] | None) -> None:
        self.kernel[tuple(grid or (1,))](**self._keywords(values))
        kind, _, number = self.device.partition(":")
        if kind in ("cuda", "npu"):
            import torch

            getattr(torch, kind).synchronize(int(number or 0))

    def _keywords(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {**self.arguments, **values}


def _storage(described: Mapping[str, Any]) -> Any:
    """A flat tensor of bytes on its device."""
    import numpy
    import torch

    if described["file"] is not None:
        held = torch.from_numpy(numpy.fromfile(described["file"], dtype=numpy.uint8))
        return held.to(described["device"])
    dtype = getattr(torch, described["dtype"])
    count = described["bytes"] // dtype.itemsize
    made = torch.empty(count, dtype=torch.float16 if dtype.itemsize < 2 else dtype,
                       device=described["device"]).normal_()  # fmt: skip
    return made.to(dtype).view(torch.uint8)


def _argument(described: Mapping[str, Any], storages: Sequence[Any]) -> Any:
    if "value" in described:
        return described["value"]
    if "triton" in described:
        import triton.language as tl

        short = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}
        return getattr(tl, short.get(described["triton"], described["triton"]))
    import torch

    flat = storages[described["storage"]]
    dtype = getattr(torch, described["dtype"])
    made = torch.empty(0, dtype=dtype, device=flat.device)
    return made.set_(
        flat.untyped_storage(), described["offset"], described["shape"], described["stride"]
    )
