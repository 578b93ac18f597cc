"""Each rule of the tile program, against what the compiler planned for small kernels.

A rule stands on at least three kernels of ../shared/groundtruth/micro: the largest sum of
live bytes and the sum of all buffers must be the compiler's, to the byte.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("triton")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tracing import trace
from triton._C import libtriton

from ascend_autotune.analysis.chips import chip
from ascend_autotune.analysis.options import CompileOptions
from ascend_autotune.analysis.plan import packing
from ascend_autotune.analysis.plan.attempts import layouts_of

MICRO = Path(__file__).resolve().parents[4] / "shared" / "groundtruth" / "micro"
CHIP = chip("Ascend910B3")
MEMORY = {"ub": "ub", "cbuf": "l1", "cc": "l0c"}

RULES = {
    "one tile a load, in place after it": ("copy1", "copyloop", "eloop", "echain"),
    "casts: narrowing in place, widening not": ("castup", "castud", "castudloop", "castk"),
    "expansions of mathematical functions": ("sig", "erfk", "rsq", "log2k", "exp2k"),
    "minimum and maximum test for NaN": ("relu_max", "l3", "un"),
    "selects and comparisons": ("relu_sel", "cmpk", "i1load", "where_mask"),
    "integers: division and remainder by way of floats": ("iadd", "idiv", "imod", "imul"),
    "reductions and their scratch": ("red1", "red2", "red3"),
    "reductions that are broadcast back": ("softmax2", "softmax_loop", "onlinesm"),
    "broadcasts read on the fly or materialised": ("brc_first", "brc_last", "brcst", "outer"),
    "rows under 32 bytes and strides": ("loadk", "strided1", "strided2", "transacc"),
    "masks that are no boxes": ("dmask", "dmaskst", "maskcol"),
    "carried tensors": ("accloop", "onlinesm", "loop_reuse", "loop_add"),
    "conditions and unrolled loops": ("ifk", "stat_range", "nest"),
    "indirect and wrapped addresses": ("gath", "modptr", "divptr"),
    "changes of shape": ("trans2", "joink", "catk", "flipk"),
    "scans, sorts and histograms": ("cums", "sortk", "histk"),
    "dots: operands, sums and epilogues": ("mm", "mmbias", "dotpre", "dot1", "splitk"),
}


@cache
def rows() -> dict[str, list[dict[str, Any]]]:
    """The compiled rows of every kernel that fitted as asked."""
    if not hasattr(libtriton, "ascend"):
        pytest.skip("the compiler's rows are of triton-ascend's TTIR")
    file = MICRO / "rows.jsonl"
    if not file.is_file():
        pytest.skip(f"there is no reference data at {MICRO}")
    found: dict[str, list[dict[str, Any]]] = {}
    for line in file.read_text().splitlines():
        row = json.loads(line)
        if row["status"] == "ok" and not row["downgraded"] and row["scopes"]:
            found.setdefault(row["kernel"], []).append(row)
    return found


@cache
def source(file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"micro_{Path(file).stem}", MICRO / file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def _constant(value: Any) -> Any:
    """{"dtype": "fp16"} stands for tl.float16."""
    import triton.language as tl

    return getattr(tl, value["dtype"].replace("fp", "float")) if isinstance(value, dict) else value


def planned(row: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Per memory: the largest sum of live bytes, and the sum of all buffers."""
    kernel = getattr(source(row["file"]), row["kernel"])
    constants = {name: _constant(value) for name, value in row["const"].items()}
    names = [name for name in kernel.arg_names if name not in constants]
    module = trace(kernel, dict(zip(names, row["types"], strict=True)), constants)
    options = CompileOptions.from_request({"multibuffer": row["multibuffer"]})
    sizes = packing.Sizes(1)
    orders = layouts_of(module, CHIP, options)[0].orders
    found = {}
    for memory in MEMORY.values():
        pairs = [
            (
                int(packing.live_maximum(entries.get(memory, ()), sizes)[0]),
                int(sizes.sum(entries.get(memory, ()))[0]),
            )
            for entries in orders
        ]
        found[memory] = min(pairs)
    return found


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_stands_on_three_kernels(rule: str) -> None:
    assert len(RULES[rule]) >= 3


@pytest.mark.parametrize("kernel", sorted({name for names in RULES.values() for name in names}))
def test_the_plan_is_the_compilers(kernel: str) -> None:
    row = rows()[kernel][0]
    found = planned(row)
    for scope, expected in row["scopes"].items():
        if scope in MEMORY:
            memory = MEMORY[scope]
            assert found[memory] == (expected["live"], expected["total"]), (memory, row["const"])
