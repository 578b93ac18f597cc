"""Compile profiles: families, dependencies, options fixed at launch."""

from __future__ import annotations

from ascend_autotune.analysis.judge.flags import OPTIONS
from ascend_autotune.search.profiles import available, effective, inactive, make_profiles

A2 = available(OPTIONS, "A2")


def test_the_neutral_profile_comes_first() -> None:
    assert make_profiles("mixcv", A2).profiles[0] == {}
    assert make_profiles("vector", A2).profiles[0] == {}


def test_vector_kernels_get_vector_safe_options_only() -> None:
    names = {name for p in make_profiles("vector", A2).profiles for name in p}
    assert all(OPTIONS[name].family == "both" for name in names)
    assert names == {"multibuffer"}


def test_ubuf_saving_belongs_to_a3() -> None:
    a3 = available(OPTIONS, "A3")
    assert {"enable_ubuf_saving": True} in make_profiles("vector", a3).profiles
    assert "enable_ubuf_saving" not in A2


def test_a_mixcv_profile_has_one_of_three_modes() -> None:
    for profile in make_profiles("mixcv", A2).profiles:
        assert not inactive(profile)
        if profile.get("limit_auto_multi_buffer_only_for_local_buffer"):
            assert "limit_auto_multi_buffer_of_local_buffer" in profile
            assert "set_workspace_multibuffer" not in profile
        if "set_workspace_multibuffer" in profile:
            assert {"tile_mix_vector_loop", "tile_mix_cube_loop"} <= set(profile)


def test_unit_flag_is_never_generated() -> None:
    assert "unit_flag" not in A2
    assert all("unit_flag" not in p for p in make_profiles("mixcv", A2).profiles)


def test_tile_mix_is_not_on_950() -> None:
    a5 = available(OPTIONS, "950")
    assert all("tile_mix_cube_loop" not in p for p in make_profiles("mixcv", a5).profiles)


def test_fixed_options_override_and_duplicates_merge() -> None:
    found = make_profiles("mixcv", A2, {"set_workspace_multibuffer": 4})
    workspace = [p for p in found.profiles if "tile_mix_cube_loop" in p]
    assert len(workspace) == 16
    assert all("set_workspace_multibuffer" not in p for p in found.profiles)
    identities = [
        tuple(sorted(effective({**p, "set_workspace_multibuffer": 4}).items(), key=str))
        for p in found.profiles
    ]
    assert len(set(identities)) == len(identities)


def test_multibuffer_off_leaves_no_children() -> None:
    found = make_profiles("mixcv", A2, {"multibuffer": False})
    assert all(not inactive({**p, "multibuffer": False}) for p in found.profiles)
    assert all("set_workspace_multibuffer" not in p for p in found.profiles)


def test_an_impossible_combination_is_explained() -> None:
    found = make_profiles("mixcv", A2, {"multibuffer": False, "tile_mix_cube_loop": 2})
    assert "tile_mix_cube_loop has no effect beside multibuffer=False" in found.notices[0]
    assert make_profiles("mixcv", A2, {"multibuffer": False}).notices == ()


def test_without_options_there_is_the_neutral_profile_alone() -> None:
    assert make_profiles("mixcv", frozenset()).profiles == ({},)
