from __future__ import annotations

import json
import pickle

from ascend_autotune.analysis.ir import UNKNOWN, Location
from ascend_autotune.analysis.verdict import Reason, ReasonCode, Verdict


def test_codes_are_the_words_of_the_documentation() -> None:
    assert {str(code) for code in ReasonCode} == {
        "numel",
        "arange",
        "overflow",
        "grid",
        "front_end",
        "refused",
        "undecided",
        "unreadable",
        "judge_failed",
    }
    assert ReasonCode.OVERFLOW == "overflow" and f"{ReasonCode.OVERFLOW:>9}" == " overflow"


def test_a_verdict_goes_to_json_with_all_its_fields() -> None:
    reason = Reason(ReasonCode.OVERFLOW, "ub", 200, 100, "too much", Location("k.py", 3))
    verdict = Verdict(
        {"BLOCK": 64}, "infeasible", (reason,), {"ub": (200, 300)}, ("flag",), {"BLOCK": 32}
    )
    assert json.loads(json.dumps(verdict.to_json())) == {
        "candidate": {"BLOCK": 64},
        "status": "infeasible",
        "reasons": [
            {
                "code": "overflow",
                "memory": "ub",
                "required_bytes": 200,
                "available_bytes": 100,
                "text": "too much",
                "location": {"file": "k.py", "line": 3},
            }
        ],
        "footprint": {"ub": [200, 300]},
        "fallback": ["flag"],
        "same_as": {"BLOCK": 32},
    }


def test_an_unknown_location_is_null_and_values_travel_between_processes() -> None:
    reason = Reason(ReasonCode.GRID, None, None, None, "many", UNKNOWN)
    assert reason.to_json()["location"] is None
    assert pickle.loads(pickle.dumps(Verdict({"B": 1}, "unknown", (reason,)))).reasons == (reason,)
