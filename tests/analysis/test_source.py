"""What a bare `explain(kernel)` guesses from source; plain functions stand for kernels."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ascend_autotune.analysis.source import Roles, roles

KERNELS = '''
class tl:
    """Stands for triton.language: the source is only looked at."""

def add(x_ptr, y_ptr, out_ptr, n, BLOCK):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask)
    tl.store(out_ptr + offs, x + y, mask=mask)

def softmax(out, inp, row_stride, n_cols, temperature, BLOCK):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    start = inp + row * row_stride
    ptrs = start + cols
    x = tl.load(ptrs, mask=cols < n_cols, other=0.0) * temperature
    ptrs = out + row * row_stride + cols
    tl.store(ptrs, x, mask=cols < n_cols)

def gather(src, index, out, stride, scale, BLOCK):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rows = tl.load(index + offs)
    values = tl.load(src + rows * stride)
    tl.store(out + offs, values * scale)

def block_pointers(a, b, M, K, stride_am, BM, BK):
    p = tl.make_block_ptr(base=a, shape=(M, K), strides=(stride_am, 1),
                          offsets=(tl.program_id(0) * BM, 0), block_shape=(BM, BK), order=(1, 0))
    total = tl.zeros((BM, BK), dtype=tl.float32)
    for k in range(0, K, BK):
        total += tl.load(p)
        p = tl.advance(p, (0, BK))
    q = tl.make_block_ptr(b, (M, K), (stride_am, 1), (0, 0), (BM, BK), (1, 0))
    tl.store(q, total)

def attention(Q, N_CTX, HEAD_DIM, BLOCK_M, BLOCK_N, DTYPE):
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rd = tl.arange(0, HEAD_DIM)
    acc = tl.zeros((BLOCK_M, HEAD_DIM), dtype=DTYPE)
    for start in range(0, N_CTX, BLOCK_N):
        rn = start + tl.arange(0, BLOCK_N)
        acc += tl.load(Q + rn[:, None] * HEAD_DIM + rd[None, :]).to(DTYPE)
    tl.store(Q + rm[:, None] * HEAD_DIM + rd[None, :], acc)

def read(base, offs, limit):
    return tl.load(base + offs, mask=offs < limit)

read.arg_names = ["base", "offs", "limit"]

def calls_helper(data, size, out, BLOCK):
    offs = tl.arange(0, BLOCK)
    x = read(data, offs, size)
    tl.store(out + offs, x)
'''


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    path: Path = tmp_path_factory.mktemp("source") / "kernels_to_look_at.py"
    path.write_text(KERNELS, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("kernels_to_look_at", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_pointers_sizes_and_tiles(kernels: ModuleType) -> None:
    found = roles(kernels.add)
    assert found.pointers == {"x_ptr", "y_ptr", "out_ptr"}
    assert "n" in found.integers
    assert found.tiles == {"BLOCK"}


def test_a_pointer_is_followed_through_its_names(kernels: ModuleType) -> None:
    found = roles(kernels.softmax)
    assert found.pointers == {"out", "inp"}
    assert {"row_stride", "n_cols"} <= found.integers
    assert "temperature" not in found.integers


def test_a_pointer_whose_values_become_addresses_holds_integers(kernels: ModuleType) -> None:
    found = roles(kernels.gather)
    assert found.pointers == {"src", "index", "out"}
    assert found.index_pointers == {"index"}
    assert "stride" in found.integers and "scale" not in found.integers


def test_block_pointers(kernels: ModuleType) -> None:
    found = roles(kernels.block_pointers)
    assert found.pointers == {"a", "b"}
    assert {"M", "K", "stride_am"} <= found.integers


def test_a_dimension_of_the_problem_is_no_tile(kernels: ModuleType) -> None:
    found = roles(kernels.attention)
    assert found.tiles == {"BLOCK_M", "BLOCK_N"}
    assert found.dtypes == {"DTYPE"}


def test_helpers_are_looked_into(kernels: ModuleType) -> None:
    found = roles(kernels.calls_helper)
    assert found.pointers == {"data", "out"}
    assert "size" in found.integers


def test_what_has_no_source_has_no_roles() -> None:
    assert roles(len) == Roles()
    assert roles(object()) == Roles()
