"""Time and memory of an estimate and its report, by the number of samples.

python -m benchmarks.identification_scale                   10,000 to 1,000,000 samples
python -m benchmarks.identification_scale --samples 60000

A sum of a decay and a damped wave, five parameters, one measured channel with noise. Each number
of samples runs in a process of its own, whose peak memory is given.
"""

import argparse
import resource
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from time import perf_counter

import numpy as np

from sofa_softctl.identification import Channel, Experiment, Parameter, estimate, make_report

TRUTH = np.array([1.3, 0.7, 1.6, 0.2, 0.1])
NOISE = 0.1


@dataclass(frozen=True, eq=False)
class Wave(Experiment):
    """y = a exp(-b t) + exp(-d t) sin(c t) + e."""

    time: np.ndarray
    measured: np.ndarray
    name = "wave"
    parameters = (
        Parameter("a", 1.0, "mm"),
        Parameter("b", 0.5, "1/s"),
        Parameter("c", 2.0, "rad/s"),
        Parameter("d", 0.1, "1/s"),
        Parameter("e", 0.3, "mm", lower=-5.0),
    )
    inputs = ()
    channels = (Channel("y", "mm", NOISE),)

    def outputs(self, rho):
        return self.sensitivities(rho)[0]

    def sensitivities(self, rho):
        (a, b, c, d, e), t = rho, self.time
        decay, damping, sine, cosine = np.exp(-b * t), np.exp(-d * t), np.sin(c * t), np.cos(c * t)
        columns = [decay, -a * t * decay, t * damping * cosine, -t * damping * sine, 0.0 * t + 1.0]
        outputs = a * decay + damping * sine + e
        return outputs[:, None], np.stack(columns, axis=1)[:, None, :]


def measure(samples):
    """Seconds of the estimate and of the report, and the peak of the memory [MB]."""
    time = np.linspace(0.0, 20.0, samples)
    blank = Wave(time, np.zeros((samples, 1)))
    noise = NOISE * np.random.default_rng(0).standard_normal((samples, 1))
    one = Wave(time, blank.outputs(TRUTH) + noise)
    begin = perf_counter()
    found = estimate([one])
    middle = perf_counter()
    report = make_report("wave", found, [one])
    end = perf_counter()
    off = np.abs((found.rho - TRUTH) / report.trust.deviations).max()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return middle - begin, end - middle, peak, off


def main():
    """Print a line for each number of samples."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    options = parser.parse_args()
    for samples in options.samples:
        with ProcessPoolExecutor(1, get_context("spawn")) as executor:
            fit, report, peak, off = executor.submit(measure, samples).result()
        print(
            f"{samples:>9,} samples: estimate {fit:.2f} s, report {report:.2f} s, peak memory "
            f"{peak:.0f} MB, at most {off:.1f} deviations from the truth",
            flush=True,
        )


if __name__ == "__main__":
    main()
