"""TTIR as triton-ascend writes it, and what compilers of shell scripts say."""

from __future__ import annotations

from pathlib import Path

TTIR = (Path(__file__).parent / "copy.ttir").read_text()

REDUCE = """\
module {
  tt.func public @total(%arg0: !tt.ptr<f32> loc("k.py":20:0)) attributes {noinline = false} {
    %4 = tt.load %3 : tensor<64x!tt.ptr<f32>> loc(#loc4)
    %5 = "tt.reduce"(%4) <{axis = 0 : i32}> ({
    ^bb0(%arg1: f32 loc(callsite(#loc1 at #loc2)), %arg2: f32 loc(callsite(#loc1 at #loc2))):
      %9 = arith.addf %arg1, %arg2 : f32 loc(#loc8)
      tt.reduce.return %9 : f32 loc(#loc7)
    }) : (tensor<64xf32>) -> f32 loc(#loc7)
    scf.if %6 {
      tt.store %arg0, %5 : !tt.ptr<f32> loc(#loc5)
    } else {
      tt.store %arg0, %7 : !tt.ptr<f32> loc(#loc5)
    } loc(#loc6)
    tt.return loc(#loc2)
  } loc(#loc2)
} loc(#loc2)
#loc1 = loc("standard.py":267:36)
#loc2 = loc("k.py":26:10)
#loc3 = loc("standard.py":256:15)
#loc4 = loc("k.py":25:10)
#loc5 = loc("k.py":31:10)
#loc6 = loc("k.py":30:7)
#loc7 = loc(callsite(#loc1 at #loc2))
#loc8 = loc(callsite(#loc3 at #loc7))
"""

FITS = "External hivmc run fails, returning module before running external compiler"


def says(text: str, code: int = 1) -> str:
    """A compiler that prints `text` and ends with `code`."""
    return f"cat > /dev/null; cat >&2 <<'EOF'\n{text}\nEOF\nexit {code}"


def fits() -> str:
    """A compiler that finds everything to fit, but has no code generator."""
    return says(f"[ERROR] Cannot find hivmc under $PATH\nerror: {FITS}")
