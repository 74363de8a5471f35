"""Figures of ISO 9283 and its test poses, as an object and for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stiffarm.compensate.iso_cube import IsoCube
    from stiffarm.identify.iso9283 import Distance, Iso9283
    from stiffarm.robot.arm import Robot

MOST_POSES = 20
MOST_DISTANCES = 8


def iso_document(iso: Iso9283) -> dict[str, Any]:
    """All of it, SI."""
    from stiffarm.identify.iso9283 import ASKED_REPEATS

    poses = [
        {
            "experiment": p.experiment,
            "setup": p.setup,
            "marker": p.marker,
            "n": p.n,
            "AP[m]": p.ap_m,
            "RP[m]": p.rp_m,
            "AP[rad]": p.ap_rad,
            "RP[rad]": p.rp_rad,
            "nominal_AP[m]": p.nominal_ap_m,
            "nominal_AP[rad]": p.nominal_ap_rad,
        }
        for p in iso.poses
    ]
    distances = [
        {
            "experiments": list(d.experiments),
            "setup": d.setup,
            "marker": d.marker,
            "n": d.n,
            "AD[m]": d.ad_m,
            "RD[m]": d.rd_m,
            "nominal_AD[m]": d.nominal_ad_m,
            "AD[rad]": d.ad_rad,
            "RD[rad]": d.rd_rad,
        }
        for d in iso.distances
    ]
    return {
        "AP[m]": iso.ap_m,
        "RP[m]": iso.rp_m,
        "AP[rad]": iso.ap_rad,
        "RP[rad]": iso.rp_rad,
        "AD[m]": iso.ad_m,
        "RD[m]": iso.rd_m,
        "nominal_AP[m]": iso.nominal_ap_m,
        "nominal_AD[m]": iso.nominal_ad_m,
        "repeats": iso.fewest,
        "repeats_asked": ASKED_REPEATS,
        "poses": poses,
        "distances": distances,
    }


def iso_lines(iso: Iso9283) -> list[str]:
    """Tables of poses and distances, the least accurate first."""
    from stiffarm.identify.iso9283 import ASKED_REPEATS

    few = iso.fewest < ASKED_REPEATS
    said = f"; the standard asks for {ASKED_REPEATS} repeats, here as few as {iso.fewest}" if few else ""
    lines = ["", f"ISO 9283, um{said}"]
    lines.append(f"{'pose':<20} {'marker':<8} {'n':>4} {'AP before':>10} {'AP after':>9} {'RP':>7}")
    lines += [
        f"{p.experiment[:20]:<20} {p.marker[:8]:<8} {p.n:>4} {_um(p.nominal_ap_m):>10} {_um(p.ap_m):>9} "
        f"{_um(p.rp_m):>7}"
        for p in sorted(iso.poses, key=lambda p: -p.ap_m)[:MOST_POSES]
    ]
    if len(iso.poses) > MOST_POSES:
        lines.append(f"the {MOST_POSES} least accurate of {len(iso.poses)}; --json has all of them")
    if iso.ap_rad is not None and iso.rp_rad is not None:
        lines.append(f"orientation: accuracy {1e6 * iso.ap_rad:.1f} urad, repeatability {1e6 * iso.rp_rad:.1f} urad")
    return lines + _distance_lines(iso.distances)


def _distance_lines(distances: tuple[Distance, ...]) -> list[str]:
    if not distances:
        return []
    lines = [f"{'distance':<20} {'marker':<8} {'n':>4} {'AD before':>10} {'AD after':>9} {'RD':>7}"]
    lines += [
        f"{' - '.join(d.experiments)[:20]:<20} {d.marker[:8]:<8} {d.n:>4} {_um(d.nominal_ad_m):>10} {_um(d.ad_m):>9} "
        f"{_um(d.rd_m):>7}"
        for d in sorted(distances, key=lambda d: -abs(d.ad_m))[:MOST_DISTANCES]
    ]
    if len(distances) > MOST_DISTANCES:
        lines.append(f"the {MOST_DISTANCES} least accurate of {len(distances)}; --json has all of them")
    return lines


def _um(metres: float | None) -> str:
    return "-" if metres is None else f"{1e6 * metres:.1f}"


def cube_document(robot: Robot, cube: IsoCube, cycles: int, rows: int) -> dict[str, Any]:
    """The test poses, SI."""
    from stiffarm.compensate.iso_cube import NAMES, ORDER
    from stiffarm.compensate.map_rows import joints

    poses = [
        {
            "name": name,
            "position[m]": [float(v) for v in cube.position_world[:, i]],
            "joints": joints(cube.q[:, i], robot),
        }
        for i, name in enumerate(NAMES)
    ]
    return {
        "cube": {"middle[m]": [float(v) for v in cube.middle_world], "edge[m]": cube.edge_m},
        "poses": poses,
        "order": [NAMES[i] for i in ORDER],
        "cycles": cycles,
        "rows": rows,
    }


def cube_lines(robot: Robot, cube: IsoCube, cycles: int) -> list[str]:
    """The test poses for people."""
    import numpy as np

    from stiffarm.compensate.iso_cube import CYCLES, NAMES, ORDER

    x, y, z = (f"{1e3 * v:.0f}" for v in cube.middle_world)
    lines = [
        f"cube of {1e3 * cube.edge_m:.0f} mm about ({x}, {y}, {z}) mm; a cycle is {' '.join(NAMES[i] for i in ORDER)}"
    ]
    for i, name in enumerate(NAMES):
        place = " ".join(f"{1e3 * v:9.1f}" for v in cube.position_world[:, i])
        values = " ".join(
            f"{round(v * (180.0 / np.pi if joint.kind == 'revolute' else 1e3), 2) + 0.0:8.2f}"
            for v, joint in zip(cube.q[:, i], robot.joints, strict=True)
        )
        lines += [f"{name}  {place} mm", f"      {values}"]
    few = f"; the standard asks for {CYCLES}" if cycles < CYCLES else ""
    return [*lines, f"{cycles} cycles{few}"]
