"""The error of a mesh: the finger's moduli from data of itself with a finer mesh.

Robot: the finger of scenes/finger_identification.py, 444 nodes; its data are simulated with each
tetrahedron split in eight, 2,625 nodes, with 0.5 mm of noise. Units: mm, kg, s.
To expect: moduli that are 24 to 26 % too low, residuals of noise alone, and a first line of the
report that says so: with the split mesh they come back to 500, 600 and 700 kPa within 1 %.
Paper: none.

    python -m benchmarks.identification_mesh

Run it in the folder of this repository; it takes some minutes.
"""

import argparse

import numpy as np

from benchmarks.intervals.mismatch import MISMATCHED
from sofa_softctl.identification import discretisation_budget, estimate, make_report
from sofa_softctl.view.terminal.identification import show


def main():
    case = MISMATCHED["split mesh"]
    problem = case.problem()
    experiments = [problem.experiment(case.recording(problem, np.random.default_rng(0)))]
    found = estimate(experiments)
    budget = discretisation_budget(found, experiments, limit=False)
    show(
        make_report(problem.name, found, experiments, discretisation=budget),
        None,
        quiet=False,
        as_json=False,
    )
    for shift in budget.shifts:
        values = dict(zip(budget.names, shift.rho.round(1).tolist(), strict=True))
        moduli = {name: values[name] for name in case.truth}
        print(f"{shift.refinement.text}: {moduli}, {shift.seconds:.0f} s")
    print(f"Truth: {dict(case.truth)}; the estimate took {found.seconds:.0f} s.")


if __name__ == "__main__":
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    main()
