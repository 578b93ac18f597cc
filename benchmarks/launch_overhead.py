"""What a call of a tuned kernel costs beside stock Triton's own cached call, and the import.

Both kernels are launched on a device that does nothing, so that dispatch alone is timed: the way
from `kernel[grid](...)` to the launcher. Rounds of both alternate; the ratio is that of the
medians. The import is timed in new processes.

    python benchmarks/launch_overhead.py [--rounds 150] [--imports 15] [--json FILE]

The aims are ratios of at most 1.10 (calls) and 1.05 (import).
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import triton
import triton.language as tl

TESTS = Path(__file__).resolve().parents[1] / "tests" / "hooks"
CALLS = 200
"""Calls in one round of one kernel."""


def attention(Q, K, V, Out, N_CTX: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: E501  # fmt: skip
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    at = row[:, None] * HEAD_DIM + column[None, :]
    inside = (row[:, None] < N_CTX) & (column[None, :] < HEAD_DIM)
    total = tl.load(Q + at, mask=inside) * tl.load(K + at, mask=inside)
    tl.store(Out + at, total + tl.load(V + at, mask=inside), mask=inside)


def matmul(A, B, C, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: E501  # fmt: skip
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (row[:, None] < M) & (column[None, :] < N)
    a = tl.load(A + row[:, None] * stride_am + column[None, :] * stride_ak, mask=inside)
    b = tl.load(B + row[:, None] * stride_bk + column[None, :] * stride_bn, mask=inside)
    tl.store(C + row[:, None] * stride_cm + column[None, :] * stride_cn, a + b * K, mask=inside)


TILES = [(16, 16), (32, 16)]


def tensors(count: int) -> list[Any]:
    try:
        import torch
    except ImportError:
        fakes = importlib.import_module("fake_triton")
        return [fakes.Tensor("float16") for _ in range(count)]
    return [torch.zeros(64, dtype=torch.float16) for _ in range(count)]


def kinds(stock: Callable[..., Any]) -> dict[str, tuple[Any, Any, list[Any], Any]]:
    """By name: the stock kernel, ours, the arguments, the grid."""
    configs = [triton.Config({"BLOCK_M": m, "BLOCK_N": n}) for m, n in TILES]
    search = {
        "search_params": {
            "params": ["BLOCK_M", "BLOCK_N"],
            "values": {"BLOCK_M": [16, 32], "BLOCK_N": [16]},
        }
    }

    def rows(meta: Any) -> tuple[int, ...]:
        return (triton.cdiv(1024, meta["BLOCK_M"]), 4)

    def blocks(meta: Any) -> tuple[int, ...]:
        return (triton.cdiv(meta["M"], meta["BLOCK_M"]), triton.cdiv(meta["N"], meta["BLOCK_N"]))

    found = {}
    for name, function, key, args, grid in (
        ("attention", attention, ["N_CTX", "HEAD_DIM"], [*tensors(4), 1024, 64], rows),
        (
            "matmul",
            matmul,
            ["M", "N", "K"],
            [*tensors(3), 512, 256, 128, 128, 1, 256, 1, 256, 1],
            blocks,
        ),
    ):
        plain = stock(configs, key)(triton.jit(function))
        for title, given in (("", []), (", handwritten", configs)):
            ours = triton.autotune(given, key, hints=search)(triton.jit(function))
            found[name + title] = (plain, ours, args, grid)
    return found


def seconds(kernel: Any, args: Sequence[Any], grid: Any) -> float:
    """Of one call, over a round of them."""
    start = time.perf_counter()
    for _ in range(CALLS):
        kernel[grid](*args)
    return (time.perf_counter() - start) / CALLS


def calls(rounds: int) -> list[dict[str, object]]:
    fakes = importlib.import_module("fake_triton")
    stock = triton.autotune
    import ascend_autotune.hooks

    lines: list[dict[str, object]] = []
    with fakes.fake_device(fakes.FakeDriver()) as driver:
        driver.launcher_cls = lambda source, metadata: _launch_nothing
        for name, (plain, ours, args, grid) in kinds(stock).items():
            for kernel in (plain, ours):
                kernel[grid](*args)
                seconds(kernel, args, grid)
            timed: tuple[list[float], list[float]] = ([], [])
            for turn in range(rounds):
                # Each goes first in half of the rounds.
                for which in (0, 1) if turn % 2 else (1, 0):
                    timed[which].append(seconds((plain, ours)[which], args, grid))
            middle = [statistics.median(values) for values in timed]
            lines.append(
                {
                    "what": "call",
                    "kernel": name,
                    "triton": fakes.VERSION,
                    "arguments": len(args),
                    "stock_us": round(middle[0] * 1e6, 3),
                    "ours_us": round(middle[1] * 1e6, 3),
                    "ratio": round(middle[1] / middle[0], 4),
                    "at_most": 1.1,
                }
            )
    ascend_autotune.hooks.uninstall()
    return lines


def _launch_nothing(*_: object) -> None:
    """The launcher of both sides."""


def imports(times: int) -> list[dict[str, object]]:
    """`import triton`, then `import ascend_autotune.hooks`, in new processes.

    Both in one process: what else the machine does then weighs on both alike.
    """
    code = (
        "import time; start = time.perf_counter(); import triton; middle = time.perf_counter(); "
        "import ascend_autotune.hooks; print(middle - start, time.perf_counter() - middle)"
    )
    taken: list[tuple[float, float]] = []
    for turn in range(times + 1):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        if turn:  # the first fills the disk's cache
            alone, added = map(float, done.stdout.split()[-2:])
            taken.append((alone, added))
    return [
        {
            "what": "import",
            "triton": importlib.import_module("fake_triton").VERSION,
            "triton_ms": round(statistics.median(alone for alone, _ in taken) * 1e3, 1),
            "hooks_ms": round(statistics.median(added for _, added in taken) * 1e3, 1),
            "ratio": round(statistics.median(1 + added / alone for alone, added in taken), 4),
            "at_most": 1.05,
        }
    ]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=150, help="rounds of 200 calls each")
    parser.add_argument(
        "--imports", type=int, default=15, help="imports, each in a new process; 0: none"
    )
    parser.add_argument("--json", type=Path, help="append JSON lines to this file")
    asked = parser.parse_args(argv)
    os.environ.pop("ASCEND_AUTOTUNE_DEVICE", None)
    sys.path.insert(0, str(TESTS))
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        lines = calls(asked.rounds) if asked.rounds else []
    if asked.imports:
        lines += imports(asked.imports)
    for line in lines:
        print("  ".join(f"{name}={value}" for name, value in line.items()))
    if asked.json is not None:
        with asked.json.open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
