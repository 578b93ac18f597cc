"""The compiler's attempts at one program: what each lays out, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ascend_autotune.analysis.affine import Forms
from ascend_autotune.analysis.chips import Chip
from ascend_autotune.analysis.ir import Module
from ascend_autotune.analysis.options import CompileOptions
from ascend_autotune.analysis.plan import packing
from ascend_autotune.analysis.plan.cube import DOTS, CubePlan, lower_cube, mixed_loops, plan_cube
from ascend_autotune.analysis.plan.lifetimes import Entry, Lives
from ascend_autotune.analysis.plan.lower import lower_vector
from ascend_autotune.analysis.plan.packing import UNBOUNDED

CODE_MOTION = "enable-code-motion"
MULTI_BUFFER = "enable-auto-multi-buffer"
PLANNED = ("ub", "l1", "l0c")
# The plan of these series is the one that the model was read from and checked against.
MODELLED = frozenset({"A2", "A3"})


@dataclass(frozen=True)
class Attempt:
    """One layout. `bounds`: memory -> (low, high) bytes; `expected`: the likeliest need."""

    switched_off: tuple[str, ...]
    bounds: Mapping[str, tuple[int, int]]
    expected: Mapping[str, int]
    entries: Mapping[str, Sequence[Entry]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def expected_to_fit(self, capacity: Mapping[str, int]) -> bool:
        return all(need <= capacity[memory] for memory, need in self.expected.items())

    def peak(self, memory: str) -> Sequence[Entry]:
        return packing.peak_entries(self.entries.get(memory, ()))


def attempts_of(module: Module, chip: Chip, options: CompileOptions) -> list[Attempt]:
    """Every attempt that the compiler would make until one fits, in its order."""
    has_dots = any(op.name in DOTS for op in module.kernel.walk())
    programs = _Programs(module, chip, options, has_dots)
    doubled = options.multibuffer
    found = [programs.attempt((), doubled=doubled, code_motion=True)]
    found.append(programs.attempt((CODE_MOTION,), doubled=doubled, code_motion=False))
    if doubled:
        off = (MULTI_BUFFER, CODE_MOTION)
        found.append(programs.attempt(tuple(sorted(off)), doubled=False, code_motion=False))
    return found


class _Programs:
    """The programs of both cores, each laid out once."""

    def __init__(
        self, module: Module, chip: Chip, options: CompileOptions, has_dots: bool
    ) -> None:
        self.module, self.chip, self.options = module, chip, options
        self.forms = Forms(module)
        self.cube: CubePlan | None = plan_cube(module, self.forms) if has_dots else None
        self.tiled = mixed_loops(self.cube) if self.cube else (False, False)
        self.cube_lives = Lives(lower_cube(module, self.cube)) if self.cube else None
        self._vector: dict[bool, Lives] = {}

    def vector(self, code_motion: bool) -> Lives:
        lives = self._vector.get(code_motion)
        if lives is None:
            program = lower_vector(
                self.module,
                self.forms,
                cube=self.cube,
                split=self.options.flag("enable_auto_bind_sub_block", True),
                code_motion=code_motion,
            )
            lives = self._vector[code_motion] = Lives(program)
            if not program.moved:  # nothing that code motion touches: one program serves both
                self._vector[not code_motion] = lives
        return lives

    def attempt(
        self, switched_off: tuple[str, ...], *, doubled: bool, code_motion: bool
    ) -> Attempt:
        vector = self.vector(code_motion)
        # In a mix kernel only the cube core's loads are doubled (only-cube).
        orders = [
            _by_memory(vector.entries(doubled=doubled and self.cube is None, forward=forward))
            for forward in (False, True)
        ]
        if self.cube_lives is not None:
            cube = _by_memory(
                self.cube_lives.entries(doubled=doubled, l0c_doubled=self._doubles_l0c(doubled))
            )
            for entries in orders:
                entries.update(cube)
        notes = self._notes()
        bounds: dict[str, tuple[int, int]] = {}
        expected: dict[str, int] = {}
        for memory in PLANNED:
            low, need = _interval(orders, memory, self.chip.capacity[memory])
            expected[memory] = need
            bounds[memory] = self._sure(memory, low, need, doubled, bool(notes))
        for memory, tile in (("l0a", 0), ("l0b", 1)):
            bounds[memory] = self._operand(memory, tile)
        return Attempt(switched_off, bounds, expected, orders[0], notes)

    def _doubles_l0c(self, doubled: bool) -> bool:
        return doubled and self.options.doubles_l0c

    def _notes(self) -> tuple[str, ...]:
        notes = list(self.vector(True).program.notes)
        if self.chip.series not in MODELLED:
            notes.append(f"{self.chip.series} plans its memory in a way that is not modelled")
        if self.options.flag("enable_ubuf_saving"):
            notes.append("enable_ubuf_saving changes the scratch of reductions")
        if self.cube is not None and self.options.flag("enable_hivm_auto_cv_balance"):
            notes.append("enable_hivm_auto_cv_balance changes how vector work is shared")
        return tuple(dict.fromkeys(notes))

    def _sure(
        self, memory: str, low: int, need: int, doubled: bool, noted: bool
    ) -> tuple[int, int]:
        """What is certain of one memory: less where stages may be tiled, or not modelled."""
        high = UNBOUNDED if noted and need else need
        if self.chip.series not in MODELLED:
            return 0, high
        if noted and self.cube is not None:
            low //= 2
        if doubled and self.options.pipelines and self.tiled[memory != "ub"]:
            # A stage's tiles may be a part of ours, and what crosses stages is held
            # several times over.
            tiles = "tile_mix_vector_loop" if memory == "ub" else "tile_mix_cube_loop"
            return low // self.options.number(tiles, 2), UNBOUNDED if need else 0
        return low, max(low, high)

    def _operand(self, memory: str, index: int) -> tuple[int, int]:
        """L0A and L0B are filled by hivmc's own tiling along K: at most whole operands."""
        if self.cube is None:
            return 0, 0
        sizes = [
            dot.operands[index].type.numel * max(8, dot.operands[index].type.bits) // 8
            for dot in self.cube.dots
        ]
        return min(512, *sizes), min(self.chip.capacity[memory], max(sizes))


def _by_memory(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.memory, []).append(entry)
    return found


def _interval(
    orders: Sequence[Mapping[str, Sequence[Entry]]], memory: str, capacity: int
) -> tuple[int, int]:
    """The least live sum of sure buffers, and the best need, over the merging orders."""
    lows, needs = [], []
    for entries in orders:
        mine = entries.get(memory, ())
        lows.append(packing.live_maximum([entry for entry in mine if entry.sure]))
        needs.append(packing.need(mine, capacity))
    return min(lows), min(needs)
