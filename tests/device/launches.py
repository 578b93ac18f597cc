"""Launches of `device_kernels` with arguments on the GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import device_kernels as kernels
import torch
import triton

from ascend_autotune.search.config import Config

Launch = Callable[[Config], object]


def add(n: int) -> tuple[Launch, dict[str, Any]]:
    x, y, out = (torch.randn(n, device="cuda") for _ in range(3))

    def launch(config: Config) -> None:
        grid = (triton.cdiv(n, config.values["BLOCK"]),)
        kernels.add[grid](x, y, out, n, **config.values)

    return launch, {"x_ptr": x, "y_ptr": y, "out_ptr": out}


def softmax(rows: int, cols: int) -> tuple[Launch, dict[str, Any]]:
    x = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
    out = torch.zeros_like(x)

    def launch(config: Config) -> None:
        kernels.softmax[(rows,)](x, out, cols, **config.values)

    return launch, {"x_ptr": x, "out_ptr": out}


def matmul(m: int, n: int, k: int) -> tuple[Launch, dict[str, Any]]:
    a = torch.randn(m, k, device="cuda", dtype=torch.float16)
    b = torch.randn(k, n, device="cuda", dtype=torch.float16)
    c = torch.zeros(m, n, device="cuda", dtype=torch.float16)

    def launch(config: Config) -> None:
        v = config.values
        grid = (triton.cdiv(m, v["BM"]) * triton.cdiv(n, v["BN"]),)
        kernels.matmul[grid](a, b, c, m, n, k, **v)

    return launch, {"a_ptr": a, "b_ptr": b, "c_ptr": c}


def attention(heads: int, n_ctx: int, d: int) -> tuple[Launch, dict[str, Any]]:
    q, k, v = (torch.randn(heads, n_ctx, d, device="cuda", dtype=torch.float16) for _ in range(3))
    o = torch.zeros_like(q)

    def launch(config: Config) -> None:
        grid = (triton.cdiv(n_ctx, config.values["BM"]), heads)
        kernels.attention[grid](q, k, v, o, n_ctx, d**-0.5, D=d, **config.values)

    return launch, {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": o}


def leaky_relu(n: int, slope: float = 0.5) -> tuple[Launch, dict[str, Any]]:
    x = torch.randn(n, device="cuda")

    def launch(config: Config) -> None:
        grid = (triton.cdiv(n, config.values["BLOCK"]),)
        kernels.leaky_relu[grid](x, n, slope, **config.values)

    return launch, {"x_ptr": x}


def column_sums(rows: int, cols: int) -> tuple[Launch, dict[str, Any]]:
    x = torch.randn(rows, cols, device="cuda")
    out = torch.ones(cols, device="cuda")

    def launch(config: Config) -> None:
        v = config.values
        grid = (triton.cdiv(rows, v["BLOCK_R"]), triton.cdiv(cols, v["BLOCK_C"]))
        kernels.column_sums[grid](x, out, rows, cols, **v)

    return launch, {"x_ptr": x, "out_ptr": out}


def wrong(kernel: Any, n: int) -> tuple[Launch, dict[str, Any]]:
    x, out = torch.randn(n, device="cuda"), torch.zeros(n, device="cuda")

    def launch(config: Config) -> None:
        grid = (triton.cdiv(n, config.values["BLOCK"]),)
        kernel[grid](x, out, n, **config.values)

    return launch, {"x_ptr": x, "out_ptr": out}
