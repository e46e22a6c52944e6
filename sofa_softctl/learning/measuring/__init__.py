"""What policies and environments are worth: scores, baselines, throughput, errors of surrogates."""

from sofa_softctl._internal.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "baseline": ["score_baseline"],
        "scores": ["Score", "score"],
        "surrogate_error": ["SurrogateError", "measure_surrogate"],
        "throughput": ["Throughput", "measure_throughput"],
    },
)
