"""What the reader makes of MLIR's generic form, the awkward corners of it included."""

from __future__ import annotations

import math

import pytest

from ascend_autotune.analysis.ir import Module, Operation, Type
from ascend_autotune.analysis.notation import parse_attributes, parse_type
from ascend_autotune.analysis.reader import parse_module
from ascend_autotune.errors import AnalysisError


def read(body: str, arguments: str = "%x: i32", aliases: str = "") -> Module:
    """A module with one function around `body`."""
    return parse_module(
        f"""{aliases}
"builtin.module"() ({{
  "tt.func"() <{{function_type = (i32) -> (), sym_name = "k", sym_visibility = "public"}}> ({{
  ^bb0({arguments}):
{body}
    "tt.return"() : () -> ()
  }}) {{noinline = false}} : () -> ()
}}) {{zz = 1 : i32}} : () -> ()
"""
    )


def only(module: Module) -> Operation:
    return module.kernel.body().ops[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i32", Type((), "i32")),
        ("tensor<32x16xbf16>", Type((32, 16), "bf16")),
        ("tensor<4xi1>", Type((4,), "i1")),
        ("tensor<8x!tt.ptr<f16>>", Type((8,), "ptr<f16>", Type((), "f16"))),
        ("!tt.ptr<i64, 1>", Type((), "ptr<i64>", Type((), "i64"))),
        ("!tt.ptr<tensor<64x32xf16>>", Type((), "ptr<64x32xf16>", Type((64, 32), "f16"))),
        ("!tt.tensordesc<tensor<64x32xf16>>", Type((), "desc<64x32xf16>", Type((64, 32), "f16"))),
        ("!tt.tensordesc<64x32xf16>", Type((), "desc<64x32xf16>", Type((64, 32), "f16"))),
    ],
)
def test_types(text: str, expected: Type) -> None:
    assert parse_type(text) == expected


def test_pointers_and_descriptors_are_told_apart() -> None:
    assert parse_type("tensor<8x!tt.ptr<f16>>").is_pointer
    assert not parse_type("tensor<8x!tt.ptr<f16>>").is_block_pointer
    assert parse_type("!tt.ptr<tensor<64x32xf16>>").is_block_pointer
    assert parse_type("!tt.tensordesc<64x32xf16>").is_block_pointer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("value = 16 : i32", 16),
        ("value = -1 : i64", -1),
        ("value = true", True),
        ("value", True),
        ("value = 1.000000e+00 : f32", 1.0),
        ("value = dense<2.500000e+00> : tensor<32xf32>", 2.5),
        ("value = dense<true> : tensor<32xi1>", True),
        ("value = dense<[1, 2, 3]> : tensor<3xi32>", (1, 2, 3)),
        ("value = dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>", ((1, 2), (3, 4))),
        ("value = 0xFF800000 : f32", -math.inf),
        ("value = dense<0xFF800000> : tensor<32x16xf32>", -math.inf),
        ("value = dense<0xFC00> : tensor<8xf16>", -math.inf),
        ("value = dense<0x7F80> : tensor<8xbf16>", math.inf),
        ("value = array<i32: 1, 0, 1>", (1, 0, 1)),
        ("value = array<i32>", ()),
        ("value = [1 : i32, 2 : i32]", (1, 2)),
        ("value = [{}, {tt.divisibility = 16 : i32}]", ({}, {"tt.divisibility": 16})),
        ('value = "a, b = {c} -> <d>"', "a, b = {c} -> <d>"),
        (r'value = "say \22hi\22\0A"', 'say "hi"\n'),
        ("value = #arith.overflow<none>", "#arith.overflow<none>"),
        ("value = () -> ()", "() -> ()"),
    ],
)
def test_attributes(text: str, expected: object) -> None:
    assert parse_attributes(f"first = 1 : i32, {text}, last = 2 : i32") == {
        "first": 1,
        "value": expected,
        "last": 2,
    }


def test_a_nan_is_a_nan() -> None:
    value = parse_attributes("value = 0x7FC00000 : f32")["value"]
    assert isinstance(value, float) and math.isnan(value)


def test_many_attributes_in_both_dictionaries() -> None:
    properties = ", ".join(f"p{i} = {i} : i32" for i in range(200))
    more = ", ".join(f'tt.q{i} = "{i}]"' for i in range(200))
    op = only(read(f'    %0 = "t.op"(%x) <{{{properties}}}> {{{more}}} : (i32) -> i32'))
    assert op.attrs["p199"] == 199
    assert op.attrs["tt.q199"] == "199]"
    assert len(op.attrs) == 400


def test_text_with_brackets_in_an_operation_confuses_nothing() -> None:
    op = only(
        read(
            '    %0 = "tt.elementwise_inline_asm"(%x) <{asm_string = "a[1]({) -> \\22q\\22 loc(",'
            ' constraints = "=r,r", pure = true}> : (i32) -> i32 loc(#loc1)',
            aliases='#loc1 = loc("f(x) at <y>.py":7:3)',
        )
    )
    assert op.attrs["asm_string"] == 'a[1]({) -> "q" loc('
    assert (op.location.file, op.location.line) == ("f(x) at <y>.py", 7)
    assert str(op.result.type) == "i32"


def test_several_results_are_told_apart() -> None:
    module = read(
        '    %a:2, %b = "t.op"(%x) : (i32) -> (i32, tensor<4xf32>, !tt.ptr<f16>)\n'
        '    "t.use"(%a#1, %b, %a#0) : (tensor<4xf32>, !tt.ptr<f16>, i32) -> ()'
    )
    op, use = module.kernel.body().ops[:2]
    assert [str(v.type) for v in op.results] == ["i32", "4xf32", "ptr<f16>"]
    assert use.operands == [op.results[1], op.results[2], op.results[0]]
    assert op.results[2].uses == [(use, 1)]


def test_branches_name_their_successors() -> None:
    module = read(
        '    "cf.cond_br"(%x, %x)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 1, 0>}>'
        " : (i1, i32) -> ()\n"
        "  ^bb1(%y: i32):  // pred: ^bb0\n"
        '    "cf.br"()[^bb2] : () -> ()\n'
        "  ^bb2:  // 2 preds: ^bb0, ^bb1"
    )
    entry, first, second = module.kernel.regions[0]
    assert entry.ops[0].successors == (first, second)
    assert first.ops[0].successors == (second,)
    assert [str(v.type) for v in first.args] == ["i32"]
    assert second.ops[-1].name == "tt.return"


def test_names_end_with_their_region() -> None:
    module = read(
        '    %0 = "scf.if"(%x) ({\n'
        '      %1 = "t.a"() : () -> i32\n'
        '      "scf.yield"(%1) : (i32) -> ()\n'
        "    }, {\n"
        '      %1 = "t.b"() : () -> i32\n'
        '      "scf.yield"(%1) : (i32) -> ()\n'
        "    }) : (i1) -> i32\n"
        '    %1 = "t.c"(%0) : (i32) -> i32\n'
        '    "t.use"(%1) : (i32) -> ()'
    )
    branch, after, use = module.kernel.body().ops[:3]
    for region, name in ((0, "t.a"), (1, "t.b")):
        made, given = branch.body(region).ops
        assert made.name == name
        assert given.operands == [made.result]
        assert given.parent is branch
    assert use.operands[0].op is after


def test_an_empty_region_holds_no_operation() -> None:
    module = read(
        '    "scf.if"(%x) ({\n'
        '      "t.a"() : () -> ()\n'
        '      "scf.yield"() : () -> ()\n'
        "    }, {\n"
        "    }) : (i1) -> ()"
    )
    branch = only(module)
    assert len(branch.regions) == 2
    assert [op.name for op in branch.walk()] == ["scf.if", "t.a", "scf.yield"]
    assert module.kernel.body().ops[1].name == "tt.return"


def test_a_declared_function_without_a_body() -> None:
    module = parse_module(
        """"builtin.module"() ({
  "tt.func"() <{function_type = () -> (), sym_name = "far", sym_visibility = "private"}> ({
  }) : () -> ()
  "tt.func"() <{function_type = () -> (), sym_name = "k", sym_visibility = "public"}> ({
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""
    )
    assert set(module.functions) == {"far", "k"}
    assert module.kernel.attrs["sym_name"] == "k"


LOCATIONS = """#loc = loc("k.py":3:0)
#loc1 = loc(unknown)
#loc2 = loc("k.py":9:4)
#loc3 = loc("helper.py":40:8)
#loc4 = loc("value"(#loc2))
#loc5 = loc(callsite(#loc3 at #loc2))
#loc6 = loc(callsite(#loc1 at #loc4))
#loc7 = loc(fused[#loc1, #loc2, #loc3])
#loc8 = loc(callsite(#loc3 at #loc1))
#loc9 = loc(callsite("a at b.py":5:1 at #loc2))
#loc10 = loc("k.py":9:4 to :12)
#loc11 = loc("v"(callsite(#loc3 at #loc2)))
"""


@pytest.mark.parametrize(
    ("location", "line", "inner", "name"),
    [
        ("#loc2", 9, None, None),
        ("#loc4", 9, None, "value"),
        ("#loc5", 9, 40, None),
        ("#loc6", 9, None, None),
        ("#loc7", 9, None, None),
        ("#loc8", 40, None, None),
        ("#loc9", 9, 5, None),
        ("#loc10", 9, None, None),
        ("#loc11", 9, 40, "v"),
        ("#loc1", 0, None, None),
        ("callsite(#loc3 at #loc2)", 9, 40, None),
        ('"w"("other.py":2:1)', 2, None, "w"),
    ],
)
def test_locations(location: str, line: int, inner: int | None, name: str | None) -> None:
    op = only(read(f'    %0 = "t.op"(%x) : (i32) -> i32 loc({location})', aliases=LOCATIONS))
    assert op.location.line == line
    assert (op.location.inner.line if op.location.inner else None) == inner
    assert op.location.name == name


def test_names_and_locations_of_triton_3_9() -> None:
    module = read(
        '    %acc_1:2 = "t.op"(%q, %n.x) : (!tt.ptr<f16>, i32) -> (i32, i32) loc(#loc4)\n'
        '    "t.use"(%acc_1#1) : (i32) -> ()',
        arguments='%q: !tt.ptr<f16> loc("q"(#loc)), %n.x: i32 loc("n"(#loc))',
        aliases=LOCATIONS,
    )
    arguments = module.kernel.body().args
    assert [str(v.type) for v in arguments] == ["ptr<f16>", "i32"]
    op, use = module.kernel.body().ops[:2]
    assert op.operands == arguments
    assert use.operands == [op.results[1]]


OPEN = '"builtin.module"() ({\n  "tt.func"() <{sym_name = "k", sym_visibility = "%s"}> ({\n'
CLOSE = "  }) : () -> ()\n}) : () -> ()"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("module {\n  tt.func public @k() {\n  }\n}", "generic form"),
        ('"tt.func" what is this', "cannot read this line"),
        (OPEN % "public" + '    "t.use"(%9) : (i32) -> ()\n' + CLOSE, "%9 before"),
        (OPEN % "private" + CLOSE, "no public function"),
        (OPEN % "public" + '    "t.a"() : () -> ()\n', "ends inside"),
        (OPEN % "public" + CLOSE + "\n}) : () -> ()", "damaged"),
        (OPEN % "public" + '    "cf.br"()[^bb7] : () -> ()\n' + CLOSE, "damaged"),
    ],
)
def test_what_cannot_be_read_is_an_analysis_error(text: str, message: str) -> None:
    with pytest.raises(AnalysisError, match=message) as caught:
        parse_module(text)
    assert "\n" not in str(caught.value)


def test_traced_kernels_keep_their_text() -> None:
    pytest.importorskip("triton")
    import tracing

    [op] = tracing.operations("inline_assembly", "tt.elementwise_inline_asm")
    assert op.attrs["asm_string"] == 'shl.b32 $0, $1, 3; // a[1]) -> {"q"}, <b>'
    [printed] = tracing.operations("inline_assembly", "tt.print")
    assert "a(b) [c] -> {d}, <e" in str(printed.attrs["prefix"])
