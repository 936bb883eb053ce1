"""How a run that learns labels is checked."""

from glassformer.doctor.bench import Bench

PART = Bench
