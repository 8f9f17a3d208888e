"""Keras on one backend, in a process of its own: answers the requests of keras_run.py, as worker.py those of run.py.

Started as `python keras_worker.py BACKEND CLOCK`, with KERAS_BACKEND in the environment.
"""

import importlib
import platform
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from keras_programs import PROGRAMS
from worker import describe, serve

# At most, of one measurement. After a pause XLA's threads take up to a second to settle: until then they fall asleep
# after each short step, and to wake them takes longer than the step.
RUNS, SECONDS = 1000, 1.0
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


class KerasWorker:
    """A backend and the programs made ready on it. The requests are `prepare` and `measure`."""

    def __init__(self, backend: str, clock: str):
        self.backend = backend
        self.now = CLOCKS[clock]
        self.library = importlib.import_module(backend)  # before Keras, which then finds gradtape
        self.keras = importlib.import_module("keras")
        self.ready: dict[str, tuple[Callable[[], object], int]] = {}

    def versions(self) -> dict[str, str]:
        return {
            "keras": self.keras.__version__,
            self.backend: self.library.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        }

    def prepare(self, name: str) -> dict[str, Any]:
        """Time the first step, describe what the model computes, and warm it up."""
        program = PROGRAMS[name]
        made = program.make()
        ready = program.run(self.backend, made)
        if ready is None:
            return {"absent": True}
        answer: dict[str, Any] = {"results": self.results(made)}
        if first := program.first:
            # What Keras and the backend load once, they have loaded by now.
            answer["first"] = min(self.seconds(lambda: first(program.make())) for _ in range(program.models))
        self.ready[name] = run, steps = ready
        for _ in range(-(-program.warm_up // steps)):
            run()
        return answer

    def results(self, made: Any) -> list[dict[str, Any]]:
        """Predictions and the loss of one step, with the same weights on every backend."""
        rng = np.random.default_rng(1)
        made.model.set_weights(
            [
                (rng.normal(size=w.shape) / np.sqrt(np.prod(w.shape[:-1]))).astype(w.dtype)
                if w.ndim > 1
                else w
                for w in made.model.get_weights()
            ]
        )
        x, y = made.first_batch
        predictions = made.model.predict_on_batch(x)
        loss = made.model.train_on_batch(x, y)
        return [describe(predictions), describe(np.float32(loss if np.ndim(loss) == 0 else loss[0]))]

    def seconds(self, run: Callable[[], object]) -> float:
        start = self.now()
        run()
        return self.now() - start

    def measure(self, name: str) -> dict[str, float]:
        """Seconds of one step: of short runs the best of several, for the first comes after other programs."""
        run, steps = self.ready[name]
        best = spent = self.seconds(run)
        for _ in range(RUNS - 1):
            if spent > SECONDS:
                break
            best = min(best, again := self.seconds(run))
            spent += again
        return {"value": best / steps}


if __name__ == "__main__":
    serve(sys.argv[1], lambda: KerasWorker(*sys.argv[1:]))
